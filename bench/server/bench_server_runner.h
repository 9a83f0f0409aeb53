// SPDX-License-Identifier: Apache-2.0
// Does what a plan of `mayfly bench server` says, part by part, each with fresh servers.

#pragma once

#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

// What must be installed is; and whether there is a redis-server. Code::not_found says how to get
// what is missing.
Status find_programs(ServerBenchPlan& plan);

Result<ServerResults> run_server_plan(const ServerBenchPlan& plan, Progress& progress);

// In the unit of the progress that run_server_plan() makes.
double total_work(const ServerBenchPlan& plan);

}  // namespace mayfly
