// SPDX-License-Identifier: Apache-2.0
// Cache: a hash map whose entries expire. For one thread; ShardedCache is for many.
//
//   SteadyClock clock;
//   Cache<std::string, Session> sessions(clock, {.default_expiry = 30min, .max_entries = 100'000});
//
//   sessions.put("alice", session);                      // for 30 minutes
//   sessions.put("token", token, 90s);                   // a TTL of its own; see expiry.h for more
//   if (const Session* found = sessions.get("alice")) use(*found);
//   sessions.expire("alice", 1h, When::later);           // only if that is later than it is now
//
// Time: each call reads the clock once. An entry whose deadline is not after that moment does not
// exist, to any call and to iteration, whether or not it has been removed. See docs/time.md.
//
// Memory: a read (get, find, get_or_load) that meets an expired entry removes it, and a put
// replaces it; contains, expire, persist and erase leave it for the sweep, which is done as
// CacheOptions::cleanup says. There is no thread here; next_deadline() tells an event loop of yours
// when purge() has work.
//
// Choosing an index: VolatileSet is the default; docs/expiry_indexes.md compares them.
//
// Cost: get() of a live key takes at most 1.3 times the instructions of the bare hash map's find
// (tests/cache_get_test.py, with a ManualClock); an entry with a deadline takes at most 16 bytes
// beyond its key, value and hash cell.

#pragma once

#include "mayfly/internal/language.h"  // first: it says what is wrong with an older language
//
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "mayfly/clock.h"
#include "mayfly/internal/cache_core.h"
#include "mayfly/internal/listener_queue.h"
#include "mayfly/internal/loads_in_progress.h"
#include "mayfly/volatile_set.h"

namespace mayfly {

template <class Key, class Value, ExpiryIndex Index = VolatileSet, class Hash = KeyHash<Key>,
          class Equal = std::equal_to<>>
class Cache {
  static_assert(internal::HashFor<Hash, Key>, MAYFLY_NO_HASH);
  static_assert(internal::EqualFor<Equal, Key>, MAYFLY_NO_EQUAL);

 public:
  using Options = CacheOptions<Key, Value>;

  // What iteration and find() show.
  struct Entry {
    const Key& key;
    const Value& value;
    Time deadline;              // kNever if it has none
    std::optional<Millis> ttl;  // what is left of it; nothing if it has none
    bool is_stale = false;      // get_or_load() would load it anew
  };

  // `clock` must outlive the cache. REQUIRES: options.cleanup is not active, which needs a thread
  // and therefore locks: take a ShardedCache.
  explicit Cache(const Clock& clock, Options options = {}, Index index = Index())
      : clock_(clock), options_(std::move(options)), core_(options_, std::move(index)) {
    if (options_.cleanup == Cleanup::active) {
      // Also without assertions: it would look like a cache that is cleaned, and leak.
      std::fputs("mayfly::Cache has no thread for Cleanup::active; take a ShardedCache\n", stderr);
      std::abort();
    }
    choose_word();
  }
  // A temporary clock would be gone before the cache is used: give it a name.
  explicit Cache(const Clock&& clock, Options options = {}, Index index = Index()) = delete;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // --- Reading. A pointer or reference to a value is good until its entry is removed or replaced;
  // --- other calls do not move it.

  // The value of `key`, or null.
  template <class Lookup>
  const Value* get(const Lookup& key) {
    // Where the time is a word to read and a hit leaves no trace, all is done here. Everything else
    // is in calls of its own, which end this one: to inline them, the compiler would have to save
    // and restore more registers than the whole lookup needs.
    const auto* const entry = core_.lookup(key, core_.hash_of(key));
    if (entry == nullptr) [[unlikely]]
      return miss();
    if (is_due(entry->cell.deadline, Time(Millis(word_->load(std::memory_order_relaxed)))))
        [[unlikely]] {
      return get_found(*entry);
    }
    ++core_.stats().hits;
    return &entry->value;
  }

  // The value with its deadline and remaining TTL, or nothing.
  template <class Lookup>
  std::optional<Entry> find(const Lookup& key) {
    const Time now = clock_.now();
    const Slot slot = core_.get(key, core_.hash_of(key), now);
    if (core_.has_removals()) deliver();
    if (slot == kNoSlot) return std::nullopt;
    return entry_at(slot, now);
  }

