// SPDX-License-Identifier: Apache-2.0
// Does what a plan of `mayfly bench store` says, system by system and repeat by repeat.

#pragma once

#include <filesystem>

#include "bench/store/bench_store_plan.h"
#include "bench/store/bench_store_results.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

// Works in `directory`, which exists and is empty. Code::corrupt if the systems do not see the same
// entries: then at least one of them did not do what was measured.
Result<StoreResults> run_store_plan(const StoreBenchPlan& plan,
                                    const std::filesystem::path& directory, Progress& progress);

// In the unit of the progress that run_store_plan() makes.
double total_work(const StoreBenchPlan& plan);

}  // namespace mayfly
