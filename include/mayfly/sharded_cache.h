// SPDX-License-Identifier: Apache-2.0
// ShardedCache: a Cache that any number of threads may use at once.
//
//   SteadyClock clock;
//   ShardedCache<std::string, Page> pages(clock, {.default_expiry = Expiry(60s).refresh_after(45s),
//                                                 .cleanup = Cleanup::active});
//
//   std::optional<Page> page = pages.get("/index");              // a copy, yours to keep
//   Page made = pages.get_or_load("/about", [](const auto& path) { return render(path); });
//
// Keys are spread over shards, each a cache of its own with a lock of its own; a call locks one
// shard, for as long as a look-up takes, and reads do not even keep each other out (reader_lock.h).
// Values are copied in and out: where that is dear, store a handle. Loaders, listeners and the
// functions given to for_each() run without any lock held, so that they may use the cache. All else
// is as cache.h says.
//
// Threads: Cleanup::active starts one, which the destructor stops and waits for. The other modes
// start none. The destructor must not run while calls are under way.
//
// Bounds are divided among the shards, so that no more than max_entries are ever held; a cache may
// evict a little before it is full, where keys fall unevenly. An entry heavier than its shard's
// part of max_weight is not kept. With shards = 1 the bounds are exact.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "mayfly/cache.h"
#include "mayfly/internal/background_thread.h"
#include "mayfly/internal/cache_shard.h"
#include "mayfly/internal/shard_load.h"

namespace mayfly {

template <class Key, class Value, ExpiryIndex Index = VolatileSet, class Hash = KeyHash<Key>,
          class Equal = std::equal_to<>>
class ShardedCache {
  static_assert(internal::HashFor<Hash, Key>, MAYFLY_NO_HASH);
  static_assert(internal::EqualFor<Equal, Key>, MAYFLY_NO_EQUAL);
  static_assert(std::is_copy_constructible_v<Value>,
                "mayfly: the value can't be copied, and get() of a ShardedCache returns a copy: "
                "store a handle that can be, or use a Cache in one thread");

 public:
  using Options = CacheOptions<Key, Value>;

  // A copy of an entry.
  struct Entry {
    Key key;
    Value value;
    Time deadline;              // kNever if it has none
    std::optional<Millis> ttl;  // what is left of it; nothing if it has none
    bool is_stale = false;      // get_or_load() would load it anew
  };

  // `shards` is rounded up to a power of two, and down to 256. `make_index` makes the index of each
  // shard. `clock` must outlive the cache.
  explicit ShardedCache(
      const Clock& clock, Options options = {}, std::size_t shards = 64,
      const std::function<Index()>& make_index = [] { return Index(); })
      : clock_(clock), options_(with_hash_seed(std::move(options))) {
    shards = internal::shard_count(options_, shards);
    for (std::size_t i = 0; i < shards; ++i) {
      shards_.push_back(
          std::make_unique<Shard>(internal::shard_options(options_, shards, i), make_index()));
    }
    if (options_.cleanup == Cleanup::active) {
      sweeper_ = std::make_unique<internal::BackgroundThread>(clock_, [this] { return sweep(); });
    }
  }
  // A temporary clock would be gone before the cache is used: give it a name.
  explicit ShardedCache(
      const Clock&& clock, Options options = {}, std::size_t shards = 64,
      const std::function<Index()>& make_index = [] { return Index(); }) = delete;
  ShardedCache(const ShardedCache&) = delete;  // nor moved: the sweeper knows where it is
  ShardedCache(ShardedCache&&) = delete;
  ShardedCache& operator=(const ShardedCache&) = delete;
  ShardedCache& operator=(ShardedCache&&) = delete;

  // A copy of the value of `key`, or nothing.
  template <class Lookup>
  std::optional<Value> get(const Lookup& key) {
    const std::uint32_t hash = hash_of(key);
    Shard& shard = shard_for(hash);
    std::optional<Value> value;
    const bool is_done = shard.read(
        key, hash, [this](Time at) { return clock_.has_passed(at); },
        [&](Slot slot) { value.emplace(shard.core[slot].value); });
    if (is_done) return value;

    const Time now = clock_.now();
    const Visit visit(shard, options_.listener);
    const Slot slot = shard.core.get(key, hash, now);
    if (slot != kNoSlot) value.emplace(shard.core[slot].value);
    return value;
  }

