// SPDX-License-Identifier: Apache-2.0
// Shutdown: ending the server in good order. Writes pause until the replicas have all that was
// written, or for shutdown-timeout seconds; then everything is saved, and the loop ends.
//
// A script that runs for long lets requests and signals in while half of its writes may be done.
// Memory is no state to save then:
//
//   SIGTERM, SIGINT      the shutdown begins when the script has ended. One that has written
//                        nothing is killed
//   a second signal,     the script is abandoned: no snapshot is saved, and nothing of its unit is
//   SHUTDOWN NOSAVE      propagated. An append-only file in force has all that was before

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "server/config/config.h"
#include "server/core/server_host.h"

namespace mayfly {

class Client;
class Clients;
class Persistence;
class Replication;
class Requests;
class Scripting;

struct ShutdownPlan {
  bool saves = false;      // a snapshot
  bool is_forced = false;  // even if it cannot be saved
  bool is_now = false;     // does not wait for replicas
};

class Shutdown {
 public:
  Shutdown(const ServerContext& context, Persistence& persistence, Replication& replication,
           Clients& clients, Requests& requests, Scripting& scripting)
      : context_(context),
        persistence_(persistence),
        replication_(replication),
        clients_(clients),
        requests_(requests),
        scripting_(scripting) {}

  // Ends the server now or later. An error, now or as a reply to the client later, means that it
  // goes on: something could not be saved. Null: a signal asked for it.
  Status begin(const ShutdownPlan& plan, Client* asker);

  // SIGTERM or SIGINT, with its name. The first one lets replicas catch up and saves the data. The
  // second one ends at once.
  void take_signal(std::string_view name, const EndFlags& flags);

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
  bool would_cut_unit() const;
  Status end_in_unit(bool is_forced);
  void end_at_once();
  void begin_for_signal(const EndFlags& flags);
  void note_refusal();
  Status finish();
  void cancel();

  const ServerContext context_;
  Persistence& persistence_;
  Replication& replication_;
  Clients& clients_;
  Requests& requests_;
  Scripting& scripting_;
  ShutdownPlan plan_;
  bool is_waiting_ = false;
  std::optional<EndFlags> asked_;  // by a signal: begins when the script that runs has ended
  bool is_of_signal_ = false;      // the shutdown that waits
  bool has_refused_ = false;       // a signal, as the data could not be saved
  Time begun_{};
  std::uint64_t end_ = 0;              // of the log, when it began
  std::vector<std::uint64_t> askers_;  // ids of clients
};

}  // namespace mayfly
