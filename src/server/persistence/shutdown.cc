// SPDX-License-Identifier: Apache-2.0
// Waiting for replicas, saving, ending.

#include "server/persistence/shutdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/clients.h"
#include "server/core/requests.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/scripting/scripting.h"

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

// Whether a script runs, and memory has a part of its unit. A script of the file or of the primary
// runs again after the next start, and then it must be whole.
bool Shutdown::would_cut_unit() const {
  const ScriptRun* const run = scripting_.current();
  return run != nullptr && (run->has_written || run->caller.is_replay || run->caller.is_primary ||
                            requests_.has_open_changes());
}

// There is no way back, so nothing is waited for.
Status Shutdown::end_in_unit(bool is_forced) {
  if (!is_forced && persistence_.needs_base()) {
    context_.log.warning(
        "The append-only file has no base yet, and none can be written while a script runs that "
        "has written (wait until it has ended, or lose the data: SHUTDOWN NOSAVE FORCE, or a "
        "second signal)");
    return Error{Code::busy, std::string(kShutdownFailed)};
  }
  context_.log.warning(
      "The server stops while a script runs that may have written: nothing of the script is kept, "
      "and no snapshot is saved");
  persistence_.give_up_unit();
  requests_.abandon_unit();
  scripting_.abandon();
  (void)persistence_.shut_down(false, true);
  is_waiting_ = false;
  context_.host.shut_down();
  return Done{};
}

void Shutdown::end_at_once() {
  if (would_cut_unit()) return (void)end_in_unit(true);
  scripting_.abandon();
  context_.host.shut_down();
}

void Shutdown::take_signal(std::string_view name, const EndFlags& flags) {
  const bool is_second = is_waiting_ || asked_ || has_refused_;
  context_.log.notice("Received SIG{}: the server {}", name,
                      is_second ? "stops at once" : "shuts down");
  if (is_second) return end_at_once();
  ScriptRun* const run = scripting_.current();
  if (run == nullptr) return begin_for_signal(flags);
  // It may have no end, and runs again after the next start.
  const bool comes_again = run->caller.is_replay || run->caller.is_primary;
  if (comes_again && end_in_unit(flags.is_forced)) return;
  if (!would_cut_unit()) run->is_killed = true;
  asked_ = flags;
  context_.log.warning(
      "A script runs, so the shutdown begins when it has ended. A second signal stops the server "
      "at once: without what the script has written, and without a snapshot");
}

void Shutdown::begin_for_signal(const EndFlags& flags) {
  const bool saves = flags.saves || (!flags.saves_not && persistence_.saves_at_end());
  const Status status =
      begin({.saves = saves, .is_forced = flags.is_forced, .is_now = flags.is_now}, nullptr);
  if (!status) note_refusal();
}

void Shutdown::note_refusal() {
  has_refused_ = true;
  context_.log.warning(
      "The server keeps running, as its data could not be saved: see above. A second signal stops "
      "it anyway");
}

Status Shutdown::begin(const ShutdownPlan& plan, Client* asker) {
  if (would_cut_unit()) return end_in_unit(plan.is_forced);
  plan_ = plan;
  replication_.replicas().set_ending(true);
  end_ = replication_.stream().log().end();
  const auto longest = std::chrono::seconds(context_.config.shutdown_timeout);
  ClusterRole* const cluster = replication_.cluster();
  if (cluster != nullptr && !plan.is_now) cluster->leave();
  if (plan.is_now || longest.count() == 0 || is_ready()) return finish();
  if (asker != nullptr) {
    askers_.push_back(asker->id());
    asker->limits.awaits_end = true;
  }
  replication_.replicas().ask_for_acks();
  if (asker == nullptr) is_of_signal_ = true;
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
  if (asked_) begin_for_signal(*std::exchange(asked_, std::nullopt));
  if (!is_waiting_) return;
  const bool is_ready = this->is_ready();
  if (!is_ready && !is_due(end(), now)) return;
  if (!is_ready) context_.log.warning("Shutting down although a replica has not caught up");
  if (finish()) return;
  const bool is_of_signal = is_of_signal_;
  cancel();
  if (is_of_signal) note_refusal();
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
  if (!is_waiting_ && !asked_) return false;
  asked_.reset();
  if (is_waiting_) cancel();
  context_.log.notice("The shutdown was aborted");
  return true;
}

void Shutdown::cancel() {
  is_waiting_ = false;
  is_of_signal_ = false;
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
