// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_tables.h"

#include <fmt/format.h>

namespace mayfly {

using Cell = TextTable::Cell;

std::string number_text(std::optional<double> number, double unit) {
  if (!number) return "-";
  const double value = *number / unit;
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "-";
}

std::string heading(std::string_view title, std::string_view how, const Colours& colours) {
  return fmt::format("\n{}\n{}\n\n", colours.apply(title, Emphasis::strong),
                     colours.apply(how, Emphasis::weak));
}

Cell verdict(bool is_judged, bool holds) {
  if (!is_judged) return {"-"};
  return holds ? Cell{"ok", Emphasis::good} : Cell{"MISSED", Emphasis::bad};
}

std::vector<Cell> latency_cells(const std::string& name, const ReplyTimes& latency) {
  return {{name},
          {std::to_string(latency.count)},
          {number_text(latency.p50_us)},
          {number_text(latency.p99_us)},
          {number_text(latency.p999_us), Emphasis::strong},
          {number_text(latency.max_us)}};
}

TextTable latency_table(std::string title) {
  return TextTable({{std::move(title), ""},
                    {"count", ""},
                    {"p50", "us"},
                    {"p99", "us"},
                    {"p99.9", "us"},
                    {"max", "us"}});
}

}  // namespace mayfly
