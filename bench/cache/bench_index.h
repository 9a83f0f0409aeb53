// SPDX-License-Identifier: Apache-2.0
// What does an expiry index cost by itself, apart from the map that it serves?

#pragma once

#include <cstddef>

#include "bench/cache/bench_results.h"
#include "bench/cache/bench_workload.h"

namespace mayfly {

// Due entries are taken in batches of this many, as the cache and the server take them.
inline constexpr std::size_t kSweepLimit = 256;

// One run of every measure that an index has. Costs a few operations for each entry of the
// workload, and as much memory as the index needs. Instantiated in bench_index.cc for all
// strategies.
template <class Index>
Costs measure_index(const Workload& workload);

}  // namespace mayfly
