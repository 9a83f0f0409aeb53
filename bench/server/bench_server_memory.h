// SPDX-License-Identifier: Apache-2.0
// How much memory does a field take? By used_memory, so with all that belongs to it: its share of
// the key, of the hash, of the indexes, and of what the allocator rounds up.

#pragma once

#include <vector>

#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

inline constexpr std::size_t kMemoryWordBytes = 13;  // of a field, and of a value

Result<std::vector<MemoryRow>> measure_memory(const ServerBenchPlan& plan, const Clock& clock,
                                              Progress& progress);

// A server rehashes and frees for a moment after the last command. Asked until it says the same
// three times.
Result<double> used_memory(const ServerChild& server);

double memory_work(const ServerBenchPlan& plan);

}  // namespace mayfly
