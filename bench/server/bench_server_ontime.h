// SPDX-License-Identifier: Apache-2.0
// Is what is due removed on time? Many entries share a deadline, among others that are due much
// later. A subscriber takes the time of each `expired` or `hexpired` event.

#pragma once

#include <vector>

#include "bench/server/bench_server_moment.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

Result<std::vector<OnTimeRow>> measure_on_time(const ServerBenchPlan& plan, const Moments& moments,
                                               Progress& progress);

double on_time_work(const ServerBenchPlan& plan);

}  // namespace mayfly
