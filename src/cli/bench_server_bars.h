// SPDX-License-Identifier: Apache-2.0
// What the server is expected to reach, and whether it did on this machine.

#pragma once

#include <vector>

#include "cli/bench_bars.h"
#include "cli/bench_server_plan.h"
#include "cli/bench_server_results.h"

namespace mayfly {

// How many times redis-server's throughput a command should have.
double speed_bar(const SpeedRow& row);

// The bars that can be judged by these results, each where it is worst. Where something else was
// measured than they speak of, they are shown but not judged.
std::vector<Bar> judge_server(const ServerBenchPlan& plan, const ServerResults& results);

}  // namespace mayfly
