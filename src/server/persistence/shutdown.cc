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

Status Shutdown::begin(const ShutdownPlan& plan, const Client* asker) {
  plan_ = plan;
  end_ = replication_.stream().log().end();
  if (plan.is_now || environment_.config.shutdown_timeout == 0 || !has_lagging_replica(end_)) {
    return finish();
  }
  if (asker != nullptr) askers_.push_back(asker->id());
  replication_.replicas().ask_for_acks();
  if (is_waiting_) return Done{};
  is_waiting_ = true;
  until_ = environment_.clock.now() + std::chrono::seconds(environment_.config.shutdown_timeout);
  clients_.pause(PauseReason::shutdown, kNever, PauseLevel::writes);
  environment_.log.notice("Shutting down: waiting up to {} seconds for replicas to catch up",
                          environment_.config.shutdown_timeout);
  return Done{};
}

void Shutdown::before_sleep(Time now) {
  if (!is_waiting_) return;
  const bool lags = has_lagging_replica(end_);
  if (lags && !is_due(until_, now)) return;
  if (lags) environment_.log.warning("Shutting down although a replica has not caught up");
  if (Status status = finish(); !status) cancel();
}

Status Shutdown::finish() {
  const Status status = persistence_.shut_down(plan_.saves, plan_.is_forced);
  if (!status) return Error{status.error().code, std::string(kShutdownFailed)};
  is_waiting_ = false;
  askers_.clear();
  environment_.host.shut_down();
  return Done{};
}

bool Shutdown::abort() {
  if (!is_waiting_) return false;
  cancel();
  environment_.log.notice("The shutdown was aborted");
  return true;
}

void Shutdown::cancel() {
  is_waiting_ = false;
  clients_.unpause(PauseReason::shutdown);
  for (const std::uint64_t id : askers_) {
    Client* const client = clients_.find(id);
    if (client != nullptr) Reply(client->output(), client->protocol()).error(kShutdownFailed);
  }
  askers_.clear();
}

}  // namespace mayfly
