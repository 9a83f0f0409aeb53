// SPDX-License-Identifier: Apache-2.0
// Waiting for replicas, saving, ending.

#include "server/persistence/shutdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::string_view kFailed = "ERR Errors trying to SHUTDOWN. Check logs.";

}  // namespace

bool Shutdown::has_lagging_replica(std::uint64_t end) const {
  const std::vector<Client*>& replicas = server_.replication().replicas().all();
  return std::ranges::any_of(replicas, [&](const Client* one) {
    return one->replica->is_online() && one->replica->acked < end;
  });
}

Status Shutdown::begin(const ShutdownPlan& plan, const Client* asker) {
  plan_ = plan;
  end_ = server_.replication().log().end();
  if (plan.is_now || server_.config().shutdown_timeout == 0 || !has_lagging_replica(end_)) {
    return finish();
  }
  if (asker != nullptr) askers_.push_back(asker->id());
  server_.replication().replicas().ask_for_acks();
  if (is_waiting_) return Done{};
  is_waiting_ = true;
  until_ = server_.wall().now() + std::chrono::seconds(server_.config().shutdown_timeout);
  server_.pause(PauseReason::shutdown, kNever, PauseLevel::writes);
  server_.log().write(Level::notice,
                      fmt::format("Shutting down: waiting up to {} seconds for replicas that lag",
                                  server_.config().shutdown_timeout));
  return Done{};
}

void Shutdown::before_sleep(Time now) {
  if (!is_waiting_) return;
  const bool lags = has_lagging_replica(end_);
  if (lags && !is_due(until_, now)) return;
  if (lags) server_.log().write(Level::warning, "Shutting down although a replica lags");
  if (Status status = finish(); !status) go_on();
}

Status Shutdown::finish() {
  const Status status = server_.persistence().shut_down(plan_.saves, plan_.is_forced);
  if (!status) return Error{status.error().code, std::string(kFailed)};
  is_waiting_ = false;
  askers_.clear();
  server_.surroundings().shut_down();
  return Done{};
}

bool Shutdown::abort() {
  if (!is_waiting_) return false;
  go_on();
  server_.log().write(Level::notice, "The shutdown was aborted");
  return true;
}

void Shutdown::go_on() {
  is_waiting_ = false;
  server_.unpause(PauseReason::shutdown);
  for (const std::uint64_t id : askers_) {
    const auto found = server_.clients().find(id);
    if (found == server_.clients().end()) continue;
    Reply(found->second->output(), found->second->protocol()).error(kFailed);
  }
  askers_.clear();
}

}  // namespace mayfly