  // The entry of `key` with its deadline and remaining TTL, or nothing.
  template <class Lookup>
  std::optional<Entry> find(const Lookup& key) {
    const std::uint32_t hash = hash_of(key);
    Shard& shard = shard_for(hash);
    const Time now = clock_.now();
    std::optional<Entry> entry;
    const bool is_done = shard.read(
        key, hash, [now](Time at) { return is_due(at, now); },
        [&](Slot slot) { entry.emplace(entry_at(shard, slot, now)); });
    if (is_done) return entry;

    const Visit visit(shard, options_.listener);
    const Slot slot = shard.core.get(key, hash, now);
    if (slot != kNoSlot) entry.emplace(entry_at(shard, slot, now));
    return entry;
  }

  template <class Lookup>
  bool contains(const Lookup& key) const {
    const std::uint32_t hash = hash_of(key);
    const Shard& shard = shard_for(hash);
    const Time now = clock_.now();
    bool is_there = false;
    const bool is_done = shard.lock.try_look([&] {
      is_there = shard.core.peek(key, hash, now) != kNoSlot;
      return internal::ReaderLock::Look::uncounted;
    });
    if (is_done) return is_there;
    const std::lock_guard lock(shard.lock);
    return shard.core.peek(key, hash, now) != kNoSlot;
  }

  bool put(Key key, Value value, const Expiry& expiry = {}) {
    Time filed = kNever;
    const Key& name = key;
    const bool is_kept = at(name, [&](Shard& shard, std::uint32_t hash, Time now) {
      shard.loads.supersede(name);
      const bool kept = shard.core.put(std::move(key), hash, std::move(value), expiry, now);
      if (sweeper_ != nullptr) filed = shard.core.next_deadline();
      return kept;
    });
    if (sweeper_ != nullptr) sweeper_->wake_by(filed);
    return is_kept;
  }

  template <class Lookup>
  bool expire(const Lookup& key, const Expiry& expiry, When when = When::always) {
    Time filed = kNever;
    const bool is_done = at(key, [&](Shard& shard, std::uint32_t hash, Time now) {
      const Slot slot = shard.core.peek(key, hash, now);
      const bool done = slot != kNoSlot && shard.core.expire(slot, expiry, when, now);
      if (done) filed = shard.core.deadline(slot);
      if (done) shard.loads.supersede(key);
      return done;
    });
    if (sweeper_ != nullptr) sweeper_->wake_by(filed);
    return is_done;
  }

  template <class Lookup>
  bool persist(const Lookup& key) {
    return at(key, [&](Shard& shard, std::uint32_t hash, Time now) {
      const Slot slot = shard.core.peek(key, hash, now);
      const bool done = slot != kNoSlot && shard.core.persist(slot, now);
      if (done) shard.loads.supersede(key);
      return done;
    });
  }

  template <class Lookup>
  bool erase(const Lookup& key) {
    return at(key, [&](Shard& shard, std::uint32_t hash, Time now) {
      shard.loads.supersede(key);
      const Slot slot = shard.core.peek(key, hash, now);
      if (slot != kNoSlot) shard.core.remove(slot, Cause::erased, now);
      return slot != kNoSlot;
    });
  }

  // Shard by shard: what another thread puts meanwhile may stay.
  void clear() {
    const Time now = clock_.now();
    for (const auto& shard : shards_) {
      const Visit visit(*shard, options_.listener);
      shard->loads.supersede_all();
      shard->core.clear(now);
    }
  }

  // The value of `key`; if there is none, the one that `load(key)` returns, which is put. However
  // many threads ask at once, one of them loads and the others wait for it; if it throws, they all
  // get that exception. Where the value is stale (Expiry::stale_for), one caller loads it again,
  // while the others get the old value; if the loader throws then, that one gets the old value,
  // too, and nobody loads it for CacheOptions::retry_after. Who takes longer to load than
  // CacheOptions::refresh_lease is not waited for any more: the next caller loads. Two loaders that
  // wait for each other's key wait until then. See docs/stale.md.
  template <class Load>
  Value get_or_load(const Key& key, Load load, const Expiry& expiry = {}) {
    const std::uint32_t hash = hash_of(key);
    internal::ShardLoad<Key, Value, Shard> call(shard_for(hash), options_, clock_, key, hash);
    if (std::optional<Value> found = call.begin()) return *std::move(found);
    call.run(load, expiry);
    if (sweeper_ != nullptr) sweeper_->wake_by(call.filed());
    return call.take();
  }

  // Removes at most `limit` entries that have expired, and returns how many.
  std::size_t purge(std::size_t limit = ~std::size_t{0}) {
    const Time now = clock_.now();
    std::size_t purged = 0;
    for (const auto& shard : shards_) {
      while (purged < limit) {
        const std::size_t batch = std::min(limit - purged, kSweepBatch);
        const Visit visit(*shard, options_.listener);
        const std::size_t count = shard->core.purge(now, batch);
        purged += count;
        if (count < batch) break;
      }
    }
    return purged;
  }

