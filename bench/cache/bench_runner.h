// SPDX-License-Identifier: Apache-2.0
// Carries out a plan: every strategy on the same workloads, in turn, and the medians of that.

#pragma once

#include "bench/cache/bench_plan.h"
#include "bench/cache/bench_results.h"
#include "tools/terminal/progress.h"

namespace mayfly {

// The work of a plan, as Progress counts it.
double total_work(const BenchPlan& plan);

// Rounds are interleaved: each strategy runs once before any runs again, so that a disturbance of
// the machine hits them all alike. `progress` is told what is done.
BenchResults run_plan(const BenchPlan& plan, Progress& progress);

}  // namespace mayfly
