// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bench_json.h"

namespace mayfly {
namespace {

struct MeasureKey {
  Measure measure;
  std::string_view key;
};

constexpr MeasureKey kMeasureKeys[] = {
    {Measure::insert, "insert_ns"}, {Measure::get, "get_ns"},
    {Measure::change, "change_ns"}, {Measure::cancel, "cancel_ns"},
    {Measure::cycle, "cycle_ns"},   {Measure::expire, "expire_ns"},
    {Measure::idle, "idle_ns"},     {Measure::bytes, "bytes_per_entry"},
};
static_assert(std::size(kMeasureKeys) == kMeasures);

void write_plan(Json& json, const BenchPlan& plan) {
  json.member("seed", plan.seed);
  json.member("rounds", plan.rounds);
  json.key("sizes");
  json.open('[');
  for (const std::size_t size : plan.sizes) json.value(std::uint64_t{size});
  json.close(']');
  json.key("distributions");
  json.open('[');
  for (const Distribution distribution : plan.distributions) json.value(name_of(distribution).name);
  json.close(']');
  json.key("strategies");
  json.open('[');
  for (const Strategy* strategy : plan.strategies) json.value(strategy->name);
  json.close(']');
}

// What a layer does not have, or a strategy cannot do, is null.
void write_comparison(Json& json, const Comparison& comparison) {
  json.open('{');
  json.member("layer", comparison.layer == Layer::index ? "index" : "cache");
  json.member("size", std::uint64_t{comparison.size});
  json.member("distribution", name_of(comparison.distribution).name);
  json.key("strategies");
  json.open('[');
  for (const Comparison::Row& row : comparison.rows) {
    json.open('{');
    json.member("name", row.strategy);
    json.member("rounds", std::uint64_t{row.rounds});
    for (const auto& [measure, key] : kMeasureKeys) json.member(key, row.costs[measure]);
    const std::optional<double> expire = row.costs[Measure::expire];
    json.member("expire_entries_per_second", expire ? std::optional(1e9 / *expire) : std::nullopt);
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

void write_lateness(Json& json, const LatenessComparison& comparison) {
  json.open('{');
  json.member("distribution", name_of(comparison.distribution).name);
  json.member("keys", std::uint64_t{comparison.keys});
  json.member("virtual_ms", std::int64_t{comparison.length.count()});
  json.member("share_step_ms", std::int64_t{kShareStep.count()});
  json.key("strategies");
  json.open('[');
  for (const auto& [strategy, lateness] : comparison.rows) {
    json.open('{');
    json.member("name", strategy);
    json.member("p50_ms", std::int64_t{lateness.p50.count()});
    json.member("p99_ms", std::int64_t{lateness.p99.count()});
    json.member("max_ms", std::int64_t{lateness.max.count()});
    json.member("expired", std::uint64_t{lateness.expired});
    json.member("left", std::uint64_t{lateness.left});
    json.key("expired_but_present_share");
    json.open('[');
    for (const double share : lateness.share) json.value(share);
    json.close(']');
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

}  // namespace

std::string to_json(const BenchPlan& plan, const BenchResults& results, const Machine& machine) {
  Json json;
  json.open('{');
  json.member("benchmark", "expiry");
  json.member("version", std::string_view(machine.version));
  write_machine(json, machine);
  write_plan(json, plan);
  json.member("seconds", results.seconds);
  json.key("comparisons");
  json.open('[');
  for (const Comparison& comparison : results.comparisons) write_comparison(json, comparison);
  json.close(']');
  json.key("lateness");
  json.open('[');
  for (const LatenessComparison& comparison : results.lateness) write_lateness(json, comparison);
  json.close(']');
  write_bars(json, judge(results));
  json.close('}');
  return json.text();
}

void write_machine(Json& json, const Machine& machine) {
  json.key("machine");
  json.open('{');
  json.member("processor", std::string_view(machine.processor));
  json.member("cores", std::uint64_t{machine.cores});
  json.member("compiler", std::string_view(machine.compiler));
  json.member("assertions", machine.has_assertions);
  json.close('}');
}

void write_bars(Json& json, const std::vector<Bar>& bars) {
  json.key("bars");
  json.open('[');
  for (const Bar& bar : bars) {
    json.open('{');
    json.member("claim", std::string_view(bar.claim));
    json.member("measured", bar.measured);
    json.member("bar", bar.bar);
    json.member("holds", bar.holds);
    json.member("judged", bar.is_judged);
    json.close('}');
  }
  json.close(']');
}

}  // namespace mayfly
