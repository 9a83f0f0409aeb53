// SPDX-License-Identifier: Apache-2.0
// What does a strategy cost where it is used: as the index of a cache?

#pragma once

#include "bench/cache/bench_results.h"
#include "bench/cache/bench_workload.h"

namespace mayfly {

// One run of every measure that a cache has, with keys and values of 8 bytes and a clock that is
// moved by hand. Instantiated in bench_cache.cc for all strategies.
template <class Index>
Costs measure_cache(const Workload& workload);

}  // namespace mayfly
