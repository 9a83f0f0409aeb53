// SPDX-License-Identifier: Apache-2.0
// CacheCore: what Cache and ShardedCache have in common. Not for direct use.
//
// A map, an expiry index, and the time handed in: it asks no clock, takes no lock and calls no
// listener. Removals are collected, and the owner of the core delivers them when it may. What few
// caches use (eviction order, weights, the times of entry_times.h) is in columns of its own, which
// cost nothing until they are used.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "mayfly/cache_options.h"
#include "mayfly/condition.h"
#include "mayfly/expiry_index.h"
#include "mayfly/internal/entry_times.h"
#include "mayfly/internal/sieve.h"
#include "mayfly/internal/slot_map.h"
#include "mayfly/random.h"

namespace mayfly::internal {

// The expiry with a TTL made longer or shorter by up to `percent`, at random, so that entries that
// are put together do not expire together. Deadlines and sliding TTLs stay as they are.
inline Expiry jittered(const Expiry& expiry, double percent, Random& random) {
  if (!expiry.is_ttl() || percent <= 0 || expiry.ttl() <= Millis::zero()) return expiry;
  const double factor = 1 + (2 * random.fraction() - 1) * percent / 100;
  const double ms = static_cast<double>(expiry.ttl().count()) * factor;
  return expiry.with_ttl(ms >= 9.2e18 ? Millis::max() : Millis(std::llround(ms)));
}

// Ends the program, in any build, rather than make a cache without the bound that was asked for.
template <class Options>
const Options& checked(const Options& options) {
  if (options.max_weight == 0 || options.weigher) return options;
  std::fputs("mayfly: a cache with max_weight needs a weigher, which says what an entry weighs\n",
             stderr);
  std::abort();
}

template <class Key, class Value, ExpiryIndex Index, class Hash, class Equal>
class CacheCore {
 public:
  using Map = SlotMap<Key, Value, Hash, Equal, typename Index::Cell>;
  using Options = CacheOptions<Key, Value>;
  using Removals = std::vector<Removal<Key, Value>>;

  CacheCore(const Options& options, Index index)
      : map_(options.hash_seed != 0 ? options.hash_seed : HashCells::random_seed()),
        index_(std::move(index)),
        max_entries_(options.max_entries),
        max_weight_(checked(options).max_weight),
        weigher_(options.weigher),
        is_passive_(options.cleanup == Cleanup::passive),
        purge_per_write_(options.purge_per_write),
        default_expiry_(options.default_expiry),
        jitter_percent_(options.jitter_percent),
        retry_after_(options.retry_after),
        random_(options.seed),
        is_listening_(static_cast<bool>(options.listener)),
        is_bounded_(max_entries_ > 0 || max_weight_ > 0),
        works_on_hit_(is_bounded_) {}

  template <class Lookup>
  std::uint32_t hash_of(const Lookup& key) const {
    return map_.hash_of(key);
  }

  // The entry of `key`, expired or not, or null. For a way of get() that is shorter still.
  template <class Lookup>
  const typename Map::Entry* lookup(const Lookup& key, std::uint32_t hash) const {
    return map_.lookup(key, hash);
  }

  // The slot of a live key, or kNoSlot; counts a hit or a miss.
  template <class Lookup>
  Slot get(const Lookup& key, std::uint32_t hash, Time now) {
    const Slot slot = map_.find(key, hash);
    if (slot == kNoSlot || is_due(deadline(slot), now)) {
      ++stats_.misses;
      if (slot != kNoSlot) remove(slot, Cause::expired, now);
      return kNoSlot;
    }
    if (works_on_hit_) touch(slot, now);
    ++stats_.hits;
    return slot;
  }

  // Whether a hit leaves no trace but in the statistics: no bounds, and no entry slides.
  bool is_plain() const { return !works_on_hit_; }

