// SPDX-License-Identifier: Apache-2.0
// Moves as a whole: turns of the loop, requests that wait, and what a move leaves behind.

#include "server/cluster/moves/slot_moves.h"

#include <fmt/format.h>

#include <algorithm>

#include "mayfly/internal/stopwatch.h"
#include "resp/reply.h"
#include "server/blocking/key_waiters.h"
#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/pubsub/pubsub.h"
#include "server/tracking/tracking.h"
#include "server/transactions/watches.h"

namespace mayfly {
namespace {

constexpr Millis kTryAgainAfter{5000};  // a pause this long is told to those who wait
constexpr Millis kAwaitMost{1000};      // how long requests for slots that may come wait
constexpr Millis kTick{10};
constexpr std::int64_t kSliceNs = 500'000;
constexpr std::size_t kLookedAtAtOnce = 64;  // places for keys
constexpr std::size_t kPausesKept = 1000;

}  // namespace

SlotMoves::SlotMoves(const ServerParts& parts)
    : parts_(parts),
      staging_(parts.keyspace, parts.propagation),
      foreign_(parts.keyspace, parts.events, parts.propagation) {}

SlotMoves::~SlotMoves() = default;

Time SlotMoves::steady_now() const { return parts_.host.lease_clock().now(); }

SlotExport* SlotMoves::find_export(std::uint64_t number) const {
  return export_ && export_->number() == number ? export_.get() : nullptr;
}

SlotImport* SlotMoves::find_import(std::uint64_t number) const {
  return import_ && import_->number() == number ? import_.get() : nullptr;
}

// ---- Roles and records ----

void SlotMoves::records_changed() {
  const ShardMachine* const machine = parts_.cluster.node().machine();
  if (machine == nullptr || machine->version() == 0) return;
  const SlotSet& own = machine->record().slots;
  if (own != own_) {
    const SlotSet left = own_ - own;
    own_ = own;
    foreign_.set_own(own);
    if (!left.empty()) slots_left(left);
  }
  // A server that was replaced has nothing to decide: it will follow the new primary in a moment.
  const bool leads =
      machine->is_leading() && machine->record().primary == parts_.cluster.node().self();
  if (import_ && leads) {
    import_->record_changed();
    if (import_->is_over()) end_import();
  }
  if (export_) export_->records_changed();
  update_active();
}

// Keys that came to the last primary are ours if the record says so. It can do nothing about them
// any more.
void SlotMoves::became_primary() {
  records_changed();
  foreign_.look_again();
  if (staging_.size() == 0) return;
  const bool has_ours = has_staged_own();
  parts_.log.notice("Cluster: {} keys of slots that were moving here are {}", staging_.size(),
                    has_ours ? "merged" : "dropped");
  has_ours ? staging_.adopt(own_) : staging_.drop();
  update_active();
}

void SlotMoves::became_replica() {
  export_ = nullptr;
  failure_.reset();
  if (import_) {
    Client* const client = parts_.clients.find(import_->client());
    import_ = nullptr;
    if (client != nullptr) client->link().close_now("this server is no primary any more");
  }
  staging_.leave();
  update_active();
  resume_requests();
}

// Those who rely on keys of these slots are told: by MOVED, or by a message.
void SlotMoves::slots_left(const SlotSet& slots) {
  const auto has_left = [&](std::string_view key) { return slots.contains(hash_slot(key)); };
  parts_.watches.break_watches(has_left);
  if (parts_.tracking.any()) parts_.tracking.invalidate_all();
  std::vector<std::string> channels;
  for (const auto& [channel, clients] : parts_.pubsub.shard_channels()) {
    if (has_left(channel)) channels.push_back(channel);
  }
  for (const std::string& channel : channels) parts_.pubsub.end_shard_channel(channel);
  parts_.key_waiters.recheck(has_left);
}

// ---- Turns ----

void SlotMoves::begin_turn() {
  // A successor must get all of the log: nothing is added to it meanwhile. Under a script that runs
  // for long (a CLUSTER PULSE asks for this then) no key may change.
  if (!parts_.cluster.is_serving() || is_paused() || parts_.cluster.node().is_handing_over() ||
      parts_.requests.is_in_transaction()) {
    return;
  }
  const std::int64_t begin = monotonic_ns();
  if (staging_.is_merging()) {
    while (staging_.is_merging() && monotonic_ns() - begin < kSliceNs) {
      staging_.merge_some(kLookedAtAtOnce);
    }
    if (staging_.is_merging()) return;
    parts_.log.notice("Cluster: all keys of the slots that came are merged");
    update_active();
    return resume_requests();
  }
  const ExecContext context = parts_.reclaimer.context();
  if (!foreign_.may_have_any()) return;
  while (foreign_.remove_some(context, kLookedAtAtOnce) && monotonic_ns() - begin < kSliceNs) {
  }
  if (foreign_.may_have_any()) return;
  update_active();
  resume_requests();
}

void SlotMoves::before_sleep() {
  const Time now = steady_now();
  if (export_) {
    export_->before_sleep();
    if (export_->state() == MoveState::stream) record_stream();
    if (export_->is_over()) end_export();
  }
  if (import_) {
    import_->before_sleep();
    if (import_->is_over()) end_import();
  }
  // Requests that have waited for too long are checked again, and refused.
  const bool is_long = is_paused() && is_due(export_->paused_since() + kTryAgainAfter, now);
  const bool is_late =
      import_ && import_->is_ready() && is_due(import_->ready_since() + kAwaitMost, now);
  if ((is_long || is_late) && !has_told_late_) resume_requests();
  has_told_late_ = is_long || is_late;
  record_failure();
  pick_up();
  update_active();
}

Millis SlotMoves::longest_sleep() const {
  const bool can_work =
      parts_.cluster.is_serving() && !is_paused() && !parts_.cluster.node().is_handing_over();
  if (can_work && (staging_.is_merging() || foreign_.may_have_any())) return Millis(0);
  return export_ || import_ ? kTick : Millis::max();
}

void SlotMoves::update_active() {
  is_active_ = all_keys_wait() || (import_ && import_->is_ready());
}

void SlotMoves::resume_requests() { parts_.clients.resume_waiting(); }

// ---- Requests ----

SlotMoves::Answer SlotMoves::when_answered(HashSlot slot) const {
  if (!is_paused() || !export_->move().slots.contains(slot)) return Answer::now;
  const bool is_long = is_due(export_->paused_since() + kTryAgainAfter, steady_now());
  return is_long ? Answer::try_again : Answer::wait;
}

bool SlotMoves::awaits(HashSlot slot) const {
  return import_ && import_->is_ready() && import_->slots().contains(slot) &&
         !is_due(import_->ready_since() + kAwaitMost, steady_now());
}

bool SlotMoves::is_staged(HashSlot slot) const {
  return parts_.keyspace[SlotStaging::kDatabase].stored_in_hash_slot(slot) > 0;
}

bool SlotMoves::has_staged_own() const {
  if (parts_.keyspace[SlotStaging::kDatabase].stored() == 0) return false;
  bool has_any = false;
  own_.each([&](HashSlot slot) { has_any = has_any || is_staged(slot); });
  return has_any;
}

void SlotMoves::prepare(const Command& command, Words words) {
  if (!staging_.is_merging() || !parts_.cluster.is_serving()) return;
  if (command.keys.first == 0) {
    const bool uses_all = (command.flags & (flag::readonly | flag::write)) != 0;
    if (uses_all) staging_.merge_all();
    return;
  }
  each_key(command, words, [this](std::string_view key) { staging_.merge_key(key); });
}

// ---- The end of a move ----

void SlotMoves::end_export() {
  const std::unique_ptr<SlotExport> ended = std::move(export_);
  export_ = nullptr;
  if (ended->state() == MoveState::done) {
    ++stats_.done;
    const Millis pause = steady_now() - ended->paused_since();
    if (stats_.pauses.size() >= kPausesKept) stats_.pauses.erase(stats_.pauses.begin());
    stats_.pauses.push_back(pause);
    parts_.log.notice(
        "Cluster: move {} is done: slots {} belong to shard {} now ({} keys, paused "
        "for {} ms)",
        ended->job(), ended->move().slots.text(), ended->move().target, ended->keys(),
        pause.count());
  } else {
    parts_.log.warning("Cluster: move {} failed: {}", ended->job(), ended->failure());
    const int attempts = ended->move().attempts + (ended->is_busy() ? 0 : 1);
    failure_ = {ended->job(), ended->failure(), attempts, ended->is_busy()};
    if (attempts >= kAttempts) ++stats_.failed;
    next_attempt_ = Time::min();
  }
  update_active();
  resume_requests();
}

Millis SlotMoves::pause_percentile(int percent) const {
  std::vector<Millis> sorted = stats_.pauses;
  if (sorted.empty()) return Millis(0);
  std::ranges::sort(sorted);
  const std::size_t at = sorted.size() * static_cast<std::size_t>(percent) / 100;
  return sorted[std::min(at, sorted.size() - 1)];
}

void SlotMoves::end_import() {
  const std::unique_ptr<SlotImport> ended = std::move(import_);
  import_ = nullptr;
  const bool is_ours = ended->is_ours();
  if (is_ours) {
    ++stats_.imported;
    staging_.adopt(own_);
  } else if (parts_.cluster.is_leading()) {
    staging_.drop();
  }
  parts_.log.notice("Cluster: move {}: the slots {} of shard {} {}", ended->job(),
                    ended->slots().text(), ended->source(),
                    is_ours ? "belong to this shard now" : "stay there");
  if (Client* const client = parts_.clients.find(ended->client())) {
    client->link().close_now("the move is over");
  }
  update_active();
  resume_requests();
}

}  // namespace mayfly