  // When purge() will next have something to do.
  Time next_deadline() const {
    Time next = kNever;
    for_each_core([&](const Core& core) { next = std::min(next, core.next_deadline()); });
    return next;
  }

  // The number of live entries at the time of the call. Exact while no other thread writes.
  std::size_t size() const {
    const Time now = clock_.now();
    std::size_t size = 0;
    for_each_core([&](const Core& core) { size += core.size(now); });
    return size;
  }
  bool empty() const { return size() == 0; }

  // Entries in memory, those that have expired and are not yet removed included.
  std::size_t stored() const {
    std::size_t stored = 0;
    for_each_core([&](const Core& core) { stored += core.stored(); });
    return stored;
  }

  CacheStats stats() const {
    CacheStats total;
    for (const auto& shard : shards_) {
      const std::lock_guard lock(shard->lock);
      total += shard->core.stats();
      total.hits += shard->lock.hits();
      total.misses += shard->lock.misses();
    }
    return total;
  }

  // Calls `use(entry)` with a copy of each live entry, in no order. The entries of one shard are of
  // one moment. No lock is held during the calls.
  template <class Use>
  void for_each(Use use) const {
    const Time now = clock_.now();
    for (const auto& shard : shards_) {
      std::vector<Entry> entries;
      {
        const std::lock_guard lock(shard->lock);
        const Core& core = shard->core;
        for (Slot slot = core.next_live(0, now); slot != kNoSlot;
             slot = core.next_live(slot + 1, now)) {
          entries.push_back(entry_at(*shard, slot, now));
        }
      }
      for (const Entry& entry : entries) use(entry);
    }
  }

  std::size_t shard_count() const { return shards_.size(); }

  // Empty if the structure is sound, else what is wrong. For tests: O(n).
  std::string check_invariants() const {
    std::string wrong;
    for (const auto& shard : shards_) {
      const std::lock_guard lock(shard->lock);
      if (wrong.empty()) wrong = shard->core.check_invariants();
      if (wrong.empty() && !shard->loads.is_sound()) wrong = "a load is kept that is finished";
    }
    return wrong;
  }

 private:
  using Core = internal::CacheCore<Key, Value, Index, Hash, Equal>;
  using Map = typename Core::Map;

  using Shard = internal::CacheShard<Key, Value, Index, Hash, Equal>;
  using Visit = internal::ShardVisit<Shard, RemovalListener<Key, Value>>;

  static constexpr std::size_t kSweepBatch = 256;  // entries removed under one lock

  template <class Use>
  void for_each_core(Use use) const {
    for (const auto& shard : shards_) {
      const std::lock_guard lock(shard->lock);
      use(std::as_const(shard->core));
    }
  }

  // All shards have one secret: the hash also chooses the shard.
  static Options with_hash_seed(Options options) {
    if (options.hash_seed == 0) options.hash_seed = internal::HashCells::random_seed();
    return options;
  }
  template <class Lookup>
  std::uint32_t hash_of(const Lookup& key) const {
    return Map::hash_of(key, options_.hash_seed);
  }

  // The highest bits of the hash choose the shard; the lowest choose the cell in it.
  const Shard& shard_for(std::uint32_t hash) const {
    return *shards_[std::uint64_t{hash} * shards_.size() >> 32];
  }
  Shard& shard_for(std::uint32_t hash) {
    return *shards_[std::uint64_t{hash} * shards_.size() >> 32];
  }

  template <class Lookup, class Work>
  auto at(const Lookup& key, Work work) {
    const std::uint32_t hash = hash_of(key);
    const Time now = clock_.now();
    Shard& shard = shard_for(hash);
    const Visit visit(shard, options_.listener);
    return work(shard, hash, now);
  }

  static Entry entry_at(const Shard& shard, Slot slot, Time now) {
    const Time deadline = shard.core.deadline(slot);
    const auto& entry = shard.core[slot];
    const auto ttl = deadline == kNever ? std::nullopt : std::optional(remaining(deadline, now));
    return {entry.key, entry.value, deadline, ttl, shard.core.is_stale(slot, now)};
  }

  // The sweeper's work: all that is due, a batch of each shard under its lock at a time.
  Time sweep() {
    purge();
    return next_deadline();
  }

  const Clock& clock_;
  const Options options_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<internal::BackgroundThread> sweeper_;  // last: it stops before the shards go
};

}  // namespace mayfly
