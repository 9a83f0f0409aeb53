// SPDX-License-Identifier: Apache-2.0
// Handing over to a replica.

#include "server/replication/failover.h"

#include <algorithm>

#include "server/core/clients.h"
#include "server/replication/replicas.h"
#include "server/replication/replication.h"

namespace mayfly {

Status Failover::begin(const FailoverPlan& plan) {
  const auto refusal = [](std::string_view reply) {
    return Error{Code::denied, std::string(reply)};
  };
  if (state_ != State::none) return refusal("ERR FAILOVER already in progress.");
  if (stream_.is_replica()) return refusal("ERR FAILOVER is not valid when server is a replica.");
  const auto& replicas = replicas_.all();
  if (replicas.empty()) return refusal("ERR FAILOVER requires connected replicas.");
  plan_ = plan;
  if (!plan.host.empty()) {
    const auto found =
        std::ranges::find_if(replicas, [&](const Client* client) { return is_target(*client); });
    if (found == replicas.end()) {
      return refusal("ERR FAILOVER target HOST and PORT is not a replica.");
    }
    if (!(*found)->replica->is_online()) {
      return refusal("ERR FAILOVER target replica is not online.");
    }
  }
  state_ = State::waiting_for_sync;
  log_.notice("FAILOVER: writes are paused until a replica has all of them");
  clients_.pause(PauseReason::failover, kNever, PauseLevel::writes);
  replicas_.ask_for_acks();
  return Done{};
}

Status Failover::abort() {
  if (state_ == State::none) return Error{Code::denied, "ERR No failover in progress."};
  if (state_ == State::in_progress) replication_.follow_nobody();
  end("aborted");
  return Done{};
}

std::string_view Failover::state_text() const {
  if (state_ == State::waiting_for_sync) return "waiting-for-sync";
  return state_ == State::in_progress ? "failover-in-progress" : "no-failover";
}

void Failover::accepted() {
  replication_.last_role().note();
  replicas_.disconnect_all("another server has taken over");
  end("the replica has taken over");
}

// We are the primary again.
void Failover::take_back() {
  log_.warning("FAILOVER: the replica refused: {}", *refusal_);
  replication_.follow_nobody();
  end("the replica refused");
}

void Failover::end(std::string_view why) {
  if (state_ == State::none) return;
  log_.notice("FAILOVER ended: {}", why);
  state_ = State::none;
  plan_ = {};
  refusal_.reset();
  clients_.unpause(PauseReason::failover);
}

bool Failover::is_target(const Client& client) const {
  return client.replica->port == plan_.port && replica_host(client) == plan_.host;
}

// The replica that is named, or any that has everything.
Client* Failover::find_target() const {
  for (Client* const client : replicas_.all()) {
    const bool is_named = plan_.host.empty() || is_target(*client);
    if (is_named && client->replica->is_online() && client->replica->acked >= stream_.log().end()) {
      return client;
    }
  }
  return nullptr;
}

void Failover::hand_over(Client& target) {
  const std::string host = replica_host(target);
  const auto port = static_cast<int>(target.replica->port);
  state_ = State::in_progress;
  log_.notice("FAILOVER to {}:{}", host, port);
  replication_.follow(host, port);
}

void Failover::before_sleep(Time now) {
  if (state_ == State::in_progress && refusal_) return take_back();
  if (state_ != State::waiting_for_sync) return;
  if (Client* const target = find_target()) return hand_over(*target);
  if (!is_due(plan_.until, now)) return;  // a replica reports its offset every second
  if (!plan_.is_forced) return end("no replica caught up in time");
  for (Client* const client : replicas_.all()) {
    if (is_target(*client)) return hand_over(*client);
  }
  end("the replica is gone");
}

}  // namespace mayfly
