// SPDX-License-Identifier: Apache-2.0
// What does the append-only file cost, synced every second? redis-benchmark against two servers of
// each kind, one with it and one without, in turn.

#pragma once

#include <cstddef>
#include <vector>

#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/result.h"

namespace mayfly {

Result<std::vector<AofRow>> measure_aof(const ServerBenchPlan& plan);

// Of one run of redis-benchmark: some seconds, so that the file is synced a few times.
std::size_t aof_requests(const ServerBenchPlan& plan);

}  // namespace mayfly
