// SPDX-License-Identifier: Apache-2.0
// The strategies that are compared: one row each, with everything that can be done to them.
//
// To add an index to the comparison, add a row in strategies.cc, and its name where bench_index.cc,
// bench_cache.cc and bench_lateness.cc instantiate theirs.

#pragma once

#include <span>
#include <string_view>

#include "bench/cache/bench_lateness.h"
#include "bench/cache/bench_results.h"
#include "bench/cache/bench_workload.h"

namespace mayfly {

struct Strategy {
  std::string_view name;   // on the command line and in JSON
  std::string_view title;  // in tables and charts
  std::string_view idea;   // in a few words
  std::string_view
      colour;       // in charts: of the palette by Okabe and Ito, which all eyes can tell apart
  bool sweeps;      // removes entries that nobody reads
  bool is_default;  // what Cache uses unless told otherwise

  Costs (*measure_index)(const Workload&);
  Costs (*measure_cache)(const Workload&);
  LatenessResult (*simulate)(const Traffic&);
};

// All of them, in the order in which they are shown.
std::span<const Strategy> strategies();

// REQUIRES: there is a strategy of that name.
const Strategy& strategy_named(std::string_view name);

}  // namespace mayfly
