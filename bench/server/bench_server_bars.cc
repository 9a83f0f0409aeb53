// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_child.h"

namespace mayfly {
namespace {

constexpr double kSingleFactor = 1.0;
constexpr double kPipelinedFactor = 1.3;
constexpr double kOnTimeMs = 50;
constexpr std::size_t kOnTimeDue = 1000;
constexpr std::size_t kOnTimeIdle = 1'000'000;
constexpr double kStallUs = 2000;
constexpr double kHlenUs = 1000;

bool is_first_of_its_kind(const ServerResults& results, const SpeedRow& row) {
  const auto found = std::ranges::find_if(results.speed, [&](const SpeedRow& other) {
    return other.command == row.command && other.pipeline == row.pipeline;
  });
  return &*found == &row;
}

// One bar for a command, with one key and with many: the worse of them counts.
void judge_speed(const ServerBenchPlan& plan, const ServerResults& results,
                 std::vector<Bar>& bars) {
  for (const SpeedRow& row : results.speed) {
    if (!is_first_of_its_kind(results, row)) continue;
    std::optional<double> worst;
    std::size_t keys = 0;
    for (const SpeedRow& other : results.speed) {
      if (other.command != row.command || other.pipeline != row.pipeline) continue;
      const std::optional<double> value = ratio(other, &SpeedRun::per_second);
      if (!value || (worst && *worst <= *value)) continue;
      worst = value;
      keys = other.keys;
    }
    if (!worst) continue;
    const double bar = speed_bar(row);
    const std::string of = row.other == row.command ? "" : fmt::format("'s {}", row.other);
    bars.push_back({fmt::format("{}{}: {:.2f}x the throughput of redis-server{} ({}; bar: {:.1f}x)",
                                row.command, row.pipeline == 1 ? "" : " with -P 32", *worst, of,
                                keys == 1 ? "one key" : size_title(keys) + " keys", bar),
                    *worst, bar, *worst >= bar, plan.requests >= kReferenceRequests});
  }
}

void judge_memory(const ServerBenchPlan& plan, const ServerResults& results,
                  std::vector<Bar>& bars) {
  for (const MemoryRow& row : results.memory) {
    const std::string where = row.fields_each == plan.memory_fields
                                  ? fmt::format("one hash of {}", size_title(row.fields_each))
                                  : fmt::format("hashes of {}", row.fields_each);
    bars.push_back({fmt::format("{} {} TTLs: {:.1f} bytes a field (bar: {:.0f})", where,
                                row.with_ttl ? "with" : "without", row.ours, row.bar),
                    row.ours, row.bar, row.ours <= row.bar,
                    plan.memory_fields == kReferenceMemoryFields});
  }
}

void judge_on_time(const ServerBenchPlan& plan, const ServerResults& results,
                   std::vector<Bar>& bars) {
  for (const bool fields : {false, true}) {
    const OnTimeRow* worst = nullptr;
    std::size_t largest = 0;
    const auto lateness = [&](const OnTimeRow& row) {
      return row.ours.count < plan.due ? static_cast<double>(plan.patience.count())
                                       : row.ours.last_ms;
    };
    for (const OnTimeRow& row : results.on_time) {
      if (row.fields != fields) continue;
      largest = std::max(largest, row.idle);
      if (worst == nullptr || lateness(row) > lateness(*worst)) worst = &row;
    }
    if (worst == nullptr) continue;
    const double late = lateness(*worst);
    const bool all = worst->ours.count == plan.due;
    bars.push_back({fmt::format("{} of {} {} with one deadline are gone {:.1f} ms after it, among "
                                "{} others (the worst; bar: {:.0f} ms)",
                                worst->ours.count, plan.due, fields ? "fields" : "keys", late,
                                worst->idle, kOnTimeMs),
                    late, kOnTimeMs, all && late <= kOnTimeMs,
                    plan.due == kOnTimeDue && largest >= kOnTimeIdle});
  }
}

void judge_stalls(const ServerBenchPlan& plan, const ServerResults& results,
                  std::vector<Bar>& bars) {
  for (const StallRow& row : results.stalls) {
    const std::size_t hashes = plan.stall_fields / std::max<std::size_t>(row.fields_each, 1);
    const std::string where =
        hashes == 1 ? "one hash" : fmt::format("{} hashes", size_title(hashes));
    const bool all = row.expired >= plan.stall_fields;
    bars.push_back(
        {fmt::format("p99.9 of GET while {} fields of {} expire: {:.2f} ms{} (bar: "
                     "under {:.0f} ms)",
                     size_title(plan.stall_fields), where, row.during.p999_us / 1e3,
                     all ? "" : ", and not all of them were gone in a minute", kStallUs / 1e3),
         row.during.p999_us, kStallUs, all && row.during.p999_us < kStallUs,
         plan.stall_fields == kReferenceStallFields});
  }
  for (const GrowthRow& row : results.growth) {
    if (row.server != title_of(ServerKind::mayfly)) continue;
    bars.push_back(
        {fmt::format("the longest pause while a database grows to {} keys: {:.2f} ms "
                     "(bar: {:.0f} ms)",
                     size_title(plan.growth_keys), row.growing.max_us / 1e3, kStallUs / 1e3),
         row.growing.max_us, kStallUs, row.growing.max_us <= kStallUs,
         plan.growth_keys >= kReferenceGrowthKeys});
  }
}

}  // namespace

double speed_bar(const SpeedRow& row) {
  // HSETEX does more than the HSET that it is compared with.
  return row.pipeline == 1 || row.command != row.other ? kSingleFactor : kPipelinedFactor;
}

std::vector<Bar> judge_server(const ServerBenchPlan& plan, const ServerResults& results) {
  std::vector<Bar> bars;
  judge_speed(plan, results, bars);
  judge_memory(plan, results, bars);
  judge_on_time(plan, results, bars);
  judge_stalls(plan, results, bars);
  if (results.hlen) {
    const double mean = results.hlen->mean_us;
    bars.push_back({fmt::format("HLEN of {} fields, half of them due: {:.3f} ms on average (bar: "
                                "under {:.0f} ms)",
                                size_title(plan.hlen_fields), mean / 1e3, kHlenUs / 1e3),
                    mean, kHlenUs, mean < kHlenUs, plan.hlen_fields == kReferenceHlenFields});
  }
  if (results.persist) judge_persist(plan, *results.persist, bars);
  return bars;
}

}  // namespace mayfly
