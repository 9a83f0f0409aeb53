// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bench_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "tools/files.h"

namespace mayfly {

Status check_output(const BenchOutput& output) {
  if (!output.charts.empty()) {
    if (const Status status = make_directory(output.charts); !status) return status;
  }
  if (output.json.empty() || output.json == "-") return Done{};
  return check_writable(output.json);
}

Status write_charts(const std::string& directory, const std::vector<Chart>& charts,
                    std::FILE* log) {
  std::string_view before = "\nCharts:";
  for (const Chart& chart : charts) {
    const std::filesystem::path path = std::filesystem::path(directory) / chart.file_name;
    if (const Status status = write_file(path, chart.svg); !status) return status;
    fmt::print(log, "{} {}\n", before, path.string());
    before = "       ";
  }
  return Done{};
}

}  // namespace mayfly
