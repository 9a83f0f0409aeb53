// SPDX-License-Identifier: Apache-2.0
// Waiting for replicas, saving, ending.

#include "server/persistence/shutdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/core/clients.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::string_view kShutdownFailed = "ERR Errors trying to SHUTDOWN. Check logs.";

}  // namespace

bool Shutdown::has_lagging_replica(std::uint64_t end) const {
  const std::vector<Client*>& replicas = replication_.replicas().all();
  return std::ranges::any_of(replicas, [&](const Client* one) {
    return one->replica->is_online() && one->replica->acked < end;
  });
}

// Nobody waits for what this server has.
bool Shutdown::is_ready() const {
  if (const ClusterRole* const cluster = replication_.cluster()) return cluster->has_left();
  return !has_lagging_replica(end_);
}

Status Shutdown::begin(const ShutdownPlan& plan, Client* asker) {
  plan_ = plan;
  replication_.replicas().set_ending(true);
  end_ = replication_.stream().log().end();
  const auto longest = std::chrono::seconds(context_.config.shutdown_timeout);
  ClusterRole* const cluster = replication_.cluster();
  if (cluster != nullptr && !plan.is_now) cluster->leave(longest);
  if (plan.is_now || longest.count() == 0 || is_ready()) return finish();
  if (asker != nullptr) {
    askers_.push_back(asker->id());
    asker->limits.awaits_end = true;
  }
  replication_.replicas().ask_for_acks();
  if (is_waiting_) return Done{};
  is_waiting_ = true;
  begun_ = context_.clock.now();
  // In a cluster writes pause only while they are handed over: then clients are sent elsewhere.
  if (cluster == nullptr) clients_.pause(PauseReason::shutdown, kNever, PauseLevel::writes);
  context_.log.notice("Shutting down: waiting up to {} seconds for replicas to catch up",
                      context_.config.shutdown_timeout);
  return Done{};
}

void Shutdown::before_sleep(Time now) {
  if (!is_waiting_) return;
  const bool is_ready = this->is_ready();
  if (!is_ready && !is_due(end(), now)) return;
  if (!is_ready) context_.log.warning("Shutting down although a replica has not caught up");
  if (Status status = finish(); !status) cancel();
}

Status Shutdown::finish() {
  const Status status = persistence_.shut_down(plan_.saves, plan_.is_forced);
  if (!status) {
    replication_.replicas().set_ending(false);
    return Error{status.error().code, std::string(kShutdownFailed)};
  }
  is_waiting_ = false;
  askers_.clear();
  context_.host.shut_down();
  return Done{};
}

bool Shutdown::abort() {
  if (!is_waiting_) return false;
  cancel();
  context_.log.notice("The shutdown was aborted");
  return true;
}

void Shutdown::cancel() {
  is_waiting_ = false;
  replication_.replicas().set_ending(false);
  if (ClusterRole* const cluster = replication_.cluster()) cluster->stay();
  clients_.unpause(PauseReason::shutdown);
  for (const std::uint64_t id : askers_) {
    Client* const client = clients_.find(id);
    if (client == nullptr) continue;
    client->limits.awaits_end = false;
    Reply(client->output(), client->protocol()).error(kShutdownFailed);
  }
  askers_.clear();
}

}  // namespace mayfly
