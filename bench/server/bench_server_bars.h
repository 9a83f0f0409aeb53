// SPDX-License-Identifier: Apache-2.0
// What the server is expected to reach, and whether it did on this machine.

#pragma once

#include <vector>

#include "bench/report/bench_bars.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"

namespace mayfly {

// How many times redis-server's throughput a command should have.
double speed_bar(const SpeedRow& row);

// How many times redis-server's speed saving and loading should have, its p99.9 a client during
// BGSAVE and BGREWRITEAOF, and its own speed a server with an append-only file.
inline constexpr double kSaveFactor = 1.0;
inline constexpr double kLoadFactor = 1.0;
inline constexpr double kChildFactor = 2.0;
inline constexpr double kAofFactor = 0.8;

// The bars that can be judged by these results, each where it is worst. Where something else was
// measured than they speak of, they are shown but not judged.
std::vector<Bar> judge_server(const ServerBenchPlan& plan, const ServerResults& results);

// Those of persistence and replication, put behind the others.
void judge_persist(const ServerBenchPlan& plan, const PersistResults& results,
                   std::vector<Bar>& bars);

}  // namespace mayfly
