// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench server` found, for programs. Declared in bench_server_report.h.

#include "bench/server/bench_server_json.h"

#include "bench/report/bench_json.h"
#include "bench/server/bench_server_bars.h"
#include "bench/server/bench_server_report.h"
#include "tools/json/json.h"

namespace mayfly {
namespace {

void write_runs(Json& json, std::string_view key, const std::vector<SpeedRun>& runs) {
  json.key(key);
  json.open('{');
  json.member("per_second", middle(runs, &SpeedRun::per_second));
  json.member("server_cpu_us", middle(runs, &SpeedRun::server_us));
  json.member("client_busy", middle(runs, &SpeedRun::client_busy));
  json.key("repeats");
  json.open('[');
  for (const SpeedRun& run : runs) json.value(run.per_second);
  json.close(']');
  json.close('}');
}

void write_speed(Json& json, const SpeedRow& row) {
  json.open('{');
  json.member("command", row.command);
  json.member("redis_command", row.other);
  json.member("pipeline", row.pipeline);
  json.member("keys", std::uint64_t{row.keys});
  write_runs(json, "mayfly", row.ours);
  write_runs(json, "redis", row.redis);
  json.member("ratio", ratio(row, &SpeedRun::per_second));
  json.member("cpu_ratio", ratio(row, &SpeedRun::server_us));
  json.member("bar", speed_bar(row));
  json.close('}');
}

void write_memory(Json& json, const MemoryRow& row) {
  json.open('{');
  json.member("fields_each", std::uint64_t{row.fields_each});
  json.member("ttl", row.with_ttl);
  json.member("bytes_per_field", row.ours);
  json.member("redis_bytes_per_field", row.redis);
  json.member("bar", row.bar);
  json.close('}');
}

void write_events(Json& json, std::string_view key, const OnTimeRow::Events& events) {
  json.key(key);
  json.open('{');
  json.member("events", std::uint64_t{events.count});
  json.member("p50_ms", events.p50_ms);
  json.member("last_ms", events.last_ms);
  json.close('}');
}

void write_on_time(Json& json, const OnTimeRow& row) {
  json.open('{');
  json.member("what", row.fields ? "fields" : "keys");
  json.member("idle", std::uint64_t{row.idle});
  write_events(json, "mayfly", row.ours);
  if (row.redis) write_events(json, "redis", *row.redis);
  json.close('}');
}

void write_stall(Json& json, const StallRow& row) {
  json.open('{');
  json.member("fields_each", std::uint64_t{row.fields_each});
  json.member("expired", std::uint64_t{row.expired});
  json.member("seconds", row.seconds);
  write_latency(json, "before", row.before);
  write_latency(json, "during", row.during);
  json.close('}');
}

void write_growth(Json& json, const GrowthRow& row) {
  json.open('{');
  json.member("server", row.server);
  json.member("keys_per_second", row.per_second);
  json.member("longest_at_keys", row.longest_at_keys);
  write_latency(json, "growing", row.growing);
  write_latency(json, "steady", row.steady);
  json.close('}');
}

void write_plan(Json& json, const ServerBenchPlan& plan) {
  json.member("repeats", plan.repeats);
  json.member("requests", std::uint64_t{plan.requests});
  json.member("key_range", std::uint64_t{plan.key_range});
  json.member("memory_fields", std::uint64_t{plan.memory_fields});
  json.member("due", std::uint64_t{plan.due});
  json.member("stall_fields", std::uint64_t{plan.stall_fields});
  json.member("growth_keys", std::uint64_t{plan.growth_keys});
  json.member("hlen_fields", std::uint64_t{plan.hlen_fields});
  json.member("persist_fields", std::uint64_t{plan.persist_fields});
}

}  // namespace

void write_latency(Json& json, std::string_view key, const ReplyTimes& latency) {
  json.key(key);
  json.open('{');
  json.member("count", std::uint64_t{latency.count});
  json.member("p50_us", latency.p50_us);
  json.member("p99_us", latency.p99_us);
  json.member("p99.9_us", latency.p999_us);
  json.member("max_us", latency.max_us);
  json.close('}');
}

std::string server_to_json(const ServerBenchPlan& plan, const ServerResults& results,
                           const Machine& machine) {
  Json json;
  json.open('{');
  json.member("benchmark", "server");
  json.member("version", std::string_view(machine.version));
  write_machine(json, machine);
  if (plan.has_redis) json.member("redis_version", std::string_view(results.redis_version));
  write_plan(json, plan);
  json.member("seconds", results.seconds);
  write_list(json, "speed", results.speed, write_speed);
  write_list(json, "memory", results.memory, write_memory);
  write_list(json, "on_time", results.on_time, write_on_time);
  write_list(json, "stalls", results.stalls, write_stall);
  write_list(json, "growth", results.growth, write_growth);
  if (results.hlen) {
    json.key("hlen");
    json.open('{');
    json.member("mean_us", results.hlen->mean_us);
    json.member("first_us", results.hlen->first_us);
    json.member("max_us", results.hlen->max_us);
    json.close('}');
  }
  if (results.persist) write_persist(json, *results.persist);
  write_bars(json, judge_server(plan, results));
  json.close('}');
  return json.text();
}

}  // namespace mayfly
