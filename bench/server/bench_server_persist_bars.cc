// SPDX-License-Identifier: Apache-2.0
// The bars of persistence and replication. Declared in bench_server_bars.h.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_bars.h"
#include "bench/server/bench_server_child.h"

namespace mayfly {
namespace {

constexpr double kMegabyte = 1 << 20;

void judge_files(const ServerBenchPlan& plan, const PersistResults& results, bool is_judged,
                 std::vector<Bar>& bars) {
  for (const SaveRow& row : results.saves) {
    const std::optional<double> times = save_ratio(row);
    if (!times) continue;
    bars.push_back({fmt::format("SAVE of {} fields with deadlines, {} a hash, rdbcompression {}: "
                                "{:.2f}x the bytes a second of redis-server (bar: {:.1f}x)",
                                size_title(plan.persist_fields), row.fields_each,
                                row.compressed ? "yes" : "no", *times, kSaveFactor),
                    *times, kSaveFactor, *times >= kSaveFactor, is_judged});
  }
  for (const LoadRow& row : results.loads) {
    const std::optional<double> times = load_ratio(row);
    if (!times) continue;
    bars.push_back(
        {fmt::format("loading {} fields with deadlines, {} a hash: {:.2f}x the fields a "
                     "second of redis-server (bar: {:.1f}x)",
                     size_title(plan.persist_fields), row.fields_each, *times, kLoadFactor),
         *times, kLoadFactor, *times >= kLoadFactor, is_judged});
  }
}

void judge_children(const PersistResults& results, bool is_judged, std::vector<Bar>& bars) {
  for (const ChildRow& row : results.children) {
    const std::optional<double> times = child_ratio(row);
    if (!times) continue;
    bars.push_back({fmt::format("p99.9 of GET during {}: {:.2f}x that of redis-server (bar: at "
                                "most {:.1f}x)",
                                row.work, *times, kChildFactor),
                    *times, kChildFactor, *times <= kChildFactor, is_judged});
  }
}

void judge_aof(const ServerBenchPlan& plan, const PersistResults& results, std::vector<Bar>& bars) {
  for (const AofRow& row : results.aof) {
    const std::optional<double> times = ratio(row.with.ours, row.without.ours);
    if (!times) continue;
    bars.push_back({fmt::format("{} with -P 32 and an append-only file: {:.2f}x its throughput "
                                "without (bar: {:.1f}x)",
                                row.command, *times, kAofFactor),
                    *times, kAofFactor, *times >= kAofFactor, plan.requests >= kReferenceRequests});
  }
}

void judge_syncs(const PersistResults& results, bool is_judged, std::vector<Bar>& bars) {
  for (const SyncRow& row : results.syncs) {
    if (row.server != title_of(ServerKind::mayfly)) continue;
    const double grown = row.peak_bytes - row.before_bytes;
    bars.push_back({fmt::format("while a replica gets all data, the primary grows by {:.1f} MB{} "
                                "(bar: {:.0f} MB, backlog and output limit)",
                                grown / kMegabyte, row.is_done ? "" : ", but does not get there",
                                row.bound_bytes / kMegabyte),
                    grown, row.bound_bytes, row.is_done && grown <= row.bound_bytes, is_judged});
  }
}

}  // namespace

void judge_persist(const ServerBenchPlan& plan, const PersistResults& results,
                   std::vector<Bar>& bars) {
  const bool is_judged = plan.persist_fields >= kReferencePersistFields;
  judge_files(plan, results, is_judged, bars);
  judge_children(results, is_judged, bars);
  judge_aof(plan, results, bars);
  judge_syncs(results, is_judged, bars);
}

}  // namespace mayfly
