// SPDX-License-Identifier: Apache-2.0
// What the store is expected to reach beside other systems, and whether it did on this machine.

#pragma once

#include <vector>

#include "bench/report/bench_bars.h"
#include "bench/store/bench_store_results.h"

namespace mayfly {

// The bars that can be judged by these results, each by the size of values at which it is worst.
// They speak of 1 M keys; with another number they are shown but not judged.
std::vector<Bar> judge_store(const StoreResults& results);

}  // namespace mayfly
