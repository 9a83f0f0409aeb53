// SPDX-License-Identifier: Apache-2.0
// The part of the report that is about lateness: percentiles, and a drawing of what is present
// though due, over time. Declared in bench_report.h.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/cache/strategies.h"
#include "bench/report/bench_report.h"

namespace mayfly {
namespace {

constexpr std::size_t kSparkWidth = 32;

double peak_of(const LatenessResult& lateness) {
  return lateness.share.empty() ? 0 : *std::ranges::max_element(lateness.share);
}

std::string percent_text(double share) {
  if (share == 0) return "0";
  return fmt::format("{:.{}f} %", share * 100, share < 0.0995 ? 1 : 0);
}

}  // namespace

std::string render_lateness(const LatenessComparison& comparison, const Colours& colours) {
  double full = 0;
  for (const auto& row : comparison.rows) full = std::max(full, peak_of(row.lateness));

  std::string text = colours.apply(
      fmt::format("How late is what is due removed? {}", name_of(comparison.distribution).name),
      Emphasis::strong);
  text += fmt::format(
      "\n  {} keys at first; then one put and one read every ms, for {} s of virtual time\n\n",
      size_title(comparison.keys), comparison.length / std::chrono::seconds(1));

  TextTable table({{"", ""},
                   {"p50", ""},
                   {"p99", ""},
                   {"max", ""},
                   {pad_right("due, and still there, over time", kSparkWidth), ""},
                   {"peak", ""},
                   {"left", ""}});
  for (const auto& [name, lateness] : comparison.rows) {
    table.add_row({{std::string(strategy_named(name).title)},
                   {duration_text(lateness.p50)},
                   {duration_text(lateness.p99)},
                   {duration_text(lateness.max)},
                   {sparkline(lateness.share, full, kSparkWidth)},
                   {percent_text(peak_of(lateness))},
                   {fmt::format("{}", lateness.left)}});
  }
  return text + table.render(colours);
}

std::string duration_text(Millis duration) {
  if (duration == Millis::zero()) return "0";
  if (duration < std::chrono::seconds(1)) return fmt::format("{} ms", duration.count());
  return fmt::format("{:.1f} s", static_cast<double>(duration.count()) / 1000);
}

std::string sparkline(const std::vector<double>& values, double full, std::size_t width) {
  constexpr std::array<std::string_view, 9> kHeights = {"·", "▁", "▂", "▃", "▄",
                                                        "▅", "▆", "▇", "█"};
  std::string line;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t begin = i * values.size() / width;
    const std::size_t end = std::max(begin + 1, (i + 1) * values.size() / width);
    double peak = 0;
    for (std::size_t j = begin; j < std::min(end, values.size()); ++j) {
      peak = std::max(peak, values[j]);
    }
    const double height = full > 0 ? std::clamp(peak / full, 0.0, 1.0) : 0;
    line += kHeights[static_cast<std::size_t>(std::ceil(height * 8))];
  }
  return line;
}

}  // namespace mayfly
