// SPDX-License-Identifier: Apache-2.0
// Handing over.

#include "server/replication/failover.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {

std::string Failover::begin(const FailoverPlan& plan) {
  if (state_ != State::none) return "ERR FAILOVER already in progress.";
  if (server_.is_replica()) return "ERR FAILOVER is not valid when server is a replica.";
  const auto& replicas = server_.replication().replicas().all();
  if (replicas.empty()) return "ERR FAILOVER requires connected replicas.";
  if (!plan.host.empty()) {
    const auto is_it = [&](const Client* client) {
      return client->replica->port == plan.port && replica_host(*client) == plan.host;
    };
    const auto found = std::ranges::find_if(replicas, is_it);
    if (found == replicas.end()) return "ERR FAILOVER target HOST and PORT is not a replica.";
    if (!(*found)->replica->is_online()) {
      return "ERR FAILOVER target replica is not online.";
    }
  }
  plan_ = plan;
  state_ = State::waiting_for_sync;
  server_.log().write(Level::notice, "FAILOVER: writes pause until a replica has all of them");
  server_.pause(PauseReason::failover, kNever, PauseLevel::writes);
  server_.replication().replicas().ask_for_acks();
  return {};
}

std::string Failover::abort() {
  if (state_ == State::none) return "ERR No failover in progress.";
  if (state_ == State::in_progress) server_.replication().follow_nobody();
  end("it was aborted");
  return {};
}

std::string_view Failover::state_text() const {
  if (state_ == State::waiting_for_sync) return "waiting-for-sync";
  return state_ == State::in_progress ? "failover-in-progress" : "no-failover";
}

void Failover::accepted() {
  server_.replication().replicas().disconnect_all("another one has taken over");
  end("the replica has taken over");
}

// We are the primary again.
void Failover::take_back() {
  server_.log().write(Level::warning, fmt::format("FAILOVER: the replica refuses: {}", *refusal_));
  server_.replication().follow_nobody();
  end("the replica refused");
}

void Failover::end(std::string_view why) {
  if (state_ == State::none) return;
  server_.log().write(Level::notice, fmt::format("FAILOVER ends: {}", why));
  state_ = State::none;
  plan_ = {};
  refusal_.reset();
  server_.unpause(PauseReason::failover);
}

// The one that is named, or any that has everything.
Client* Failover::find_target() const {
  const Replication& replication = server_.replication();
  for (Client* const client : server_.replication().replicas().all()) {
    if (!client->replica->is_online()) continue;
    const bool is_named = plan_.host.empty() || (client->replica->port == plan_.port &&
                                                 replica_host(*client) == plan_.host);
    if (is_named && client->replica->acked >= replication.log().end()) return client;
  }
  return nullptr;
}

void Failover::hand_over(Client& target) {
  const std::string host = replica_host(target);
  const auto port = static_cast<int>(target.replica->port);
  state_ = State::in_progress;
  server_.log().write(Level::notice, fmt::format("FAILOVER to {}:{}", host, port));
  server_.replication().follow(host, port);
}

void Failover::before_sleep(Time now) {
  if (state_ == State::in_progress && refusal_) return take_back();
  if (state_ != State::waiting_for_sync) return;
  if (Client* const target = find_target()) return hand_over(*target);
  if (!is_due(plan_.until, now)) return;  // a replica tells how far it is every second
  if (!plan_.is_forced) return end("no replica caught up in time");
  for (Client* const client : server_.replication().replicas().all()) {
    if (client->replica->port == plan_.port && replica_host(*client) == plan_.host) {
      return hand_over(*client);
    }
  }
  end("the replica is gone");
}

}  // namespace mayfly
