// SPDX-License-Identifier: Apache-2.0
// Expiry, lazy freeing and eviction between requests.

#include "server/core/reclaimer.h"

#include <algorithm>
#include <utility>

#include "commands/command.h"
#include "mayfly/internal/stopwatch.h"
#include "server/cluster/cluster.h"
#include "server/core/client.h"
#include "server/expiry/expiry_log.h"
#include "server/monitoring/latency.h"
#include "server/monitoring/memory.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

constexpr std::size_t kSweptAtOnce = 32;   // keys and fields between two readings of the clock
constexpr std::size_t kFreedAtOnce = 256;  // about 20 us
constexpr std::int64_t kFreeMicros = 300;
constexpr std::int64_t kFreeMicrosLoading = 10'000;
constexpr std::size_t kSweptForRoom = 128;
constexpr Millis kWarningInterval{60'000};
constexpr Millis kEvictionLineInterval{3'600'000};

// A clock that was set back must not keep it quiet.
bool is_time_again(std::optional<Time>& last, Millis interval, Time now) {
  if (last && is_due(*last, now) && !is_due(*last + interval, now)) return false;
  last = now;
  return true;
}
constexpr std::size_t kLocalKeysAtOnce = 128;  // and fields of each

}  // namespace

Policy Reclaimer::policy_for(const Client* client) const {
  if (loading_.is_active()) return Policy::show;
  if (client != nullptr && (client->is_primary || client->is_import)) return Policy::show;
  if (config_.import_mode && !stream_.is_replica()) {
    if (client != nullptr && client->options.is_import_source) return Policy::show;
    // Other clients do not see what is due. Only a write removes it: replicas, which would find the
    // old value, must get the removal first.
    const bool writes = client != nullptr && client->info.last != nullptr &&
                        (client->info.last->flags & flag::write) != 0;
    if (!writes) return Policy::hide;
  }
  return stream_.is_replica() || pauses_.any() || is_fenced() ? Policy::hide : Policy::reclaim;
}

// In a cluster a primary may have to stop for a while: another one may have taken over.
bool Reclaimer::is_fenced() const { return cluster_.is_enabled() && !cluster_.may_reclaim(); }

// Only a primary decides what expires.
bool Reclaimer::sweeps() const {
  const bool is_allowed = !cluster_.is_enabled() || cluster_.is_serving();
  return is_sweeping_ && is_allowed && !pauses_.any() && !stream_.is_replica() &&
         !loading_.is_active() && !config_.import_mode;
}

void Reclaimer::run_slice() {
  if (sweeps()) sweep_slice();
  free_slice(kFreeMicros);
}

void Reclaimer::free_for_loading() { free_slice(kFreeMicrosLoading); }

bool Reclaimer::has_backlog() const {
  return !keyspace_.lazy_free().is_empty() || (is_behind_ && sweeps());
}

// While slots are paused, the turns of their move are often enough: the entry that is due first may
// have to stay.
Time Reclaimer::next_deadline() const {
  if (!sweeps() || paused_slots() != nullptr) return kNever;
  return keyspace_.next_deadline();
}

const SlotSet* Reclaimer::paused_slots() const {
  return cluster_.is_enabled() ? cluster_.moves().paused_slots() : nullptr;
}

void Reclaimer::sweep_slice() {
  if (!is_due(keyspace_.next_deadline(), now_)) {
    is_behind_ = false;
    slice_growth_ = 0;
    return;
  }
  // While there is a backlog slices grow, up to 1.5 times the length: what is overdue takes memory.
  const std::int64_t base = config_.expire_slice_us * (9 + config_.active_expire_effort) / 10;
  const std::int64_t slice_ns = base * (8 + std::min(slice_growth_, 4)) / 8 * 1000;
  const std::int64_t begin = monotonic_ns();
  std::int64_t passed = 0;
  std::size_t swept = 0;
  const ExecContext context = this->context();
  do {
    swept = sweep_batch(context, kSweptAtOnce);
    passed = monotonic_ns() - begin;
  } while (swept > 0 && passed < slice_ns);

  is_behind_ = swept > 0;
  slice_growth_ = is_behind_ ? slice_growth_ + 1 : 0;
  ++stats_.sweep_slices;
  stats_.sweep_slices_cut += is_behind_ ? 1 : 0;
  stats_.sweep_micros += static_cast<std::uint64_t>(passed / 1000);
  latency_.add("expire-cycle", passed / 1'000'000, config_.latency_monitor_threshold, now_);
}

// What a batch removes is propagated together with its entries in the expiry log.
std::size_t Reclaimer::sweep_batch(const ExecContext& context, std::size_t limit) {
  const SlotSet* const paused = paused_slots();
  if (paused == nullptr) swept_to_ = Time::min();
  const std::size_t swept =
      paused == nullptr ? keyspace_.sweep(context, limit) : sweep_others(context, limit, *paused);
  expiry_log_.end_sweep();
  return swept;
}

