// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "cli/files.h"

namespace mayfly {

bool is_terminal(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool wants_colours() {
  // Set to anything but nothing, it says no.
  const char* const wish = std::getenv("NO_COLOR");
  return is_terminal(STDOUT_FILENO) && (wish == nullptr || *wish == '\0');
}

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
