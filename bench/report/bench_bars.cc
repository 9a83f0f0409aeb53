// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bench_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/cache/bench_plan.h"
#include "bench/cache/strategies.h"

namespace mayfly {
namespace {

constexpr std::size_t kReference = 1'000'000;
constexpr double kExpireFactor = 4;
constexpr double kCycleFactor = 1;
constexpr double kBytes = 16;
constexpr double kWindowMs = 999;  // a window, less the millisecond that it ends at

// The worst value of something over the distributions, and where it was.
struct Worst {
  double value;
  Distribution distribution;
};

// Asks `value_of(comparison)` of each comparison of a layer at the reference size. The worst is the
// greatest value, or the least where more is better.
template <class ValueOf>
std::optional<Worst> worst(const BenchResults& results, Layer layer, bool more_is_better,
                           ValueOf value_of) {
  std::optional<Worst> found;
  const std::size_t size = reference_size(results);
  for (const Comparison& comparison : results.comparisons) {
    if (comparison.layer != layer || comparison.size != size) continue;
    const std::optional<double> value = value_of(comparison);
    if (!value) continue;
    if (!found || (more_is_better ? *value < found->value : *value > found->value)) {
      found = Worst{*value, comparison.distribution};
    }
  }
  return found;
}

// How many times the heap's cost a strategy's is.
std::optional<double> cost_ratio(const Comparison& comparison, std::string_view strategy,
                                 Measure measure) {
  const Costs* const own = comparison.find(strategy);
  const Costs* const heap = comparison.find("heap");
  if (own == nullptr || heap == nullptr || !(*own)[measure] || !(*heap)[measure]) return {};
  return *(*own)[measure] / *(*heap)[measure];
}

void judge_speed(const BenchResults& results, const Strategy& strategy, std::vector<Bar>& bars) {
  const std::string size = size_title(reference_size(results));
  const bool is_judged = reference_size(results) == kReference;
  const auto expire = worst(results, Layer::index, true, [&](const Comparison& comparison) {
    const auto ratio = cost_ratio(comparison, strategy.name, Measure::expire);
    return ratio ? std::optional(1 / *ratio) : std::nullopt;
  });
  if (expire) {
    bars.push_back({fmt::format("{} expires {:.1f}x as many entries a second as the heap at {} "
                                "({}; bar: {:.0f}x)",
                                strategy.title, expire->value, size,
                                name_of(expire->distribution).name, kExpireFactor),
                    expire->value, kExpireFactor, expire->value >= kExpireFactor, is_judged});
  }
  const auto cycle = worst(results, Layer::index, false, [&](const Comparison& comparison) {
    return cost_ratio(comparison, strategy.name, Measure::cycle);
  });
  if (cycle) {
    bars.push_back({fmt::format("{} schedules, moves and cancels at {:.2f}x the heap's cost at {} "
                                "({}; bar: {:.0f}x)",
                                strategy.title, cycle->value, size,
                                name_of(cycle->distribution).name, kCycleFactor),
                    cycle->value, kCycleFactor, cycle->value <= kCycleFactor, is_judged});
  }
}

void judge_memory(const BenchResults& results, const Strategy& strategy, std::vector<Bar>& bars) {
  const auto bytes = worst(results, Layer::cache, false,
                           [&](const Comparison& comparison) -> std::optional<double> {
                             const Costs* const costs = comparison.find(strategy.name);
                             return costs != nullptr ? (*costs)[Measure::bytes] : std::nullopt;
                           });
  if (!bytes) return;
  bars.push_back({fmt::format("{}, the default, takes {:.1f} bytes an entry in the cache at {} "
                              "({}; bar: {:.0f})",
                              strategy.title, bytes->value, size_title(reference_size(results)),
                              name_of(bytes->distribution).name, kBytes),
                  bytes->value, kBytes, bytes->value <= kBytes,
                  reference_size(results) == kReference});
}

void judge_lateness(const BenchResults& results, std::string_view name, double bar,
                    std::vector<Bar>& bars) {
  std::optional<Millis> latest;
  for (const LatenessComparison& comparison : results.lateness) {
    for (const LatenessComparison::Row& row : comparison.rows) {
      if (row.strategy == name) latest = std::max(latest.value_or(Millis(0)), row.lateness.max);
    }
  }
  if (!latest) return;
  const auto measured = static_cast<double>(latest->count());
  bars.push_back({fmt::format("{} removes what is due {:.0f} ms late at most (bar: {:.0f} ms)",
                              strategy_named(name).title, measured, bar),
                  measured, bar, measured <= bar, true});
}

}  // namespace

std::size_t reference_size(const BenchResults& results) {
  std::optional<std::size_t> best;
  for (const Comparison& comparison : results.comparisons) {
    const std::size_t size = comparison.size;
    const bool is_better =
        !best || (size <= kReference && size > *best) || (*best > kReference && size < *best);
    if (is_better) best = size;
  }
  return best.value_or(0);
}

std::vector<Bar> judge(const BenchResults& results) {
  std::vector<Bar> bars;
  for (const std::string_view name : {"wheel", "volatile-set"}) {
    judge_speed(results, strategy_named(name), bars);
  }
  for (const Strategy& strategy : strategies()) {
    if (strategy.is_default) judge_memory(results, strategy, bars);
  }
  judge_lateness(results, "wheel", 0, bars);
  judge_lateness(results, "volatile-set", 0, bars);
  judge_lateness(results, "windows", kWindowMs, bars);
  return bars;
}

}  // namespace mayfly