// No entry of a paused slot is removed: the new primary has received the last change of the slot. A
// sweep that ends below its limit leaves only such entries, so the next one begins behind them.
std::size_t Reclaimer::sweep_others(const ExecContext& context, std::size_t limit,
                                    const SlotSet& paused) {
  const std::size_t swept = keyspace_.sweep_others(
      context, limit, swept_to_,
      [&paused](std::string_view key) { return paused.contains(hash_slot(key)); });
  if (swept < limit) swept_to_ = context.now + Millis(1);
  return swept;
}

std::size_t Reclaimer::free_some() {
  const std::size_t freed = keyspace_.lazy_free().free_some(kFreedAtOnce);
  stats_.lazily_freed += freed;
  return freed;
}

void Reclaimer::free_slice(std::int64_t micros) {
  if (keyspace_.lazy_free().is_empty()) return;
  const std::int64_t begin = monotonic_ns();
  while (free_some() > 0 && monotonic_ns() - begin < micros * 1000) {
  }
}

bool Reclaimer::is_full() const {
  if (config_.maxmemory == 0) return false;
  if (stream_.is_replica() || loading_.is_active()) return false;  // the primary evicts
  if (is_fenced()) return false;
  return !pauses_.any() && is_above_limit();
}

std::size_t Reclaimer::uncounted_memory() const {
  const AofWriter& aof = persistence_.aof();
  return stream_.log().memory_beyond(config_.repl_backlog_size) +
         replication_.replicas().output_bytes() +
         (aof.log() == nullptr ? 0 : aof.log()->buffer_memory());
}

bool Reclaimer::is_above_limit() const {
  const std::size_t used = used_memory();
  return used > config_.maxmemory && used - std::min(used, uncounted_memory()) > config_.maxmemory;
}

bool Reclaimer::lacks_room() const {
  if (!is_full()) return false;
  if (was_refused_) return true;
  const bool may_free =
      is_due(keyspace_.next_deadline(), now_) || !keyspace_.lazy_free().is_empty();
  return !may_free && (config_.import_mode || config_.maxmemory_policy == Eviction::none);
}

// Writes to the log, at most once a minute.
bool Reclaimer::note_room(bool has_room) {
  if (has_room) {
    was_refused_ = false;
    if (is_warned_ && !is_above_limit()) {
      is_warned_ = false;
      log_.notice("There is room below maxmemory again: writes are accepted");
    }
    return true;
  }
  was_refused_ = true;
  if (!is_time_again(warned_at_, kWarningInterval, now_)) return false;
  is_warned_ = true;
  log_.warning(
      "maxmemory is reached: {} of {} bytes are used, and with maxmemory-policy {} nothing can be "
      "evicted. Writes are refused (OOM) (raise maxmemory, or choose another maxmemory-policy)",
      used_memory(), config_.maxmemory, name_of(config_.maxmemory_policy));
  return false;
}

// A cache is always full: a line an hour is enough.
void Reclaimer::note_eviction() {
  if (!is_time_again(eviction_told_at_, kEvictionLineInterval, now_)) return;
  log_.notice("maxmemory is reached, {} bytes: keys are evicted ({})", config_.maxmemory,
              name_of(config_.maxmemory_policy));
}

bool Reclaimer::evict_keys() {
  if (!is_full()) return true;
  if (config_.import_mode) return false;  // imported keys are neither expired nor evicted
  now_ = clock_.now();
  const ExecContext context = this->context();
  // First what is due, and what was removed and not freed yet.
  while (is_above_limit() && sweep_batch(context, kSweptForRoom) > 0) {
  }
  while (is_above_limit() && free_some() > 0) {
  }
  const bool has_room = evict_until_room(context);
  expiry_log_.end_sweep();  // of members that were due when their key was evicted
  return has_room;
}

bool Reclaimer::evict_until_room(const ExecContext& context) {
  while (is_above_limit()) {
    if (!evict_one(context, keyspace_, config_.maxmemory_policy,
                   static_cast<int>(config_.maxmemory_samples))) {
      return false;
    }
    note_eviction();
    while (free_some() > 0) {
    }
  }
  return true;
}

// ---- Keys of a writable replica ----

void LocalExpiries::clear() {
  changed_.clear();
  deadlines_.clear();
  order_.clear();
}

void LocalExpiries::refresh(const Key& key) {
  if (const auto found = deadlines_.find(key); found != deadlines_.end()) {
    order_.erase({found->second, key});
    deadlines_.erase(found);
  }
  const Database& database = keyspace_[key.first];
  const Slot slot = database.stored_slot(key.second);
  if (slot == kNoSlot) return;
  const Time next = std::min(database.deadline(slot), database.earliest_member_deadline(slot));
  if (next == kNever) return;
  deadlines_.emplace(key, next);
  order_.emplace(next, key);
}

void LocalExpiries::sweep(Time now) {
  for (const Key& key : std::exchange(changed_, {})) refresh(key);
  for (std::size_t i = 0; i < kLocalKeysAtOnce && !order_.empty(); ++i) {
    const auto [deadline, key] = *order_.begin();
    if (!is_due(deadline, now)) return;
    keyspace_[key.first].sweep_key({.now = now}, key.second, kLocalKeysAtOnce);
    refresh(key);
  }
}

}  // namespace mayfly
