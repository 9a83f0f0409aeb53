// SPDX-License-Identifier: Apache-2.0
// Clients: all connections, and the limits on them: how many there may be, how long they may idle,
// how much memory, input and output they may take, and who has to wait (CLIENT PAUSE).

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace/keyspace.h"
#include "net/transport.h"
#include "server/core/client.h"
#include "server/core/pauses.h"
#include "server/core/server_host.h"
#include "server/login/login_attempts.h"
#include "server/login/strangers.h"
#include "server/monitoring/stats.h"

namespace mayfly {

class ReplicationStream;
class Requests;

class Clients {
 public:
  // `on_resume` is called when a pause has ended and no other is left.
  Clients(const ServerContext& context, Stats& stats, Pauses& pauses,
          const ReplicationStream& stream, Requests& requests, std::function<void()> on_resume)
      : config_(context.config),
        clock_(context.clock),
        log_(context.log),
        now_(context.now),
        stats_(stats),
        pauses_(pauses),
        stream_(stream),
        requests_(requests),
        on_resume_(std::move(on_resume)),
        strangers_(context.config, context.log, stats),
        attempts_(context.config, context.log, stats) {}

  // The client of a new connection; null if it is refused (the reason has been sent).
  std::unique_ptr<Client> accept(Link& link);

  // A client without the limits on new connections: the primary that we follow.
  std::unique_ptr<Client> adopt(Link& link);
  void remove(Client& client);

  const std::map<std::uint64_t, Client*>& all() const { return all_; }
  Client* find(std::uint64_t id) const;

  void apply_config();
  void run_periodic(Time now);  // idle clients, soft limits on output, strangers

  // ---- Logins ----

  // The password was right, or none is needed any more.
  void log_in(Client& client);

  LoginAttempts& attempts() { return attempts_; }
  const Strangers& strangers() const { return strangers_; }

  // Whether its login must wait, as too many failed from its address: the client is paused, until
  // next_login() at the latest.
  bool delays_login(Client& client);
  Time next_login() const { return delayed_.empty() ? kNever : delayed_.front().first; }
  void resume_logins(Time now);

  // ---- Monitors ----

  void add_monitor(Client& client);
  void remove_monitor(Client& client);
  const std::vector<Client*>& monitors() const { return monitors_; }

  // ---- Memory, input and output ----

  void check_input(Client& client, std::size_t waiting);  // closes one that sends too much

  // Closes a client that does not read. Called after every request: the usual case is short.
  void check_output(Client& client) {
    const OutputLimit& limit =
        client.is_subscriber() ? config_.output_pubsub : config_.output_normal;
    const std::size_t waiting = client.link().pending();
    const bool is_below = (limit.hard_bytes == 0 || waiting <= limit.hard_bytes) &&
                          (limit.soft_bytes == 0 || waiting <= limit.soft_bytes);
    const bool counts_memory = config_.maxmemory_clients != 0 || client.limits.counted_memory != 0;
    if (!is_below || counts_memory || client.replica || client.limits.is_stranger ||
        client.limits.above_soft_limit != Time::min()) {
      return enforce_output_limit(client);
    }
    if (waiting > stats_.output_waiting_max) stats_.output_waiting_max = waiting;
  }

  // How much memory clients may take together, replicas not counted; 0: no limit.
  std::size_t memory_limit() const;
  // Updates the sum after the memory of a client has changed.
  void count_memory(Client& client);
  // Closes the largest clients until the others take less than maxmemory-clients.
  void evict();

  // ---- Pauses ----

  // A server that is paused changes nothing by itself: nothing is evicted, swept or propagated.
  void pause(PauseReason reason, Time until, PauseLevel level);
  void unpause(PauseReason reason);
  void update_pauses();  // ends the pauses that are over

  // All requests that wait are checked again.
  void resume_waiting();

 private:
  void enforce_output_limit(Client& client);
  OutputLimit replica_limit() const;
  std::uint64_t waiting_for(const Client& client) const;
  void resume_after_pause();
  bool has_room();

  Config& config_;
  const Clock& clock_;
  Log& log_;
  const Time& now_;
  Stats& stats_;
  Pauses& pauses_;
  const ReplicationStream& stream_;
  Requests& requests_;
  const std::function<void()> on_resume_;

  std::map<std::uint64_t, Client*> all_;
  std::vector<Client*> monitors_;
  std::uint64_t next_id_ = 1;
  Strangers strangers_;
  LoginAttempts attempts_;
  std::deque<std::pair<Time, std::uint64_t>> delayed_;  // logins: until when, and the client's id
  std::size_t leaving_ = 0;                             // clients that were closed to make room
  std::size_t memory_ = 0;                              // of all clients that may be evicted
  PauseLevel enforced_pause_ = PauseLevel::none;        // at which clients were made to wait
};

}  // namespace mayfly
