// SPDX-License-Identifier: Apache-2.0
// Persistence and replication, for people. Declared in bench_server_report.h.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/server/bench_server_aof.h"
#include "bench/server/bench_server_bars.h"
#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_fork.h"
#include "bench/server/bench_server_report.h"
#include "bench/server/bench_server_speed.h"
#include "bench/server/bench_server_sync.h"
#include "bench/server/bench_server_tables.h"

namespace mayfly {
namespace {

constexpr double kMegabyte = 1 << 20;

bool is_reference(const ServerBenchPlan& plan) {
  return plan.persist_fields >= kReferencePersistFields;
}

std::string medians_text(const ServerBenchPlan& plan) {
  return plan.repeats == 1 ? "" : fmt::format(" Medians of {}.", plan.repeats);
}

std::string factor_text(double factor) { return fmt::format("{:.1f}x", factor); }

// An amount divided by a time, if there is one.
std::optional<double> rate(double amount, const std::vector<double>& seconds) {
  const std::optional<double> time = middle(seconds);
  if (!time || *time <= 0) return {};
  return amount / *time;
}

std::string render_saves(const ServerBenchPlan& plan, const PersistResults& results,
                         const Colours& colours) {
  std::string text =
      heading("How fast are all data saved?",
              fmt::format("  SAVE of {} fields of 13 bytes with values of 13, from the command to "
                          "its reply.\n  Each field of ours has a deadline, none of redis-server's "
                          "has. Compressed: as `rdbcompression` says.{}",
                          size_title(plan.persist_fields), medians_text(plan)),
              colours);
  TextTable table({{"hashes of", ""},
                   {"compressed", ""},
                   {"Mayfly", "s"},
                   {"file", "MB"},
                   {"", "MB/s"},
                   {"Redis", "s"},
                   {"file", "MB"},
                   {"", "MB/s"},
                   {"ratio", "of MB/s"},
                   {"bar", ""},
                   {"", ""}});
  for (const SaveRow& row : results.saves) {
    const std::optional<double> times = save_ratio(row);
    const bool has_redis = !row.seconds.redis.empty();
    table.add_row({{std::to_string(row.fields_each)},
                   {row.compressed ? "yes" : "no"},
                   {number_text(middle(row.seconds.ours))},
                   {number_text(row.our_bytes, kMegabyte)},
                   {number_text(rate(row.our_bytes, row.seconds.ours), kMegabyte)},
                   {number_text(middle(row.seconds.redis))},
                   {has_redis ? number_text(row.redis_bytes, kMegabyte) : "-"},
                   {number_text(rate(row.redis_bytes, row.seconds.redis), kMegabyte)},
                   {ratio_text(times), Emphasis::strong},
                   {factor_text(kSaveFactor), Emphasis::weak},
                   verdict(times && is_reference(plan), times && *times >= kSaveFactor)});
  }
  return text + table.render(colours);
}

std::string render_loads(const ServerBenchPlan& plan, const PersistResults& results,
                         const Colours& colours) {
  std::string text = heading("How fast are they loaded?",
                             "  The same files, the compressed ones, read by DEBUG RELOAD NOSAVE "
                             "into empty servers.",
                             colours);
  TextTable table({{"hashes of", ""},
                   {"Mayfly", "s"},
                   {"", "K fields/s"},
                   {"Redis", "s"},
                   {"", "K fields/s"},
                   {"ratio", ""},
                   {"bar", ""},
                   {"", ""}});
  const auto fields = static_cast<double>(plan.persist_fields);
  for (const LoadRow& row : results.loads) {
    const std::optional<double> times = load_ratio(row);
    table.add_row({{std::to_string(row.fields_each)},
                   {number_text(middle(row.seconds.ours))},
                   {number_text(rate(fields, row.seconds.ours), 1e3)},
                   {number_text(middle(row.seconds.redis))},
                   {number_text(rate(fields, row.seconds.redis), 1e3)},
                   {ratio_text(times), Emphasis::strong},
                   {factor_text(kLoadFactor), Emphasis::weak},
                   verdict(times && is_reference(plan), times && *times >= kLoadFactor)});
  }
  return text + table.render(colours);
}

// The run whose p99.9 is the one in the middle stands for all of them.
const ChildRow::Run* middle_run(const std::vector<ChildRow::Run>& runs) {
  if (runs.empty()) return nullptr;
  std::vector<const ChildRow::Run*> sorted;
  sorted.reserve(runs.size());
  for (const ChildRow::Run& run : runs) sorted.push_back(&run);
  std::ranges::sort(sorted, {}, [](const ChildRow::Run* run) { return run->during.p999_us; });
  return sorted[sorted.size() / 2];
}

std::string render_children(const ServerBenchPlan& plan, const PersistResults& results,
                            const Colours& colours) {
  std::string text = heading(
      "What do clients wait while a child saves?",
      fmt::format(
          "  GETs in a row and {:.0f} SETs a second beside them, by one thread: in the half "
          "second before, which shows the\n  machine's own noise, and until the child has "
          "ended.{}",
          kForkLoad.per_second, plan.repeats == 1 ? "" : " The repeat in the middle, by p99.9."),
      colours);
  TextTable table = latency_table("GET");
  std::string ends;
  for (const ChildRow& row : results.children) {
    for (const ServerKind kind : {ServerKind::mayfly, ServerKind::redis}) {
      const auto* const run = middle_run(kind == ServerKind::mayfly ? row.ours : row.redis);
      if (run == nullptr) continue;
      table.add_row(latency_cells(fmt::format("{}, before", title_of(kind)), run->before));
      table.add_row(latency_cells(fmt::format("{}, {}", title_of(kind), row.work), run->during));
      ends += fmt::format("  {} of {} took {:.2f} s\n", row.work, title_of(kind), run->seconds);
    }
    const std::optional<double> times = child_ratio(row);
    if (!times) continue;
    ends += fmt::format("  p99.9 during {}: {} that of redis-server (bar: at most {})\n", row.work,
                        ratio_text(times), factor_text(kChildFactor));
  }
  return text + table.render(colours) + "\n" + ends;
}

std::string render_aof(const ServerBenchPlan& plan, const PersistResults& results,
                       const Colours& colours) {
  std::string text = heading(
      "What does the append-only file cost?",
      fmt::format("  redis-benchmark -c {} -P {} -n {} -r {}, with `appendfsync everysec` and "
                  "without the file.{}",
                  kSpeedClients, kSpeedPipeline, aof_requests(plan), plan.key_range,
                  medians_text(plan)),
      colours);
  TextTable table({{"command", ""},
                   {"Mayfly", "k/s"},
                   {"with AOF", "k/s"},
                   {"ratio", ""},
                   {"bar", ""},
                   {"", ""},
                   {"Redis", "k/s"},
                   {"with AOF", "k/s"},
                   {"ratio", ""}});
  for (const AofRow& row : results.aof) {
    const std::optional<double> times = ratio(row.with.ours, row.without.ours);
    const bool is_judged = times && plan.requests >= kReferenceRequests;
    table.add_row(
        {{row.command == row.other ? std::string(row.command)
                                   : fmt::format("{} ({} there)", row.command, row.other)},
         {number_text(middle(row.without.ours), 1e3)},
         {number_text(middle(row.with.ours), 1e3)},
         {ratio_text(times), Emphasis::strong},
         {factor_text(kAofFactor), Emphasis::weak},
         verdict(is_judged, times && *times >= kAofFactor),
         {number_text(middle(row.without.redis), 1e3)},
         {number_text(middle(row.with.redis), 1e3)},
         {ratio_text(ratio(row.with.redis, row.without.redis))}});
  }
  return text + table.render(colours);
}

std::string render_syncs(const PersistResults& results, const Colours& colours) {
  const double written =
      kSyncLoad.per_second * static_cast<double>(kSyncLoad.value_bytes) / kMegabyte;
  std::string text = heading(
      "How much memory does a primary need while a replica gets everything?",
      fmt::format("  used_memory before, and at most, with {:.1f} MB a second written meanwhile. "
                  "The bar is the backlog, {} MB,\n  and the output limit, {} MB.",
                  written, kSyncBacklogBytes >> 20, kSyncOutputBytes >> 20),
      colours);
  TextTable table({{"server", ""},
                   {"took", "s"},
                   {"written", "MB"},
                   {"before", "MB"},
                   {"peak", "MB"},
                   {"more", "MB"},
                   {"replica", ""}});
  for (const SyncRow& row : results.syncs) {
    table.add_row({{std::string(row.server)},
                   {number_text(row.seconds)},
                   {number_text(row.written_bytes, kMegabyte)},
                   {number_text(row.before_bytes, kMegabyte)},
                   {number_text(row.peak_bytes, kMegabyte)},
                   {number_text(row.peak_bytes - row.before_bytes, kMegabyte), Emphasis::strong},
                   {row.is_done ? "follows" : "does not follow"}});
  }
  return text + table.render(colours);
}

}  // namespace

std::string render_server_persist(const ServerBenchPlan& plan, const ServerResults& results,
                                  const Colours& colours) {
  if (!results.persist) return "";
  const PersistResults& persist = *results.persist;
  return render_saves(plan, persist, colours) + render_loads(plan, persist, colours) +
         render_children(plan, persist, colours) + render_aof(plan, persist, colours) +
         render_syncs(persist, colours);
}

}  // namespace mayfly
