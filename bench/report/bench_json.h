// SPDX-License-Identifier: Apache-2.0
// The comparison as a program reads it: everything that was measured, unrounded, with what one
// needs to know to measure it again. Keys are stable; new ones may be added.

#pragma once

#include <string>
#include <vector>

#include "bench/cache/bench_plan.h"
#include "bench/cache/bench_results.h"
#include "bench/report/bench_bars.h"
#include "bench/report/machine.h"
#include "tools/json/json.h"

namespace mayfly {

std::string to_json(const BenchPlan& plan, const BenchResults& results, const Machine& machine);

// Members that all benchmarks have: "machine", "bars".
void write_machine(Json& json, const Machine& machine);
void write_bars(Json& json, const std::vector<Bar>& bars);

}  // namespace mayfly
