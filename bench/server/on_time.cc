// SPDX-License-Identifier: Apache-2.0
// Are expired entries removed on time? Many entries share a deadline, among others that are due
// much later. A subscriber takes the time of each event: `expired`, `hexpired`, `sexpired` or
// `zexpired`.

#include <fmt/format.h>

#include <string>

#include "bench/report/statistics.h"
#include "bench/server/measurements.h"

namespace mayfly::bench {
namespace {

constexpr Millis kLead(500);
constexpr Millis kSubscribeMargin(300);  // for the subscriber

// What expires: keys, or members of a type, one in each key.
struct Entries {
  const MemberType* type = nullptr;  // null: keys

  std::string_view title() const { return type == nullptr ? "keys" : type->members; }
  std::string channel() const {
    return fmt::format("__keyevent@0__:{}", type == nullptr ? "expired" : type->event);
  }
  bool has_ttl(const ServerProgram& program) const {
    return type == nullptr || program.*type->has_ttl;
  }
};

void add_entry(RespPipeline& pipeline, const Entries& entries, std::string_view key,
               Time deadline) {
  if (entries.type == nullptr) {
    pipeline.add("SET", key, "x", "PXAT", unix_ms(deadline));
  } else {
    add_members(pipeline, *entries.type, key, {0, 1}, deadline);
  }
}

// A member that stays keeps the key, so that each event is of a member alone.
void add_due(RespClient& client, std::size_t due, const Entries& entries, Time deadline) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < due; ++i) {
    const std::string key = fmt::format("due:{:07}", i);
    if (entries.type != nullptr) add_members(pipeline, *entries.type, key, {1, 2});
    add_entry(pipeline, entries, key, deadline);
  }
  must(pipeline.finish());
}

void add_idle(RespClient& client, std::size_t idle, const Entries& entries, Time far) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < idle; ++i) {
    add_entry(pipeline, entries, fmt::format("idle:{:07}", i), far + Millis(i));
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

void measure_one(ServerBench& bench, const ServerProgram& program, const Entries& entries,
                 std::size_t idle) {
  const ServerPlan& plan = bench.plan;
  const ServerChild server(program);
  RespClient client = server.connect();
  add_idle(client, idle, entries, deadline_after(bench.moments.now(), kFarAway));
  set_config(client, "notify-keyspace-events", "EA");
  const Time deadline = fill_before(bench.moments, kLead, kSubscribeMargin, [&](Time moment) {
    add_due(client, plan.due, entries, moment);
  });
  RespClient subscriber = server.connect();
  must(subscriber.call("SUBSCRIBE", entries.channel()));
  const auto times = listen(subscriber, plan, bench.moments, deadline);
  bench.add("ontime", std::string(entries.title()), server,
            {{"due", static_cast<double>(plan.due)}, {"others", static_cast<double>(idle)}},
            metrics_of(times, plan));
}

}  // namespace

void measure_on_time(ServerBench& bench) {
  for (const Entries& entries :
       {Entries{}, Entries{&kHashType}, Entries{&kSetType}, Entries{&kSortedSetType}}) {
    for (const std::size_t idle : bench.plan.idle_sizes) {
      for (const ServerProgram& program : bench.plan.servers) {
        if (!entries.has_ttl(program)) continue;
        bench.progress.begin(
            fmt::format("ontime: {} among {}, {}", entries.title(), idle, program.name));
        measure_one(bench, program, entries, idle);
      }
    }
  }
}

}  // namespace mayfly::bench
