// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_ontime.h"

#include <fmt/format.h>

#include <string>

#include "bench/report/statistics.h"
#include "bench/server/bench_server_child.h"

namespace mayfly {
namespace {

constexpr Millis kFar = std::chrono::hours(24);
constexpr Millis kLead(500);
constexpr Millis kMargin(300);  // for the subscriber

void add_entry(RespPipeline& pipeline, bool fields, std::string_view key, Time deadline) {
  const std::string at = unix_ms(deadline);
  if (fields) {
    pipeline.add("HSETEX", key, "PXAT", at, "FIELDS", "1", "field", "x");
  } else {
    pipeline.add("SET", key, "x", "PXAT", at);
  }
}

// A field that stays keeps the hash, so that each event is of a field alone.
Status add_due(RespClient& client, const ServerBenchPlan& plan, bool fields, Time deadline) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < plan.due; ++i) {
    const std::string key = fmt::format("due:{:07}", i);
    if (fields) pipeline.add("HSET", key, "stays", "x");
    add_entry(pipeline, fields, key, deadline);
  }
  return pipeline.finish();
}

Status add_idle(RespClient& client, std::size_t idle, bool fields, Time far) {
  RespPipeline pipeline(client);
  for (std::size_t i = 0; i < idle; ++i) {
    add_entry(pipeline, fields, fmt::format("idle:{:07}", i), far + Millis(i));
  }
  return pipeline.finish();
}

// Nanoseconds from the deadline to each event that came, in their order.
Result<std::vector<std::int64_t>> listen(RespClient& subscriber, const ServerBenchPlan& plan,
                                         const Moments& moments, Time deadline) {
  std::vector<std::int64_t> times;
  while (times.size() < plan.due) {
    const std::int64_t passed_ns = moments.after(deadline, monotonic_ns());
    const Millis left = plan.patience - Millis(passed_ns / 1'000'000);
    if (left <= Millis(0)) break;
    const Result<std::optional<ReplyValue>> event = subscriber.read_within(left);
    if (!event) return event.error();
    if (*event && (*event)->items.size() == 3 && (*event)->items[2].text.starts_with("due:")) {
      times.push_back(moments.after(deadline, monotonic_ns()));
    }
  }
  return times;
}

OnTimeRow::Events events_of(const std::vector<std::int64_t>& times_ns) {
  OnTimeRow::Events events{.count = times_ns.size()};
  if (times_ns.empty()) return events;
  events.p50_ms = static_cast<double>(percentile(times_ns, 50)) / 1e6;
  events.last_ms = static_cast<double>(times_ns.back()) / 1e6;
  return events;
}

Result<OnTimeRow::Events> measure_one(ServerKind kind, const ServerBenchPlan& plan,
                                      const OnTimeRow& row, const Moments& moments) {
  const Result<ServerChild> server = ServerChild::start(kind);
  if (!server) return server.error();
  Result<RespClient> client = server->connect();
  if (!client) return client.error();
  const Time far = deadline_after(moments.now(), kFar);
  const Status status = add_idle(*client, row.idle, row.fields, far);
  if (!status) return status.error();
  const Result<ReplyValue> config = client->call("CONFIG", "SET", "notify-keyspace-events", "EA");
  if (!config) return config.error();
  const Result<Time> deadline = fill_before(moments, kLead, kMargin, [&](Time moment) {
    return add_due(*client, plan, row.fields, moment);
  });
  if (!deadline) return deadline.error();

  Result<RespClient> subscriber = server->connect();
  if (!subscriber) return subscriber.error();
  const Result<ReplyValue> subscribed = subscriber->call(
      "SUBSCRIBE", row.fields ? "__keyevent@0__:hexpired" : "__keyevent@0__:expired");
  if (!subscribed) return subscribed.error();
  const auto times = listen(*subscriber, plan, moments, *deadline);
  if (!times) return times.error();
  return events_of(*times);
}

double row_work(std::size_t idle) { return 1.5 + static_cast<double>(idle) * 3e-6; }

}  // namespace

Result<std::vector<OnTimeRow>> measure_on_time(const ServerBenchPlan& plan, const Moments& moments,
                                               Progress& progress) {
  std::vector<OnTimeRow> rows;
  for (const bool fields : {false, true}) {
    for (const std::size_t idle : plan.idle_sizes) {
      OnTimeRow row{.fields = fields, .idle = idle};
      const std::string what =
          fmt::format("on time: {} among {}", fields ? "fields" : "keys", idle);
      progress.begin(what);
      const auto ours = measure_one(ServerKind::mayfly, plan, row, moments);
      if (!ours) return ours.error();
      row.ours = *ours;
      progress.add(row_work(idle));
      if (plan.has_redis && !fields) {
        progress.begin(fmt::format("{}, {}", what, title_of(ServerKind::redis)));
        const auto redis = measure_one(ServerKind::redis, plan, row, moments);
        if (!redis) return redis.error();
        row.redis = *redis;
        progress.add(row_work(idle) + static_cast<double>(plan.patience.count()) / 1e3);
      }
      rows.push_back(row);
    }
  }
  return rows;
}

double on_time_work(const ServerBenchPlan& plan) {
  double work = 0;
  for (const std::size_t idle : plan.idle_sizes) {
    work += 2 * row_work(idle);
    if (!plan.has_redis) continue;
    work += row_work(idle) + static_cast<double>(plan.patience.count()) / 1e3;
  }
  return work;
}

}  // namespace mayfly
