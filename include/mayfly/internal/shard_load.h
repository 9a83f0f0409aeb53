// SPDX-License-Identifier: Apache-2.0
// ShardLoad: one call of ShardedCache::get_or_load().
//
//   ShardLoad<Key, Value, Shard> call(shard, options, clock, key, hash);
//   if (auto found = call.begin()) return *found;   // it is there, or another caller has loaded it
//   call.run(load, expiry);                         // this one has to
//   return call.take();
//
// One caller at a time loads a key. Another one gets the old value, if there is one, and else waits
// until the load is finished or its lease has ended. No lock is held while the loader runs.

#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "mayfly/cache_options.h"
#include "mayfly/clock.h"
#include "mayfly/internal/cache_shard.h"

namespace mayfly::internal {

template <class Key, class Value, class Shard>
class ShardLoad {
 public:
  using Options = CacheOptions<Key, Value>;

  // All that is passed must outlive it.
  ShardLoad(Shard& shard, const Options& options, const Clock& clock, const Key& key,
            std::uint32_t hash)
      : shard_(shard), options_(options), clock_(clock), key_(key), hash_(hash) {}
  ShardLoad(const ShardLoad&) = delete;
  ShardLoad& operator=(const ShardLoad&) = delete;

  // The value; nothing if this caller has to load it. Throws what the loader of a caller threw that
  // this one has waited for.
  std::optional<Value> begin() {
    while (true) {
      const Time now = clock_.now();
      Visit visit(shard_, options_.listener);
      auto& core = shard_.core;
      const Slot slot = core.get(key_, hash_, now);
      if (core.has_removals()) continue;  // call the listener first: a load may take long
      if (slot != kNoSlot && !core.wants_load(slot, now)) return core[slot].value;

      auto* const other = shard_.loads.find(key_, now);
      if (slot != kNoSlot) {
        if (other != nullptr) return core[slot].value;
        old_ = core[slot].value;
      } else if (other != nullptr && other->loader != std::this_thread::get_id()) {
        if (auto value = shard_.loads.wait(*other, clock_, visit.lock)) return value;
        continue;
      }
      // A loader that asks for the very key it is loading would wait for itself: it loads again.
      own_ = &shard_.loads.start(key_, deadline_after(now, options_.refresh_lease));
      return std::nullopt;
    }
  }

  // Calls the loader, and puts what it returns unless the load was superseded. REQUIRES: begin()
  // returned nothing.
  template <class Load>
  void run(Load& load, const Expiry& expiry) {
    try {
      value_.emplace(load(key_));
    } catch (...) {
      failure_ = std::current_exception();
    }
    const Visit visit(shard_, options_.listener);
    CacheStats& stats = shard_.core.stats();
    ++(value_ ? stats.loads : stats.load_failures);
    if (!own_->is_superseded) put_or_rest(expiry);
    // Not the old value: those who wait came when that had expired or was erased.
    shard_.loads.finish(*own_, value_, failure_);
  }

  // What was loaded; if that failed, the old value, or the failure is thrown if there was none.
  Value take() {
    if (value_) return *std::move(value_);
    if (old_) return *std::move(old_);
    std::rethrow_exception(failure_);
  }

  // The earliest deadline of the shard, if something was put that a thread has to remove.
  Time filed() const { return filed_; }

 private:
  using Visit = ShardVisit<Shard, RemovalListener<Key, Value>>;

  void put_or_rest(const Expiry& expiry) {
    auto& core = shard_.core;
    const Time now = clock_.now();
    if (value_) {
      try {
        core.put(key_, hash_, *value_, expiry, now);
        if (options_.cleanup == Cleanup::active) filed_ = core.next_deadline();
        return;
      } catch (...) {  // the weigher, for example: those who wait must not wait for ever
        failure_ = std::current_exception();
        value_.reset();
      }
    }
    const Slot slot = core.peek(key_, hash_, now);
    if (slot != kNoSlot) core.load_failed(slot, now);
  }

  Shard& shard_;
  const Options& options_;
  const Clock& clock_;
  const Key& key_;
  const std::uint32_t hash_;
  typename Shard::Loads::Load* own_ = nullptr;
  std::optional<Value> value_;  // what was loaded
  std::exception_ptr failure_;  // or why not
  std::optional<Value> old_;    // the stale value
  Time filed_ = kNever;
};

}  // namespace mayfly::internal
