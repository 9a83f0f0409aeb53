// SPDX-License-Identifier: Apache-2.0
// The comparison as a person reads it on a terminal: tables of costs, lateness drawn over time, and
// whether the bars hold.

#pragma once

#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/cache/bench_results.h"
#include "bench/report/bench_bars.h"
#include "bench/report/machine.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

// All of it.
std::string render_report(const BenchPlan& plan, const BenchResults& results,
                          const Machine& machine, const Colours& colours);

// Its parts. A table of costs; how late each strategy was under one distribution; the bars.
std::string render_costs(const Comparison& comparison, const Colours& colours);
std::string render_lateness(const LatenessComparison& comparison, const Colours& colours);
std::string render_bars(const BenchResults& results, const Colours& colours);

// A line that says whether it holds.
std::string render_bar(const Bar& bar, const Colours& colours);

// "0", "12 ms" or "3.5 s".
std::string duration_text(Millis duration);

// The values as a row of `width` small columns; a column of full height is `full`, a dot is zero.
// Where several values fall into one column, the greatest counts.
std::string sparkline(const std::vector<double>& values, double full, std::size_t width);

}  // namespace mayfly
