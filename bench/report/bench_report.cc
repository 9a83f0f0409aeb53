// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "bench/cache/strategies.h"

namespace mayfly {
namespace {

// How a measure is shown.
enum class Show {
  cost,   // nanoseconds or bytes: less is better
  rate,   // millions a second: more is better
  ratio,  // to the heap, in the terms of the column before it
};

struct CostColumn {
  Measure measure;
  Show show;
  std::string_view title;
  std::string_view unit;
};

constexpr CostColumn kIndexColumns[] = {
    {Measure::insert, Show::cost, "insert", "ns"},   {Measure::change, Show::cost, "change", "ns"},
    {Measure::cancel, Show::cost, "cancel", "ns"},   {Measure::cycle, Show::cost, "cycle", "ns"},
    {Measure::cycle, Show::ratio, "vs heap", "x"},   {Measure::expire, Show::rate, "expire", "M/s"},
    {Measure::expire, Show::ratio, "vs heap", "x"},  {Measure::idle, Show::cost, "idle", "ns"},
    {Measure::bytes, Show::cost, "memory", "bytes"},
};

constexpr CostColumn kCacheColumns[] = {
    {Measure::insert, Show::cost, "put", "ns"},      {Measure::get, Show::cost, "get", "ns"},
    {Measure::change, Show::cost, "expire", "ns"},   {Measure::cancel, Show::cost, "persist", "ns"},
    {Measure::expire, Show::rate, "purge", "M/s"},   {Measure::expire, Show::ratio, "vs heap", "x"},
    {Measure::bytes, Show::cost, "memory", "bytes"},
};

std::span<const CostColumn> columns_of(Layer layer) {
  if (layer == Layer::index) return kIndexColumns;
  return kCacheColumns;
}

// The number that a column shows of a strategy.
std::optional<double> shown(const CostColumn& column, const Costs& costs, const Costs* heap) {
  const std::optional<double> cost = costs[column.measure];
  if (!cost) return {};
  if (column.show == Show::cost) return cost;
  if (column.show == Show::rate) return 1e3 / *cost;
  const std::optional<double> base = heap != nullptr ? (*heap)[column.measure] : std::nullopt;
  if (!base) return {};
  return column.measure == Measure::expire ? *base / *cost : *cost / *base;
}

std::string number_text(const CostColumn& column, std::optional<double> value) {
  if (!value) return "-";
  if (column.show == Show::ratio) return fmt::format("{:.{}f}", *value, *value < 1 ? 2 : 1);
  return fmt::format("{:.{}f}", *value, *value < 99.95 ? 1 : 0);
}

// The best number of a column. Lazy does not compete: it is cheap because it leaves work undone.
std::optional<double> best_of(const CostColumn& column, const Comparison& comparison) {
  if (column.show == Show::ratio) return {};
  std::optional<double> best;
  for (const Comparison::Row& row : comparison.rows) {
    const std::optional<double> value = shown(column, row.costs, nullptr);
    if (!value || !strategy_named(row.strategy).sweeps) continue;
    const bool is_better = !best || (column.show == Show::rate ? *value > *best : *value < *best);
    if (is_better) best = value;
  }
  return best;
}

std::string render_head(const BenchPlan& plan, const BenchResults& results, const Machine& machine,
                        const Colours& colours) {
  std::string text = "\n";
  text += colours.apply("Which expiry strategy?", Emphasis::strong);
  text += fmt::format("  Mayfly {} on {}, {} cores\n", machine.version, machine.processor,
                      machine.cores);
  text += plan.rounds == 1 ? "One round" : fmt::format("Medians of up to {} rounds", plan.rounds);
  text += fmt::format(", seed {}, {:.0f} s in all.", plan.seed, results.seconds);
  text += " Best in bold, of those that sweep.\n";
  if (machine.has_assertions) {
    text += colours.apply("Built with assertions: these numbers say nothing.\n", Emphasis::bad);
  }
  text += '\n';
  for (const Strategy* strategy : plan.strategies) {
    text += fmt::format("  {:<13} {}\n", strategy->title, strategy->idea);
  }
  return text;
}

constexpr std::string_view kLegend =
    "\n  cycle: schedule, move and cancel one more entry, while all the others are there\n"
    "  expire, purge: all entries are due at once and are taken in batches of 256\n"
    "  idle: one poll with nothing due, every ms for 10 s; the wheel's include what comes down\n"
    "  memory: bytes an entry; in the cache, those beyond key, value and hash slot\n";

}  // namespace

std::string render_costs(const Comparison& comparison, const Colours& colours) {
  std::vector<TextTable::Column> heads = {
      {comparison.layer == Layer::index ? "index alone" : "in the cache", ""}};
  for (const CostColumn& column : columns_of(comparison.layer)) {
    heads.push_back({std::string(column.title), std::string(column.unit)});
  }
  TextTable table(heads);
  const Costs* const heap = comparison.find("heap");
  for (const Comparison::Row& row : comparison.rows) {
    std::vector<TextTable::Cell> cells = {{std::string(strategy_named(row.strategy).title)}};
    for (const CostColumn& column : columns_of(comparison.layer)) {
      const std::optional<double> value = shown(column, row.costs, heap);
      const bool is_best = value && value == best_of(column, comparison);
      const Emphasis emphasis = column.show == Show::ratio ? Emphasis::weak
                                : is_best                  ? Emphasis::strong
                                                           : Emphasis::none;
      cells.push_back({number_text(column, value), emphasis});
    }
    table.add_row(std::move(cells));
  }
  return table.render(colours);
}

std::string render_bars(const BenchResults& results, const Colours& colours) {
  std::string text;
  for (const Bar& bar : judge(results)) text += render_bar(bar, colours);
  return text;
}

std::string render_bar(const Bar& bar, const Colours& colours) {
  const std::string verdict = !bar.is_judged ? "-     "
                              : bar.holds    ? colours.apply("ok    ", Emphasis::good)
                                             : colours.apply("MISSED", Emphasis::bad);
  return fmt::format("  {}  {}\n", verdict, bar.claim);
}

std::string render_report(const BenchPlan& plan, const BenchResults& results,
                          const Machine& machine, const Colours& colours) {
  std::string text = render_head(plan, results, machine, colours);
  text += colours.apply(kLegend, Emphasis::weak);
  for (const Comparison& comparison : results.comparisons) {
    text += '\n';
    if (comparison.layer == Layer::index) {
      const std::string title = fmt::format("{} entries, {}", size_title(comparison.size),
                                            name_of(comparison.distribution).title);
      text += colours.apply(title, Emphasis::strong);
      text += "\n\n";
    }
    text += render_costs(comparison, colours);
  }
  for (const LatenessComparison& comparison : results.lateness) {
    text += '\n';
    text += render_lateness(comparison, colours);
  }
  const std::string bars = render_bars(results, colours);
  if (bars.empty()) return text;
  text += '\n';
  text += colours.apply("What is expected, and whether it holds here", Emphasis::strong);
  text += " (the worst of all distributions)\n\n";
  text += bars;
  return text;
}

}  // namespace mayfly
