// SPDX-License-Identifier: Apache-2.0
// What Mayfly is expected to reach, and whether these results do: one table for all suites.

#pragma once

#include <string>
#include <vector>

#include "bench/report/results.h"

namespace mayfly::bench {

struct Verdict {
  std::string text;        // what was measured, and the goal
  bool is_judged = false;  // false if fewer entries were measured than the goal speaks of
  bool is_reached = false;
};

// For each goal that these results can answer, the worst of the cases it applies to.
std::vector<Verdict> judge(const Results& results);

}  // namespace mayfly::bench
