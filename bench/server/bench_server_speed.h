// SPDX-License-Identifier: Apache-2.0
// How fast is the server? redis-benchmark against it and against redis-server, in turn.

#pragma once

#include <string_view>
#include <vector>

#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

inline constexpr int kSpeedClients = 50;
inline constexpr int kSpeedPipeline = 32;

Result<std::vector<SpeedRow>> measure_speed(const ServerBenchPlan& plan, Progress& progress);

// Makes all keys and fields exist before anything is measured, so that it makes no difference which
// workload runs first, or how many requests there are.
Status fill_for_speed(const ServerChild& server, std::size_t keys);

// One run of what `row` says, with `other` if the server is not ours.
Result<SpeedRun> run_benchmark(const ServerChild& server, const SpeedRow& row,
                               std::size_t requests);

// Requests a second, out of what `redis-benchmark --csv` prints for one test: with a line of titles
// (since 7.0) or without. What is printed before it does no harm.
Result<double> parse_benchmark_csv(std::string_view text);

// In the unit of the progress, which is seconds, about.
double speed_work(const ServerBenchPlan& plan);

}  // namespace mayfly