  // get() for a caller that knows which deadlines have passed, but not the time. kNoSlot: get() has
  // to be called, because the key is absent, due or slides.
  template <class Lookup, class HasPassed>
  Slot get_live(const Lookup& key, std::uint32_t hash, HasPassed has_passed) {
    const Slot slot = map_.find(key, hash);
    if (slot == kNoSlot || times_.is_sliding(slot) || has_passed(deadline(slot))) return kNoSlot;
    if (is_bounded_) order_.touch(slot);
    ++stats_.hits;
    return slot;
  }

  // get() for concurrent readers, which may change nothing but a mark in the eviction order, and
  // count hits themselves. `needs_get`: the key is due or slides, so that get() has to be called
  // under the exclusive lock.
  struct SharedRead {
    Slot slot = kNoSlot;
    bool needs_get = false;
  };
  template <class Lookup, class HasPassed>
  SharedRead read(const Lookup& key, std::uint32_t hash, HasPassed has_passed) const {
    const Slot slot = map_.find(key, hash);
    if (slot == kNoSlot) return {};
    if (times_.is_sliding(slot) || has_passed(deadline(slot))) return {slot, true};
    if (is_bounded_) order_.touch_shared(slot);
    return {slot, false};
  }

  // get() without counting or touching; what is due stays where it is.
  template <class Lookup>
  Slot peek(const Lookup& key, std::uint32_t hash, Time now) const {
    const Slot slot = map_.find(key, hash);
    return slot == kNoSlot || is_due(deadline(slot), now) ? kNoSlot : slot;
  }

  // Returns whether the entry was kept: one heavier than the whole cache is not.
  bool put(Key key, std::uint32_t hash, Value value, const Expiry& expiry, Time now) {
    if (is_passive_) purge_some(now);
    const std::size_t weight = max_weight_ > 0 ? weigher_(key, value) : 0;
    const bool is_too_heavy = max_weight_ > 0 && weight > max_weight_;
    Slot slot = map_.find(key, hash);
    const bool keeps_expiry =
        expiry.is_unchanged() && slot != kNoSlot && !is_due(deadline(slot), now);
    if (slot == kNoSlot) {
      if (is_bounded_ && !is_too_heavy) make_room(1, weight, now, kNoSlot);
      slot = map_.insert(std::move(key), std::move(value));
      if (map_.extent() != attached_) attach();
      if (is_bounded_) order_.add(slot);
    } else {
      replace(slot, std::move(value), now);
    }
    set_weight(slot, weight);
    if (!keeps_expiry) {
      set_expiry(slot, jittered(resolved(expiry), jitter_percent_, random_), now);
    }
    if (is_too_heavy) {
      remove(slot, Cause::evicted, now);
    } else if (is_bounded_) {
      make_room(0, 0, now, slot);  // a new value may weigh more than the old one did
    }
    return !is_too_heavy;
  }

  bool expire(Slot slot, const Expiry& expiry, When when, Time now) {
    const Time present = deadline(slot);
    if (expiry.is_unchanged()) return allows(when, present, present);
    const Expiry& wanted = resolved(expiry);
    if (!allows(when, present, wanted.deadline(now))) return false;
    set_expiry(slot, wanted, now);
    return true;
  }

  bool persist(Slot slot, Time now) {
    const bool had_deadline = deadline(slot) != kNever;
    set_expiry(slot, Expiry::never(), now);
    return had_deadline;
  }

  void remove(Slot slot, Cause cause, Time now) {
    const Time present = deadline(slot);
    index_.cancel(slot);
    remove_unscheduled(slot, cause, present, now);
  }

  void clear(Time now) {
    for (Slot slot = map_.next(0); slot != kNoSlot; slot = map_.next(slot + 1)) {
      const bool was_due = is_due(deadline(slot), now);
      remove(slot, was_due ? Cause::expired : Cause::cleared, now);
    }
  }

  // Removes at most `limit` entries that are due. Returns how many.
  std::size_t purge(Time now, std::size_t limit) {
    std::size_t purged = 0;
    while (purged < limit && is_due(index_.next_deadline(), now)) {
      due_.clear();
      index_.take_due(now, std::min(limit - purged, kBatch), due_);
      purged += due_.size();
      remove_taken(now);
    }
    return purged;
  }

