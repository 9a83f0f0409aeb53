// SPDX-License-Identifier: Apache-2.0
// What the strategies are expected to reach, and whether they did on this machine.

#pragma once

#include <string>
#include <vector>

#include "bench/cache/bench_results.h"

namespace mayfly {

struct Bar {
  std::string claim;  // with what was measured, and the bar
  double measured;    // at its worst over all distributions
  double bar;
  bool holds;
  bool is_judged = true;  // false where the bar speaks of another size than was measured
};

// The bars that can be judged by these results: at 1 M entries, or else at the size nearest to it.
// Empty if what they speak of was not measured.
std::vector<Bar> judge(const BenchResults& results);

// The size that bars and charts are about: of those measured, the largest up to 1 M, or else the
// least. REQUIRES: something was measured.
std::size_t reference_size(const BenchResults& results);

}  // namespace mayfly
