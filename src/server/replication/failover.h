// SPDX-License-Identifier: Apache-2.0
// Failover: handing over to a replica without losing a write. Writes pause, the replica catches up,
// then this server follows it and asks it to take over, in one request.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "server/core/server_host.h"

namespace mayfly {

class Client;
class Clients;
class Replicas;
class Replication;
class ReplicationStream;

struct FailoverPlan {
  std::string host;  // empty: the first replica that catches up
  std::int64_t port = 0;
  bool is_forced = false;  // at the timeout, even if the replica lags
  Time until = kNever;
};

class Failover {
 public:
  enum class State { none, waiting_for_sync, in_progress };

  Failover(const ServerContext& context, Replication& replication, Replicas& replicas,
           const ReplicationStream& stream, Clients& clients)
      : log_(context.log),
        replication_(replication),
        replicas_(replicas),
        stream_(stream),
        clients_(clients) {}

  // The message of an error is the reply.
  Status begin(const FailoverPlan& plan);
  Status abort();

  State state() const { return state_; }
  std::string_view state_text() const;

  // The answer of the new primary. The link to it calls these, so a refusal, which destroys the
  // link, takes effect when the turn ends.
  void accepted();
  void refused(std::string_view why) { refusal_ = why; }

  void before_sleep(Time now);

 private:
  bool is_target(const Client& client) const;  // named by the plan
  Client* find_target() const;
  void hand_over(Client& target);
  void take_back();
  void end(std::string_view why);

  Log& log_;
  Replication& replication_;
  Replicas& replicas_;
  const ReplicationStream& stream_;
  Clients& clients_;
  State state_ = State::none;
  FailoverPlan plan_;
  std::optional<std::string> refusal_;
};

}  // namespace mayfly