  bool knows_stale() const { return times_.knows_stale(); }
  bool is_stale(Slot slot, Time now) const { return times_.is_stale(slot, now); }

  // Whether the value is to be loaded anew: it is stale, and no load of it has failed just now.
  bool wants_load(Slot slot, Time now) const {
    return times_.is_stale(slot, now) && !times_.is_resting(slot, now);
  }
  void load_failed(Slot slot, Time now) {
    if (is_stale(slot, now)) times_.rest(slot, deadline_after(now, retry_after_));
  }

  typename Map::Entry& operator[](Slot slot) { return map_[slot]; }
  const typename Map::Entry& operator[](Slot slot) const { return map_[slot]; }
  Time deadline(Slot slot) const { return map_[slot].cell.deadline; }
  Time next_deadline() const { return index_.next_deadline(); }

  // The first live slot from `slot` on, or kNoSlot.
  Slot next_live(Slot slot, Time now) const {
    slot = map_.next(slot);
    while (slot != kNoSlot && is_due(deadline(slot), now)) slot = map_.next(slot + 1);
    return slot;
  }

  // Exact: entries that are due are not counted, whether or not they have been removed.
  std::size_t size(Time now) const { return map_.size() - index_.count_due(now); }
  std::size_t stored() const { return map_.size(); }
  std::size_t weight() const { return total_weight_; }
  std::size_t cell_bytes() const { return map_.cell_bytes(); }
  const Index& index() const { return index_; }
  CacheStats& stats() { return stats_; }
  const CacheStats& stats() const { return stats_; }

  bool has_removals() const { return !removals_.empty(); }
  Removals take_removals() { return std::exchange(removals_, {}); }

  // Empty if all parts are sound and agree with each other, else what is wrong. For tests.
  std::string check_invariants() const {
    if (!map_.is_sound()) return "the map is not sound";
    std::size_t scheduled = 0;
    std::size_t weight = 0;
    for (Slot slot = map_.next(0); slot != kNoSlot; slot = map_.next(slot + 1)) {
      scheduled += deadline(slot) != kNever ? 1 : 0;
      weight += slot < weights_.extent() ? weights_[slot].amount : 0;
    }
    if (scheduled != index_.size()) return "the index holds entries that are gone";
    if (weight != total_weight_) return "the weights do not add up";
    if (max_entries_ > 0 && map_.size() > max_entries_) return "too many entries";
    if (max_weight_ > 0 && total_weight_ > max_weight_) return "too much weight";
    const std::string wrong = order_.check_invariants();
    return wrong.empty() ? index_.check_invariants() : wrong;
  }

 private:
  static constexpr std::size_t kBatch =
      256;  // what is due is taken, and prefetched, so many at once

  struct Weight {
    std::size_t amount = 0;
  };

  // The map's table has grown: tells the index where the cells are now.
  void attach() {
    index_.attach(map_.table());
    attached_ = map_.extent();
  }

  const Expiry& resolved(const Expiry& expiry) const {
    return expiry.is_default() || expiry.is_unchanged() ? default_expiry_ : expiry;
  }

  void set_expiry(Slot slot, const Expiry& expiry, Time now) {
    if constexpr (requires { index_.start_at(now); }) index_.start_at(now);
    index_.schedule(slot, expiry.deadline(now));
    times_.set(slot, expiry, now);
    if (expiry.is_sliding()) works_on_hit_ = true;
  }

  void touch(Slot slot, Time now) {
    if (is_bounded_) order_.touch(slot);
    if (times_.is_sliding(slot)) index_.schedule(slot, times_.slid(slot, now));
  }

  // Puts a new value into an entry. If the old one had expired, that is why it goes.
  void replace(Slot slot, Value value, Time now) {
    const Time present = deadline(slot);
    const Cause cause = is_due(present, now) ? Cause::expired : Cause::replaced;
    stats_.count(cause);
    std::swap(map_[slot].value, value);
    if (is_listening_) {
      removals_.push_back({map_[slot].key, std::move(value), cause, present, now});
    }
    if (is_bounded_ && cause == Cause::replaced) order_.touch(slot);
  }

