// SPDX-License-Identifier: Apache-2.0
// Are expired entries removed on time? Many entries share a deadline, among others that are due
// much later. A subscriber takes the time of each `expired` or `hexpired` event.

#include <fmt/format.h>

#include <string>

#include "bench/report/statistics.h"
#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr Millis kLead(500);
constexpr Millis kSubscribeMargin(300);  // for the subscriber

void add_entry(RespPipeline& pipeline, bool fields, std::string_view key, Time deadline) {
  const std::string at = unix_ms(deadline);
  if (fields) {
    pipeline.add("HSETEX", key, "PXAT", at, "FIELDS", "1", "field", "x");
  } else {
    pipeline.add("SET", key, "x", "PXAT", at);
  }
}

// A field that stays keeps the hash, so that each event is of a field alone.
void add_due(RespClient& client, std::size_t due, bool fields, Time deadline) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < due; ++i) {
    const std::string key = fmt::format("due:{:07}", i);
    if (fields) pipeline.add("HSET", key, "stays", "x");
    add_entry(pipeline, fields, key, deadline);
  }
  must(pipeline.finish());
}

void add_idle(RespClient& client, std::size_t idle, bool fields, Time far) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < idle; ++i) {
    add_entry(pipeline, fields, fmt::format("idle:{:07}", i), far + Millis(i));
  }
  must(pipeline.finish());
}

// Nanoseconds from the deadline to each event that came, in their order.
std::vector<std::int64_t> listen(RespClient& subscriber, const ServerPlan& plan,
                                 const Moments& moments, Time deadline) {
  std::vector<std::int64_t> times;
  while (times.size() < plan.due) {
    const std::int64_t passed_ns = moments.after(deadline, monotonic_ns());
    const Millis left = plan.patience - Millis(passed_ns / 1'000'000);
    if (left <= Millis(0)) break;
    const std::optional<ReplyValue> event = must(subscriber.read_within(left));
    if (event && event->items.size() == 3 && event->items[2].text.starts_with("due:")) {
      times.push_back(moments.after(deadline, monotonic_ns()));
    }
  }
  return times;
}

// If some never came, the last one is as late as we waited, at least.
Metrics metrics_of(const std::vector<std::int64_t>& times_ns, const ServerPlan& plan) {
  const bool is_complete = times_ns.size() == plan.due;
  const double last = is_complete ? static_cast<double>(times_ns.back()) / 1e6
                                  : static_cast<double>(plan.patience.count());
  Metrics metrics = {{"removed", static_cast<double>(times_ns.size())}, {"last_ms", last}};
  if (is_complete) {
    metrics.emplace_back("p50_ms", static_cast<double>(percentile(times_ns, 50)) / 1e6);
  }
  return metrics;
}

void measure_one(ServerBench& bench, const ServerProgram& program, bool fields, std::size_t idle) {
  const ServerPlan& plan = bench.plan;
  const ServerChild server(program);
  RespClient client = server.connect();
  add_idle(client, idle, fields, deadline_after(bench.moments.now(), kFarAway));
  set_config(client, "notify-keyspace-events", "EA");
  const Time deadline = fill_before(bench.moments, kLead, kSubscribeMargin, [&](Time moment) {
    add_due(client, plan.due, fields, moment);
  });
  RespClient subscriber = server.connect();
  must(subscriber.call("SUBSCRIBE", fields ? "__keyevent@0__:hexpired" : "__keyevent@0__:expired"));
  const auto times = listen(subscriber, plan, bench.moments, deadline);
  bench.add("ontime", fields ? "fields" : "keys", server,
            {{"due", static_cast<double>(plan.due)}, {"others", static_cast<double>(idle)}},
            metrics_of(times, plan));
}

}  // namespace

void measure_on_time(ServerBench& bench) {
  for (const bool fields : {false, true}) {
    for (const std::size_t idle : bench.plan.idle_sizes) {
      for (const ServerProgram& program : bench.plan.servers) {
        if (fields && !program.has_field_ttl) continue;
        bench.progress.begin(
            fmt::format("ontime: {} among {}, {}", fields ? "fields" : "keys", idle, program.name));
        measure_one(bench, program, fields, idle);
      }
    }
  }
}

}  // namespace mayfly::bench
