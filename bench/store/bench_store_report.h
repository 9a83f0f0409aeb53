// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench store` found, as a person reads it on a terminal, and as a program does.

#pragma once

#include <string>

#include "bench/report/bench_charts.h"
#include "bench/report/machine.h"
#include "bench/store/bench_store_plan.h"
#include "bench/store/bench_store_results.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

// All of it, for people.
std::string render_store_report(const StoreBenchPlan& plan, const StoreResults& results,
                                const Machine& machine, const Colours& colours);

// Its parts: the rates with values of one size; the file under churn; the systems that are missing.
std::string render_store_rates(const StoreResults& results, std::size_t value_bytes,
                               const Colours& colours);
std::string render_churn(const ChurnPlan& plan, const ChurnResult& churn, const Colours& colours);
std::string render_missing(const StoreBenchPlan& plan);

// All of it, for programs.
std::string store_to_json(const StoreBenchPlan& plan, const StoreResults& results,
                          const Machine& machine);

// Rates, a picture for each size of values.
std::vector<Chart> make_store_charts(const StoreResults& results);

}  // namespace mayfly