  void set_weight(Slot slot, std::size_t weight) {
    if (max_weight_ == 0) return;
    drop_weight(slot);
    if (weight == 0) return;
    weights_.claim(slot).amount = weight;
    total_weight_ += weight;
  }

  void drop_weight(Slot slot) {
    if (slot >= weights_.extent() || weights_[slot].amount == 0) return;
    total_weight_ -= weights_[slot].amount;
    weights_.drop(slot);
  }

  // Evicts until there is room for so much more; what is due goes first. `keep` is not evicted.
  void make_room(std::size_t entries, std::size_t weight, Time now, Slot keep) {
    while ((max_entries_ > 0 && map_.size() + entries > max_entries_) ||
           (max_weight_ > 0 && total_weight_ + weight > max_weight_)) {
      due_.clear();
      squeeze_one(now);
      if (!due_.empty()) {
        remove_taken(now);
      } else if (const Slot victim = order_.victim(); victim == keep) {
        order_.touch(keep);  // the hand passes it
      } else {
        remove(victim, Cause::evicted, now);
      }
    }
  }

  // Takes one entry that is due into due_, if the index can find one.
  void squeeze_one(Time now) {
    if constexpr (requires { index_.squeeze(now, 1, due_); }) {
      index_.squeeze(now, 1, due_);
    } else {
      // One call may do no more than come nearer to what is due.
      while (due_.empty() && is_due(index_.next_deadline(), now)) index_.take_due(now, 1, due_);
    }
  }

  // The passive mode's share of a write: one call of the index, which is bounded even where nothing
  // can be taken yet.
  void purge_some(Time now) {
    due_.clear();
    if constexpr (requires { index_.wants_cleanup(); }) {
      if (index_.wants_cleanup()) index_.squeeze(now, purge_per_write_, due_);
    }
    if (due_.empty() && is_due(index_.next_deadline(), now)) {
      index_.take_due(now, purge_per_write_, due_);
    }
    if (!due_.empty()) remove_taken(now);
  }

  // Removes the entries in due_, which the index has given out. They lie anywhere in memory, so
  // they are asked for some way ahead: first each entry, then the cell that its key hashes to.
  void remove_taken(Time now) {
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < due_.size() + 2 * kAhead; ++i) {
      if (i < due_.size()) map_.prefetch(due_[i].slot);
      if (i >= kAhead && i - kAhead < due_.size()) map_.prefetch_cell(due_[i - kAhead].slot);
      if (i < 2 * kAhead) continue;
      const Due due = due_[i - 2 * kAhead];
      remove_unscheduled(due.slot, Cause::expired, due.deadline, now);
    }
  }

  void remove_unscheduled(Slot slot, Cause cause, Time deadline, Time now) {
    times_.drop(slot);
    drop_weight(slot);
    if (is_bounded_) order_.remove(slot);
    stats_.count(cause);
    if (!is_listening_) return map_.erase(slot);
    auto entry = map_.take(slot);
    removals_.push_back({std::move(entry.key), std::move(entry.value), cause, deadline, now});
  }

  Map map_;
  Index index_;
  const std::size_t max_entries_;
  const std::size_t max_weight_;
  const std::function<std::size_t(const Key&, const Value&)> weigher_;
  const bool is_passive_;
  const std::size_t purge_per_write_;
  const Expiry default_expiry_;
  const double jitter_percent_;
  const Millis retry_after_;
  Random random_;
  const bool is_listening_;
  const bool is_bounded_;
  std::size_t attached_ = 0;  // the map's extent, as the index knows it
  bool works_on_hit_;         // a hit must be noted: the cache is bounded, or some entry slides

  Sieve order_;                 // of a bounded cache
  SlotColumn<Weight> weights_;  // of a cache with max_weight
  std::size_t total_weight_ = 0;
  EntryTimes times_;      // of entries that slide or become stale
  std::vector<Due> due_;  // scratch
  Removals removals_;
  CacheStats stats_;
};

}  // namespace mayfly::internal
