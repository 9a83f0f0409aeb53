// SPDX-License-Identifier: Apache-2.0
// What does a strategy cost where it is used: as the index of a cache?

#include <cstdint>
#include <type_traits>

#include "bench/cache/costs.h"
#include "bench/cache/strategies.h"
#include "mayfly/cache.h"
#include "mayfly/clock.h"
#include "mayfly/random.h"

namespace mayfly::bench {
namespace {

// What the list of strategies says, and the goal of memory is about.
static_assert(std::is_same_v<Cache<int, int>, Cache<int, int, VolatileSet>>);

template <class Index>
using NumberCache = Cache<std::uint64_t, std::uint64_t, Index>;

// Distinct for distinct numbers, and in no order.
std::uint64_t key_of(std::size_t number) { return Random(number).next(); }

// Lets one entry expire. A wheel files entries by their distance from the time that it knows, which
// is the beginning of the calendar until then.
template <class Index>
void set_time(NumberCache<Index>& cache, ManualClock& clock) {
  cache.put(key_of(0), 0, Millis(1));
  clock.advance(Millis(1));
  cache.purge(kSweepLimit);
  cache.erase(key_of(0));
}

template <class Index>
void put_all(NumberCache<Index>& cache, const Workload& workload) {
  for (std::size_t i = 0; i < workload.size(); ++i) {
    cache.put(key_of(i), i, workload.first[i] - workload.start);
  }
}

template <class Index>
double get_some(NumberCache<Index>& cache, const Workload& workload) {
  std::uint64_t found = 0;
  const double cost = nanoseconds_for_each(workload.some(), [&](Slot i) {
    if (const std::uint64_t* value = cache.get(key_of(i))) found += *value;
  });
  asm volatile("" : : "r"(found));  // used, as far as the compiler can know
  return cost;
}

template <class Index>
double change_some(NumberCache<Index>& cache, const Workload& workload) {
  return nanoseconds_for_each(workload.some(), [&](Slot i) {
    cache.expire(key_of(i), workload.second[i] - workload.start);
  });
}

template <class Index>
double persist_some(NumberCache<Index>& cache, const Workload& workload) {
  return nanoseconds_for_each(workload.some(), [&](Slot i) { cache.persist(key_of(i)); });
}

// Gives all entries deadlines again.
template <class Index>
void undo_persist(NumberCache<Index>& cache, const Workload& workload) {
  for (const Slot i : workload.some()) cache.expire(key_of(i), workload.first[i] - workload.start);
}

// Expiry bookkeeping: what the cache has allocated beyond keys, values and the cells of its hash
// table, for one entry.
template <class Index>
double bookkeeping_bytes(const NumberCache<Index>& cache, std::int64_t allocated,
                         std::size_t size) {
  const std::size_t payload = size * 2 * sizeof(std::uint64_t) + cache.hash_bytes();
  return (static_cast<double>(allocated) - static_cast<double>(payload)) /
         static_cast<double>(size);
}

// Removes all entries, which are due: by sweeps, and by reading what those leave. In nanoseconds
// for each of them. Unlike the index alone, a cache is in use when that happens: a heap has stale
// entries by then.
template <class Index>
double expire_all(NumberCache<Index>& cache, const Workload& workload) {
  const std::size_t stored = cache.stored();
  const std::int64_t start = monotonic_ns();
  while (cache.purge(kSweepLimit) > 0) {
  }
  for (std::size_t i = 0; cache.stored() > 0 && i < workload.size(); ++i) {
    cache.get(key_of(workload.order[i]));
  }
  return static_cast<double>(monotonic_ns() - start) / static_cast<double>(stored);
}

}  // namespace

template <class Index>
Metrics measure_cache(const Workload& workload) {
  const std::size_t size = workload.size();
  ManualClock clock(workload.start - Millis(1));
  Metrics metrics;
  metrics.reserve(8);  // nothing else is allocated while memory is measured

  const std::int64_t before = allocated_bytes();
  NumberCache<Index> cache(clock, {.cleanup = Cleanup::manual});
  set_time(cache, clock);
  metrics.emplace_back("insert_ns", nanoseconds_each(size, [&] { put_all(cache, workload); }));
  metrics.emplace_back("bytes", bookkeeping_bytes(cache, allocated_bytes() - before, size));

  metrics.emplace_back("get_ns", get_some(cache, workload));
  metrics.emplace_back("change_ns", change_some(cache, workload));
  metrics.emplace_back("cancel_ns", persist_some(cache, workload));

  undo_persist(cache, workload);
  const Millis slack = cache.index().slack();
  clock.set(workload.end + (slack == kNoBound ? Millis::zero() : slack));
  metrics.emplace_back("expire_per_second", 1e9 / expire_all(cache, workload));
  return metrics;
}

template Metrics measure_cache<LazyIndex>(const Workload&);
template Metrics measure_cache<DeadlineHeap>(const Workload&);
template Metrics measure_cache<Sampler>(const Workload&);
template Metrics measure_cache<WindowQueue>(const Workload&);
template Metrics measure_cache<TimerWheel>(const Workload&);
template Metrics measure_cache<VolatileSet>(const Workload&);
template Metrics measure_cache<DeadlineTree>(const Workload&);

}  // namespace mayfly::bench
