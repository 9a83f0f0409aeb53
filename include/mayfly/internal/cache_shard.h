// SPDX-License-Identifier: Apache-2.0
// CacheShard: one part of a ShardedCache, a cache core with a lock of its own.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "mayfly/internal/cache_core.h"
#include "mayfly/internal/loads_in_progress.h"
#include "mayfly/internal/reader_lock.h"

namespace mayfly::internal {

// On cache lines of its own, so that threads at work in different shards do not disturb each other.
template <class Key, class Value, ExpiryIndex Index, class Hash, class Equal>
struct alignas(64) CacheShard {
  using Loads = LoadsInProgress<Key, Value, Equal>;

  CacheShard(const CacheOptions<Key, Value>& options, Index index)
      : core(options, std::move(index)) {}

  mutable ReaderLock lock;
  CacheCore<Key, Value, Index, Hash, Equal> core;  // guarded by lock
  Loads loads;                                     // guarded by lock

  // Looks for a key beside other readers, and calls `use(slot)` if it is there; counts a hit or a
  // miss. False: neither, and core.get() has to be called under the lock.
  template <class Lookup, class HasPassed, class Use>
  bool read(const Lookup& key, std::uint32_t hash, HasPassed has_passed, Use use) const {
    return lock.try_look([&] {
      const auto found = core.read(key, hash, has_passed);
      if (found.needs_get) return ReaderLock::Look::retry;
      if (found.slot == kNoSlot) return ReaderLock::Look::miss;
      use(found.slot);
      return ReaderLock::Look::hit;
    });
  }
};

// Work in a shard, under its lock. At its end, with the lock released, the listener is called for
// what was removed.
template <class Shard, class Listener>
class ShardVisit {
 public:
  ShardVisit(Shard& shard, const Listener& listener)
      : shard_(shard), listener_(listener), lock(shard.lock) {}
  ~ShardVisit() {
    if (!shard_.core.has_removals()) return;
    auto removals = shard_.core.take_removals();
    lock.unlock();
    std::size_t failures = 0;
    for (auto& removal : removals) {
      try {
        listener_(removal);
      } catch (...) {
        ++failures;
      }
    }
    if (failures == 0) return;
    lock.lock();
    shard_.core.stats().listener_failures += failures;
  }
  ShardVisit(const ShardVisit&) = delete;

 private:
  Shard& shard_;
  const Listener& listener_;

 public:
  std::unique_lock<ReaderLock> lock;
};

// How many shards a cache gets that was asked for `wanted`: a power of two. Shards of very few
// entries would evict because of an uneven hash.
template <class Options>
std::size_t shard_count(const Options& options, std::size_t wanted) {
  constexpr std::size_t kMostShards = 256;
  constexpr std::size_t kLeastEntries = 64;  // of a bounded cache
  std::size_t shards = std::bit_ceil(std::clamp<std::size_t>(wanted, 1, kMostShards));
  while (options.max_entries > 0 && shards > 1 && options.max_entries / shards < kLeastEntries) {
    shards /= 2;
  }
  while (options.max_weight > 0 && shards > options.max_weight) shards /= 2;
  return shards;
}

// The options of one shard: its part of the bounds, and a seed of its own.
template <class Options>
Options shard_options(Options options, std::size_t shards, std::size_t number) {
  const auto part = [&](std::size_t whole) {
    return whole == 0 ? 0 : std::max<std::size_t>(1, whole / shards + (number < whole % shards));
  };
  options.max_entries = part(options.max_entries);
  options.max_weight = part(options.max_weight);
  options.seed += number;
  return options;
}

}  // namespace mayfly::internal
