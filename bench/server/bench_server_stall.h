// SPDX-License-Identifier: Apache-2.0
// Does the server ever keep its clients waiting? While very many fields expire at once, while a
// database grows, and when it is asked for the length of a hash of which half is due.
//
// All clients here are one thread, which waits for one reply before it asks for the next. So two
// processors are enough for the server and its clients, and what is measured is not the operating
// system that shares them out.

#pragma once

#include <vector>

#include "bench/server/bench_server_moment.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

inline constexpr std::size_t kGrowthBatch = 32;  // SETs in a round

Result<std::vector<StallRow>> measure_stalls(const ServerBenchPlan& plan, const Moments& moments,
                                             Progress& progress);
Result<std::vector<GrowthRow>> measure_growth(const ServerBenchPlan& plan, Progress& progress);
Result<HlenResult> measure_hlen(const ServerBenchPlan& plan, const Moments& moments,
                                Progress& progress);

double stalls_work(const ServerBenchPlan& plan);
double growth_work(const ServerBenchPlan& plan);
double hlen_work(const ServerBenchPlan& plan);

}  // namespace mayfly
