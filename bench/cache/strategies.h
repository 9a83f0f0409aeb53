// SPDX-License-Identifier: Apache-2.0
// The expiry strategies that are compared, and what is measured of each.
//
// To add an index, add a row in expiry_suite.cc, and an instantiation at the end of index_costs.cc,
// cache_costs.cc and lateness.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bench/cache/workload.h"
#include "bench/report/results.h"
#include "mayfly/deadline_heap.h"
#include "mayfly/deadline_tree.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/time.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/volatile_set.h"
#include "mayfly/window_queue.h"

namespace mayfly::bench {

// Due entries are taken in batches of this many, as the cache and the server take them.
inline constexpr std::size_t kSweepLimit = 256;

// One round of every measurement of an index alone, and of a cache with that index, keys and values
// of 8 bytes, and a manual clock. A strategy that never sweeps has no "expire_per_second".
template <class Index>
Metrics measure_index(const Workload& workload);
template <class Index>
Metrics measure_cache(const Workload& workload);

// How late are expired entries removed? A simulation in virtual time, one step a millisecond. At
// first there are `keys` entries; then, in each millisecond, one more is put, the index is swept if
// its next_deadline() has come, and one entry is read at random, which removes it if it is due.
// Sweeping takes no virtual time: the result shows what a strategy defers, not its speed.
struct Traffic {
  std::size_t keys;             // present when it begins
  Millis length;                // of virtual time
  std::uint64_t seed;           // of the reads
  std::vector<Time> deadlines;  // by slot; slots from `keys` on are put one a millisecond
};

// TTLs are those of the workload, scaled so that most entries expire within the run: uniform up to
// two thirds of it; one deadline for all entries put in the same three tenths; half of the
// long-tailed ones below a fiftieth of it.
Traffic make_traffic(std::size_t keys, Millis length, Distribution distribution,
                     std::uint64_t seed);

struct Lateness {
  Millis p50{0};
  Millis p99{0};
  Millis max{0};
  std::size_t expired = 0;    // entries whose deadline passed during the run
  std::size_t left = 0;       // of those, how many were still present at its end
  std::vector<double> share;  // of all entries present, how many had expired; every kShareStep
};
inline constexpr Millis kShareStep{100};

// Entries that are due and still present at the end count with the lateness they have by then.
template <class Index>
Lateness simulate_lateness(const Traffic& traffic);

struct Strategy {
  std::string_view name;  // on the command line and in results
  std::string_view idea;  // in a few words
  Metrics (*measure_index)(const Workload&);
  Metrics (*measure_cache)(const Workload&);
  Lateness (*simulate)(const Traffic&);
};

// All of them, in the order in which they are shown.
std::span<const Strategy> strategies();

}  // namespace mayfly::bench