  // Whether the key is there. Does not count as a read: no TTL slides, no statistics change.
  template <class Lookup>
  bool contains(const Lookup& key) const {
    return core_.peek(key, core_.hash_of(key), clock_.now()) != kNoSlot;
  }

  // --- Writing.

  // Puts a value, replacing the value and the deadline that `key` had. Returns false if it cannot
  // be kept, being heavier than max_weight.
  bool put(Key key, Value value, const Expiry& expiry = {}) {
    loads_.supersede(key);
    return put_now(std::move(key), std::move(value), expiry);
  }

  // Changes the deadline, if `when` allows it. Returns whether it did. The value stays.
  template <class Lookup>
  bool expire(const Lookup& key, const Expiry& expiry, When when = When::always) {
    const bool is_done =
        with(key, [&](Slot slot, Time now) { return core_.expire(slot, expiry, when, now); });
    if (is_done) loads_.supersede(key);
    choose_word();
    return is_done;
  }

  // Makes the entry permanent. Returns whether it was there and had a deadline.
  template <class Lookup>
  bool persist(const Lookup& key) {
    const bool is_done = with(key, [&](Slot slot, Time now) { return core_.persist(slot, now); });
    if (is_done) loads_.supersede(key);
    return is_done;
  }

  // Returns whether the key was there.
  template <class Lookup>
  bool erase(const Lookup& key) {
    loads_.supersede(key);
    const bool was_there = with(key, [&](Slot slot, Time now) {
      core_.remove(slot, Cause::erased, now);
      return true;
    });
    if (core_.has_removals()) deliver();
    return was_there;
  }

  void clear() {
    loads_.supersede_all();
    core_.clear(clock_.now());
    deliver();
  }

  // The value of `key`; if there is none, the one that `load(key)` returns, which is put, unless
  // `load` itself has changed the key. Where the value is stale
  // (Expiry::stale_for) it is loaded anew; if that throws, the old one is returned, and again for
  // CacheOptions::retry_after. What `load` throws for an absent key goes to the caller, and nothing
  // is put. See docs/stale.md.
  template <class Load>
  Value get_or_load(const Key& key, Load load, const Expiry& expiry = {}) {
    const Time now = clock_.now();
    const Slot slot = core_.get(key, core_.hash_of(key), now);
    if (core_.has_removals()) deliver();
    if (slot != kNoSlot && !core_.wants_load(slot, now)) return core_[slot].value;

    std::optional<Value> old;
    if (slot != kNoSlot) {
      old = core_[slot].value;
      if (loads_.find(key, Time::min()) != nullptr) return *std::move(old);  // its loader asks
    }
    return run_load(loads_.start(key, kNever), std::move(old), load, expiry);
  }

  // --- Cleaning up.

  // Removes at most `limit` entries that have expired, and returns how many. Costs O(1) if there
  // are none.
  std::size_t purge(std::size_t limit = ~std::size_t{0}) {
    const std::size_t purged = core_.purge(clock_.now(), limit);
    if (core_.has_removals()) deliver();
    return purged;
  }

  // When purge() will next have something to do; kNever if nothing has a deadline.
  Time next_deadline() const { return core_.next_deadline(); }

  // --- Looking at all of it.

  // The number of live entries, exactly.
  std::size_t size() const { return core_.size(clock_.now()); }
  bool empty() const { return size() == 0; }

  // The number of entries in memory, those that have expired and are not yet removed included.
  std::size_t stored() const { return core_.stored(); }
  std::size_t weight() const { return core_.weight(); }

  CacheStats stats() const { return core_.stats(); }
  const Index& index() const { return core_.index(); }

  // What the hash table takes, in bytes.
  std::size_t hash_bytes() const { return core_.cell_bytes(); }

  // Iteration in no order: `for (const auto& entry : cache)`. The clock is read once, at begin().
  // The cache must not be changed meanwhile.
  class Iterator {
   public:
    Entry operator*() const { return cache_->entry_at(slot_, now_); }
    Iterator& operator++() {
      slot_ = cache_->core_.next_live(slot_ + 1, now_);
      return *this;
    }
    bool operator==(const Iterator& other) const { return slot_ == other.slot_; }

