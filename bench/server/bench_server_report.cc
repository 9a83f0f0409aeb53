// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/cache/bench_plan.h"
#include "bench/report/bench_report.h"
#include "bench/server/bench_server_bars.h"
#include "bench/server/bench_server_memory.h"
#include "bench/server/bench_server_speed.h"
#include "bench/server/bench_server_stall.h"
#include "bench/server/bench_server_tables.h"

namespace mayfly {
namespace {

using Cell = TextTable::Cell;

// Of a redis-benchmark that is never idle, the throughput is its own limit, not the server's.
constexpr double kClientIsLimit = 0.97;

std::string count_text(std::size_t count) { return count == 0 ? "0" : size_title(count); }

std::string render_head(const ServerBenchPlan& plan, const ServerResults& results,
                        const Machine& machine, const Colours& colours) {
  std::string text = "\n";
  text += colours.apply("How good is the server?", Emphasis::strong);
  text += fmt::format("  Mayfly {} on {}, {} cores, {:.0f} s in all.\n", machine.version,
                      machine.processor, machine.cores, results.seconds);
  if (plan.has_redis) {
    text += fmt::format("Beside it: redis-server {}.\n", results.redis_version);
  } else {
    text +=
        "redis-server is not installed, so there is nothing to compare with; `make bench` "
        "installs it.\n";
  }
  if (machine.has_assertions) {
    text += colours.apply("Built with assertions: these numbers say nothing.\n", Emphasis::bad);
  }
  return text;
}

std::vector<Cell> speed_cells(const ServerBenchPlan& plan, const SpeedRow& row) {
  const auto times = ratio(row, &SpeedRun::per_second);
  const std::string name = row.command == row.other
                               ? std::string(row.command)
                               : fmt::format("{} ({} there)", row.command, row.other);
  return {{name},
          {row.keys == 1 ? "1" : size_title(row.keys)},
          {number_text(middle(row.ours, &SpeedRun::per_second), 1e3)},
          {number_text(middle(row.redis, &SpeedRun::per_second), 1e3)},
          {ratio_text(times), Emphasis::strong},
          {fmt::format("{:.1f}x", speed_bar(row)), Emphasis::weak},
          verdict(times && plan.requests >= kReferenceRequests, times && *times >= speed_bar(row)),
          {number_text(middle(row.ours, &SpeedRun::server_us))},
          {number_text(middle(row.redis, &SpeedRun::server_us))},
          {ratio_text(ratio(row, &SpeedRun::server_us))},
          {number_text(middle(row.ours, &SpeedRun::client_busy), 0.01)}};
}

std::string events_text(const ServerBenchPlan& plan, const OnTimeRow::Events& events) {
  if (events.count == plan.due) return fmt::format("{:.1f} ms", events.last_ms);
  return fmt::format("after {} {} of {}", duration_text(plan.patience), events.count, plan.due);
}

std::string median_text(const OnTimeRow::Events& events) {
  return events.count == 0 ? "-" : fmt::format("{:.1f} ms", events.p50_ms);
}

std::string render_growth(const ServerBenchPlan& plan, const ServerResults& results,
                          const Colours& colours) {
  if (results.growth.empty()) return "";
  std::string text = heading(
      fmt::format("Does it pause while a database grows to {} keys?", size_title(plan.growth_keys)),
      fmt::format("  Rounds of {} SETs of new keys and a PING of another client, until both have "
                  "their replies.\n  The longest round is longer than any pause of the server.",
                  kGrowthBatch),
      colours);
  TextTable table = latency_table("round");
  std::string where;
  for (const GrowthRow& row : results.growth) {
    table.add_row(latency_cells(fmt::format("{}, growing", row.server), row.growing));
    table.add_row(latency_cells(fmt::format("{}, the same keys again", row.server), row.steady));
    where += fmt::format("  {}: {:.0f} K keys a second; the longest round at {:.2f} M keys\n",
                         row.server, row.per_second / 1e3, row.longest_at_keys / 1e6);
  }
  return text + table.render(colours) + "\n" + where;
}

std::string render_hlen(const ServerBenchPlan& plan, const ServerResults& results,
                        const Colours& colours) {
  if (!results.hlen) return "";
  std::string text = heading(
      fmt::format("How long does HLEN take of {} fields, half of them due and not removed?",
                  size_title(plan.hlen_fields)),
      fmt::format("  {} calls after the deadline, with active expiry off.", plan.hlen_calls),
      colours);
  return text + fmt::format("  mean {} us, the first {} us, the longest {} us\n",
                            number_text(results.hlen->mean_us), number_text(results.hlen->first_us),
                            number_text(results.hlen->max_us));
}

}  // namespace

std::string render_server_speed(const ServerBenchPlan& plan, const ServerResults& results,
                                const Colours& colours) {
  if (results.speed.empty()) return "";
  std::string text;
  bool client_is_limit = false;
  for (const int pipeline : {1, kSpeedPipeline}) {
    text +=
        heading(pipeline == 1 ? std::string("How fast is it, one request at a time?")
                              : fmt::format("How fast is it with {} requests in flight?", pipeline),
                fmt::format("  redis-benchmark -c {} -P {} -n {}{}.\n  CPU: of the server, for a "
                            "request. Client: how busy redis-benchmark is.",
                            kSpeedClients, pipeline, request_count(plan, pipeline),
                            plan.repeats == 1 ? "" : fmt::format(", medians of {}", plan.repeats)),
                colours);
    TextTable table({{"command", ""},
                     {"keys", ""},
                     {"Mayfly", "k/s"},
                     {"Redis", "k/s"},
                     {"ratio", ""},
                     {"bar", ""},
                     {"", ""},
                     {"CPU", "us"},
                     {"Redis", "us"},
                     {"ratio", ""},
                     {"client", "%"}});
    for (const SpeedRow& row : results.speed) {
      if (row.pipeline != pipeline) continue;
      table.add_row(speed_cells(plan, row));
      const auto busy = middle(row.ours, &SpeedRun::client_busy);
      client_is_limit = client_is_limit || (busy && *busy > kClientIsLimit);
    }
    text += table.render(colours);
  }
  if (client_is_limit) {
    text += colours.apply(
        "\n  Where the client is never idle, the rate is the client's: look at the CPU instead.\n",
        Emphasis::weak);
  }
  return text;
}

std::string render_server_memory(const ServerBenchPlan& plan, const ServerResults& results,
                                 const Colours& colours) {
  if (results.memory.empty()) return "";
  std::string text =
      heading("How much memory does a field take?",
              fmt::format("  {} fields of {} bytes with values of {}; used_memory, so keys and all "
                          "overheads are in it.",
                          size_title(plan.memory_fields), kMemoryWordBytes, kMemoryWordBytes),
              colours);
  TextTable table({{"hashes of", ""},
                   {"TTLs", ""},
                   {"Mayfly", "bytes"},
                   {"Redis", "bytes"},
                   {"bar", ""},
                   {"", ""}});
  for (const MemoryRow& row : results.memory) {
    table.add_row({{size_title(row.fields_each)},
                   {row.with_ttl ? "distinct" : "none"},
                   {fmt::format("{:.1f}", row.ours), Emphasis::strong},
                   {row.redis ? fmt::format("{:.1f}", *row.redis) : "-"},
                   {fmt::format("{:.0f}", row.bar), Emphasis::weak},
                   verdict(plan.memory_fields == kReferenceMemoryFields, row.ours <= row.bar)});
  }
  return text + table.render(colours);
}

std::string render_server_on_time(const ServerBenchPlan& plan, const ServerResults& results,
                                  const Colours& colours) {
  if (results.on_time.empty()) return "";
  std::string text = heading(
      "Is what is due removed on time?",
      fmt::format("  {} entries share a deadline, among others that are due in a day. From the "
                  "deadline to the events\n  that a subscriber gets: half of them, and the last.",
                  plan.due),
      colours);
  TextTable table({{"due", ""},
                   {"among", ""},
                   {"Mayfly, p50", ""},
                   {"the last", ""},
                   {"Redis, p50", ""},
                   {"the last", ""}});
  for (const OnTimeRow& row : results.on_time) {
    table.add_row({{fmt::format("{} {}", plan.due, row.fields ? "fields" : "keys")},
                   {count_text(row.idle)},
                   {median_text(row.ours)},
                   {events_text(plan, row.ours), Emphasis::strong},
                   {row.redis ? median_text(*row.redis) : "-"},
                   {row.redis ? events_text(plan, *row.redis) : "-"}});
  }
  return text + table.render(colours);
}

std::string render_server_stalls(const ServerBenchPlan& plan, const ServerResults& results,
                                 const Colours& colours) {
  std::string text;
  if (!results.stalls.empty()) {
    text += heading(fmt::format("Do clients wait while {} fields expire at once?",
                                size_title(plan.stall_fields)),
                    "  GETs of another client in a row: in the second before the deadline, which "
                    "shows the machine's own\n  noise, and from the deadline until all fields are "
                    "removed.",
                    colours);
    TextTable table = latency_table("GET");
    std::string ends;
    for (const StallRow& row : results.stalls) {
      const std::size_t hashes = plan.stall_fields / std::max<std::size_t>(row.fields_each, 1);
      const std::string where =
          hashes == 1 ? "one hash" : fmt::format("{} hashes", size_title(hashes));
      table.add_row(latency_cells(where + ", before", row.before));
      table.add_row(latency_cells(where + ", expiring", row.during));
      ends += fmt::format("  {}: {} of {} fields were removed in {:.2f} s\n", where, row.expired,
                          plan.stall_fields, row.seconds);
    }
    text += table.render(colours);
    text += '\n';
    text += ends;
  }
  return text + render_growth(plan, results, colours) + render_hlen(plan, results, colours);
}

std::string render_server_report(const ServerBenchPlan& plan, const ServerResults& results,
                                 const Machine& machine, const Colours& colours) {
  std::string text = render_head(plan, results, machine, colours);
  for (const auto render : {render_server_speed, render_server_memory, render_server_on_time,
                            render_server_stalls, render_server_persist}) {
    text += render(plan, results, colours);
  }
  const std::vector<Bar> bars = judge_server(plan, results);
  if (bars.empty()) return text;
  text += '\n';
  text += colours.apply("What is expected, and whether it holds here", Emphasis::strong);
  text += " (- where another size was measured)\n\n";
  for (const Bar& bar : bars) text += render_bar(bar, colours);
  return text;
}

}  // namespace mayfly
