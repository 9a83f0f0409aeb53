// SPDX-License-Identifier: Apache-2.0
// Where the results of a benchmark go: the terminal, a file of data, a directory of charts.

#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "bench/report/bench_charts.h"
#include "mayfly/result.h"

namespace mayfly {

// Where the results go, beside the terminal.
struct BenchOutput {
  std::string json;    // a file, or "-" for the standard output; empty for none
  std::string charts;  // a directory; empty for none
};

// What would fail in the end fails before a minute of work.
Status check_output(const BenchOutput& output);

// Writes them, and says on `log` where they are.
Status write_charts(const std::string& directory, const std::vector<Chart>& charts, std::FILE* log);

}  // namespace mayfly
