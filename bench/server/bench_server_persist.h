// SPDX-License-Identifier: Apache-2.0
// Does the server keep what it was given, and at what price? All of the part `persist`: files that
// are saved and loaded, clients meanwhile, the append-only file, and replicas.

#pragma once

#include <cstddef>

#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "tools/terminal/progress.h"

namespace mayfly {

// Fields of a hash: more than redis-server keeps packed, and fewer, which it may compress.
inline constexpr std::size_t kPersistShapes[] = {1000, 100};

Result<PersistResults> measure_persist(const ServerBenchPlan& plan, const Clock& clock,
                                       Progress& progress);

// In the unit of the progress, which is seconds, about.
double persist_work(const ServerBenchPlan& plan);

}  // namespace mayfly
