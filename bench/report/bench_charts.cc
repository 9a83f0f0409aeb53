// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bench_charts.h"

#include <fmt/format.h>

#include "bench/cache/bench_plan.h"
#include "bench/cache/strategies.h"
#include "bench/report/bar_chart.h"
#include "bench/report/bench_bars.h"
#include "bench/report/line_chart.h"

namespace mayfly {
namespace {

// The comparisons of a layer at the reference size, one for each distribution.
std::vector<const Comparison*> comparisons_of(const BenchResults& results, Layer layer) {
  std::vector<const Comparison*> found;
  for (const Comparison& comparison : results.comparisons) {
    if (comparison.layer == layer && comparison.size == reference_size(results)) {
      found.push_back(&comparison);
    }
  }
  return found;
}

// Colours belong to strategies, so that they mean the same in all charts.
template <class Rows>
std::vector<BarChart::Series> series_of(const Rows& rows) {
  std::vector<BarChart::Series> series;
  for (const auto& row : rows) {
    const Strategy& strategy = strategy_named(row.strategy);
    series.push_back({std::string(strategy.title), std::string(strategy.colour)});
  }
  return series;
}

BarChart::Group group_of(std::string name, const Comparison& comparison, Measure measure,
                         std::optional<double> (*convert)(double) = nullptr) {
  BarChart::Group group{std::move(name), {}};
  for (const Comparison::Row& row : comparison.rows) {
    std::optional<double> value = row.costs[measure];
    if (value && convert != nullptr) value = convert(*value);
    group.values.push_back(value);
  }
  return group;
}

std::string conditions(const Comparison& comparison) {
  return fmt::format("{} entries, {}; index alone", size_title(comparison.size),
                     name_of(comparison.distribution).title);
}

Chart cost_chart(const Comparison& comparison) {
  BarChart chart;
  chart.title = "What does an operation cost?";
  chart.subtitle = conditions(comparison) + "; shorter is better";
  chart.axis = "nanoseconds an operation";
  chart.is_logarithmic = true;
  chart.series = series_of(comparison.rows);
  chart.groups = {group_of("insert", comparison, Measure::insert),
                  group_of("change", comparison, Measure::change),
                  group_of("cancel", comparison, Measure::cancel),
                  group_of("cycle", comparison, Measure::cycle),
                  group_of("expire", comparison, Measure::expire)};
  return {"cost.svg", chart.render()};
}

Chart expiry_chart(const std::vector<const Comparison*>& comparisons) {
  BarChart chart;
  chart.title = "How fast is everything removed when all of it is due at once?";
  chart.subtitle = fmt::format("{} entries, by distribution of TTLs; index alone; longer is better",
                               size_title(comparisons.front()->size));
  chart.axis = "million entries a second";
  chart.series = series_of(comparisons.front()->rows);
  for (const Comparison* comparison : comparisons) {
    chart.groups.push_back(group_of(std::string(name_of(comparison->distribution).name),
                                    *comparison, Measure::expire,
                                    [](double ns) { return std::optional(1e3 / ns); }));
  }
  return {"mass_expiry.svg", chart.render()};
}

Chart memory_chart(const Comparison& index, const Comparison& cache) {
  BarChart chart;
  chart.title = "How much memory does a deadline take?";
  chart.subtitle = fmt::format(
      "{} entries, {}; in the cache: beyond key, value and hash slot; shorter is better",
      size_title(index.size), name_of(index.distribution).title);
  chart.axis = "bytes an entry";
  chart.series = series_of(index.rows);
  chart.groups = {group_of("index alone", index, Measure::bytes),
                  group_of("in the cache", cache, Measure::bytes)};
  chart.mark = 16;
  chart.mark_name = "16 bytes";
  return {"memory.svg", chart.render()};
}

std::string conditions(const LatenessComparison& comparison) {
  return fmt::format("{} keys, {} TTLs, {} s of virtual time", size_title(comparison.keys),
                     name_of(comparison.distribution).name,
                     comparison.length / std::chrono::seconds(1));
}

Chart lateness_chart(const LatenessComparison& comparison) {
  BarChart chart;
  chart.title = "How long after its deadline is an entry removed?";
  chart.subtitle = conditions(comparison) + "; shorter is better";
  chart.axis = "milliseconds late";
  chart.is_logarithmic = true;
  chart.series = series_of(comparison.rows);
  chart.groups = {{"median", {}}, {"99 %", {}}, {"worst", {}}};
  for (const auto& row : comparison.rows) {
    chart.groups[0].values.push_back(static_cast<double>(row.lateness.p50.count()));
    chart.groups[1].values.push_back(static_cast<double>(row.lateness.p99.count()));
    chart.groups[2].values.push_back(static_cast<double>(row.lateness.max.count()));
  }
  return {"lateness.svg", chart.render()};
}

Chart share_chart(const LatenessComparison& comparison) {
  LineChart chart;
  chart.title = "How much of what is in memory should be gone?";
  chart.subtitle = conditions(comparison) + "; lower is better";
  chart.x_axis = "virtual time, in seconds";
  chart.y_axis = "expired but present, in % of all entries present";
  chart.step = std::chrono::duration<double>(kShareStep).count();
  for (const auto& [name, lateness] : comparison.rows) {
    const Strategy& strategy = strategy_named(name);
    std::vector<double> percent;
    for (const double share : lateness.share) percent.push_back(share * 100);
    chart.series.push_back(
        {std::string(strategy.title), std::string(strategy.colour), std::move(percent)});
  }
  return {"expired_but_present.svg", chart.render()};
}

}  // namespace

std::vector<Chart> make_charts(const BenchResults& results) {
  std::vector<Chart> charts;
  const auto index = comparisons_of(results, Layer::index);
  const auto cache = comparisons_of(results, Layer::cache);
  if (!index.empty()) {
    charts.push_back(cost_chart(*index.front()));
    charts.push_back(expiry_chart(index));
  }
  if (!index.empty() && !cache.empty()) {
    charts.push_back(memory_chart(*index.front(), *cache.front()));
  }
  if (!results.lateness.empty()) {
    charts.push_back(lateness_chart(results.lateness.front()));
    charts.push_back(share_chart(results.lateness.front()));
  }
  return charts;
}

}  // namespace mayfly
