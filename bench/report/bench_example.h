// SPDX-License-Identifier: Apache-2.0
// Results made up by hand, for the tests of what reads results: a heap, a wheel that is ten times
// as fast, and a lazy index, at 1 M entries with uniform TTLs.

#pragma once

#include <cstddef>
#include <string_view>

#include "bench/cache/bench_plan.h"
#include "bench/cache/bench_results.h"
#include "bench/report/machine.h"

namespace mayfly::example {

inline Costs costs(double nanoseconds, bool expires, double bytes) {
  Costs result;
  for (const Measure measure :
       {Measure::insert, Measure::change, Measure::cancel, Measure::cycle, Measure::idle}) {
    result[measure] = nanoseconds;
  }
  if (expires) result[Measure::expire] = nanoseconds;
  result[Measure::bytes] = bytes;
  return result;
}

inline Comparison comparison(Layer layer, std::size_t size, Distribution distribution) {
  return {layer,
          size,
          distribution,
          {{"lazy", costs(5, false, 8), 3},
           {"heap", costs(100, true, 32), 3},
           {"wheel", costs(10, true, 16), 2}}};
}

inline LatenessResult lateness(int ms, double share) {
  LatenessResult result;
  result.p50 = Millis(ms / 4);
  result.p99 = Millis(ms / 2);
  result.max = Millis(ms);
  result.expired = 1000;
  result.left = ms > 0 ? 7 : 0;
  result.share = {0, share / 2, share};
  return result;
}

inline BenchResults results(std::size_t size = 1'000'000) {
  BenchResults all;
  all.comparisons = {comparison(Layer::index, size, Distribution::uniform),
                     comparison(Layer::cache, size, Distribution::uniform)};
  all.lateness = {
      {Distribution::uniform,
       100'000,
       Millis(90'000),
       {{"lazy", lateness(80'000, 0.8)}, {"heap", lateness(0, 0)}, {"wheel", lateness(0, 0)}}}};
  all.seconds = 12.5;
  return all;
}

inline Machine machine() {
  return {.processor = "Example \"9000\"",
          .cores = 2,
          .compiler = "g++ 12",
          .version = "1.2.3",
          .has_assertions = false};
}

inline BenchPlan plan() { return *make_plan({.sizes = "1m", .strategies = "lazy,heap,wheel"}); }

}  // namespace mayfly::example
