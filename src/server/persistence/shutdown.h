// SPDX-License-Identifier: Apache-2.0
// Shutdown: ending the server in good order. Writes pause until the replicas have all that was
// written, or for shutdown-timeout seconds; then everything is saved, and the loop ends.

#pragma once

#include <cstdint>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

class Client;
class Server;

struct ShutdownPlan {
  bool saves = false;      // a snapshot
  bool is_forced = false;  // even if it cannot be saved
  bool is_now = false;     // replicas are not waited for
};

class Shutdown {
 public:
  explicit Shutdown(Server& server) : server_(server) {}

  // Ends the server now or later. An error, now or as a reply to the client later, means that it
  // goes on: something could not be saved. Without an asker it was a signal.
  Status begin(const ShutdownPlan& plan, const Client* asker);

  bool is_waiting() const { return is_waiting_; }

  // Goes on as if nobody had asked; who did hears of it. Returns whether there was anything.
  bool abort();

  void before_sleep(Time now);

 private:
  bool has_lagging_replica(std::uint64_t end) const;
  Status finish();
  void go_on();

  Server& server_;
  ShutdownPlan plan_;
  bool is_waiting_ = false;
  Time until_{};
  std::uint64_t end_ = 0;  // of the log, when it began: what is written since is none of ours
  std::vector<std::uint64_t> askers_;  // ids of clients
};

}  // namespace mayfly
