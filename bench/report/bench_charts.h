// SPDX-License-Identifier: Apache-2.0
// The comparison as pictures: five charts, each of which answers one question.

#pragma once

#include <string>
#include <vector>

#include "bench/cache/bench_results.h"

namespace mayfly {

struct Chart {
  std::string file_name;
  std::string svg;
};

// About the reference size (see bench_bars.h), and uniform TTLs where one distribution must do.
std::vector<Chart> make_charts(const BenchResults& results);

}  // namespace mayfly
