// SPDX-License-Identifier: Apache-2.0
// Shutdown: ending the server in good order. Writes pause until the replicas have all that was
// written, or for shutdown-timeout seconds; then everything is saved, and the loop ends.

#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "server/core/server_host.h"

namespace mayfly {

class Client;
class Clients;
class Persistence;
class Replication;

struct ShutdownPlan {
  bool saves = false;      // a snapshot
  bool is_forced = false;  // even if it cannot be saved
  bool is_now = false;     // does not wait for replicas
};

class Shutdown {
 public:
  Shutdown(const ServerContext& context, Persistence& persistence, Replication& replication,
           Clients& clients)
      : context_(context),
        persistence_(persistence),
        replication_(replication),
        clients_(clients) {}

  // Ends the server now or later. An error, now or as a reply to the client later, means that it
  // goes on: something could not be saved. Null: a signal asked for it.
  Status begin(const ShutdownPlan& plan, Client* asker);

  bool is_waiting() const { return is_waiting_; }
  Time end() const {  // at the latest. REQUIRES: is_waiting()
    return begun_ + std::chrono::seconds(context_.config.shutdown_timeout);
  }
  std::size_t askers() const { return is_waiting_ ? askers_.size() : 0; }  // that wait for the end

  // Cancels it; clients that asked for it get an error. Returns whether there was one.
  bool abort();

  void before_sleep(Time now);

 private:
  bool has_lagging_replica(std::uint64_t end) const;
  bool is_ready() const;
  Status finish();
  void cancel();

  const ServerContext context_;
  Persistence& persistence_;
  Replication& replication_;
  Clients& clients_;
  ShutdownPlan plan_;
  bool is_waiting_ = false;
  Time begun_{};
  std::uint64_t end_ = 0;              // of the log, when it began
  std::vector<std::uint64_t> askers_;  // ids of clients
};

}  // namespace mayfly