   private:
    friend class Cache;
    Iterator(const Cache* cache, Slot slot, Time now) : cache_(cache), slot_(slot), now_(now) {}
    const Cache* cache_;
    Slot slot_;
    Time now_;
  };

  Iterator begin() const {
    const Time now = clock_.now();
    return Iterator(this, core_.next_live(0, now), now);
  }
  Iterator end() const { return Iterator(this, kNoSlot, Time()); }

  // Empty if the structure is sound, else what is wrong. For tests: O(n).
  std::string check_invariants() const { return core_.check_invariants(); }

 private:
  using Core = internal::CacheCore<Key, Value, Index, Hash, Equal>;
  using Map = typename Core::Map;
  using Loads = internal::LoadsInProgress<Key, Value, Equal>;

  [[gnu::noinline]] const Value* miss() {
    ++core_.stats().misses;
    return nullptr;
  }

  // The rest of get(), for a clock that must be asked, for what is due, and for what must be noted.
  [[gnu::noinline]] const Value* get_found(const typename Map::Entry& entry) {
    const auto has_passed = [this](Time deadline) { return clock_.has_passed(deadline); };
    if (core_.is_plain() && !has_passed(entry.cell.deadline)) {
      ++core_.stats().hits;
      return &entry.value;
    }
    const std::uint32_t hash = core_.hash_of(entry.key);
    Slot slot = core_.get_live(entry.key, hash, has_passed);
    if (slot == kNoSlot) slot = core_.get(entry.key, hash, clock_.now());
    if (core_.has_removals()) deliver();
    return slot == kNoSlot ? nullptr : &core_[slot].value;
  }

  bool put_now(Key key, Value value, const Expiry& expiry) {
    const std::uint32_t hash = core_.hash_of(key);
    const bool is_kept = core_.put(std::move(key), hash, std::move(value), expiry, clock_.now());
    choose_word();
    if (core_.has_removals()) deliver();
    return is_kept;
  }

  template <class Load>
  Value run_load(typename Loads::Load& own, std::optional<Value> old, Load& load,
                 const Expiry& expiry) {
    const Key& key = own.key;
    const typename Loads::End end(loads_, own);
    std::optional<Value> value;
    try {
      value.emplace(load(key));
      ++core_.stats().loads;
      if (!own.is_superseded) put_now(key, *value, expiry);
      return *std::move(value);
    } catch (...) {  // also what the weigher throws
      if (!value) ++core_.stats().load_failures;
      const Time now = clock_.now();
      const Slot slot = core_.peek(key, core_.hash_of(key), now);
      if (slot != kNoSlot && !own.is_superseded) core_.load_failed(slot, now);
      if (!old) throw;
      return *std::move(old);
    }
  }

  // The word that get() compares deadlines with: the clock's, as long as a hit need not be noted.
  void choose_word() { word_ = core_.is_plain() ? &clock_.word() : &Clock::kEndOfTime; }

  // What `change` returns for the key's entry; false if it is absent or expired.
  template <class Lookup, class Change>
  bool with(const Lookup& key, Change change) {
    const Time now = clock_.now();
    const Slot slot = core_.peek(key, core_.hash_of(key), now);
    return slot != kNoSlot && change(slot, now);
  }

  Entry entry_at(Slot slot, Time now) const {
    const Time deadline = core_.deadline(slot);
    const auto& entry = core_[slot];
    const auto ttl = deadline == kNever ? std::nullopt : std::optional(remaining(deadline, now));
    return {entry.key, entry.value, deadline, ttl, core_.is_stale(slot, now)};
  }

  void deliver() {
    if (!options_.listener) return;
    core_.stats().listener_failures += queue_.deliver(options_.listener, core_.take_removals());
  }

  const Clock& clock_;
  const Options options_;
  Core core_;
  const std::atomic<std::int64_t>* word_;
  internal::ListenerQueue<Key, Value> queue_;
  Loads loads_;  // one within the other
};

}  // namespace mayfly
