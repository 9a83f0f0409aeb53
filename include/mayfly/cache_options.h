// SPDX-License-Identifier: Apache-2.0
// What can be chosen when a cache is made, and what it counts.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "mayfly/expiry.h"
#include "mayfly/removal.h"

namespace mayfly {

// How expired entries that are not read any more are removed. Reads are exact in each mode.
enum class Cleanup {
  manual,   // you do, by calling purge(limit)
  passive,  // every put (and what get_or_load puts) removes a little; what expires last stays
            // until the next one
  active,   // a thread that sleeps until the next deadline. ShardedCache only
};

template <class Key, class Value>
struct CacheOptions {
  // --- Options that change behaviour.

  // For put() without an expiry of its own. REQUIRES: neither Expiry() nor Expiry::unchanged().
  Expiry default_expiry = Expiry::never();

  // Makes the TTL of each put() longer or shorter by up to this much, evenly and reproducibly from
  // `seed`. What expire() sets stays exact.
  double jitter_percent = 0;
  std::uint64_t seed = 1;

  // Mixed into the hash of every key, so that an attacker who chooses keys cannot make them collide
  // in the hash table. 0: a secret one, chosen when the cache is made. (Keys that
  // std::hash gives one and the same number stay together: give the cache a better Hash.)
  std::uint64_t hash_seed = 0;

  // How long one caller of ShardedCache::get_or_load() may take to load a value, before the next
  // one loads it, too; then what the first brings is not put. Choose it longer than a load takes:
  // where loads are slower and callers never cease, nothing that is loaded would ever be put.
  Millis refresh_lease = std::chrono::seconds(10);

  // How long after a failed load of a stale value get_or_load() only returns the old one, before
  // a caller loads again: so a source that is down is not asked by every call. 0: the next call
  // loads.
  Millis retry_after = std::chrono::seconds(1);

  // The most entries, and the most weight, that the cache holds; 0 means no limit. When it is full,
  // entries that have expired go first, then what was not read for long (see sieve.h).
  std::size_t max_entries = 0;
  std::size_t max_weight = 0;

  // The weight of an entry, in bytes or whatever max_weight counts. Asked once for each put.
  // REQUIRES: there is one if max_weight is set; otherwise the program ends with a message.
  std::function<std::size_t(const Key&, const Value&)> weigher = {};

  // Called for every entry that is removed; see removal.h. Not called by the destructor.
  RemovalListener<Key, Value> listener = {};

  // --- Options that change only when the work is done.

  Cleanup cleanup = Cleanup::passive;

  // The most entries that one write removes in the passive mode. More returns memory sooner after a
  // mass expiry; fewer bounds what one write can cost.
  std::size_t purge_per_write = 32;
};

struct CacheStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;   // of absent and of expired keys
  std::uint64_t expired = 0;  // removals for each cause
  std::uint64_t replaced = 0;
  std::uint64_t erased = 0;
  std::uint64_t evicted = 0;
  std::uint64_t cleared = 0;
  std::uint64_t loads = 0;              // calls of a loader that returned a value
  std::uint64_t load_failures = 0;      // calls of a loader that threw
  std::uint64_t listener_failures = 0;  // calls of the listener that threw

  void count(Cause cause);
  CacheStats& operator+=(const CacheStats& other);
};

}  // namespace mayfly
