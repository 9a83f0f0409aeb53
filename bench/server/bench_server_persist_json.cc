// SPDX-License-Identifier: Apache-2.0
// Persistence and replication, for programs. Declared in bench_server_json.h.

#include <cstdint>

#include "bench/server/bench_server_bars.h"
#include "bench/server/bench_server_json.h"

namespace mayfly {
namespace {

void write_numbers(Json& json, std::string_view key, const std::vector<double>& numbers) {
  json.key(key);
  json.open('[');
  for (const double number : numbers) json.value(number);
  json.close(']');
}

void write_pair(Json& json, std::string_view key, const Pair& pair) {
  json.key(key);
  json.open('{');
  json.member("mayfly", middle(pair.ours));
  json.member("redis", middle(pair.redis));
  write_numbers(json, "mayfly_repeats", pair.ours);
  write_numbers(json, "redis_repeats", pair.redis);
  json.close('}');
}

void write_save(Json& json, const SaveRow& row) {
  json.open('{');
  json.member("fields_each", std::uint64_t{row.fields_each});
  json.member("rdbcompression", row.compressed);
  json.member("mayfly_bytes", row.our_bytes);
  json.member("redis_bytes", row.redis_bytes);
  write_pair(json, "seconds", row.seconds);
  json.member("ratio", save_ratio(row));
  json.member("bar", kSaveFactor);
  json.close('}');
}

void write_load(Json& json, const LoadRow& row) {
  json.open('{');
  json.member("fields_each", std::uint64_t{row.fields_each});
  write_pair(json, "seconds", row.seconds);
  json.member("ratio", load_ratio(row));
  json.member("bar", kLoadFactor);
  json.close('}');
}

void write_runs(Json& json, std::string_view key, const std::vector<ChildRow::Run>& runs) {
  json.key(key);
  json.open('[');
  for (const ChildRow::Run& run : runs) {
    json.open('{');
    json.member("seconds", run.seconds);
    write_latency(json, "before", run.before);
    write_latency(json, "during", run.during);
    json.close('}');
  }
  json.close(']');
}

void write_child(Json& json, const ChildRow& row) {
  json.open('{');
  json.member("work", row.work);
  write_runs(json, "mayfly", row.ours);
  write_runs(json, "redis", row.redis);
  json.member("ratio", child_ratio(row));
  json.member("bar", kChildFactor);
  json.close('}');
}

void write_aof(Json& json, const AofRow& row) {
  json.open('{');
  json.member("command", row.command);
  json.member("redis_command", row.other);
  write_pair(json, "with", row.with);
  write_pair(json, "without", row.without);
  json.member("ratio", ratio(row.with.ours, row.without.ours));
  json.member("redis_ratio", ratio(row.with.redis, row.without.redis));
  json.member("bar", kAofFactor);
  json.close('}');
}

void write_sync(Json& json, const SyncRow& row) {
  json.open('{');
  json.member("server", row.server);
  json.member("done", row.is_done);
  json.member("seconds", row.seconds);
  json.member("before_bytes", row.before_bytes);
  json.member("peak_bytes", row.peak_bytes);
  json.member("written_bytes", row.written_bytes);
  json.member("bar_bytes", row.bound_bytes);
  json.close('}');
}

}  // namespace

void write_persist(Json& json, const PersistResults& results) {
  json.key("persist");
  json.open('{');
  write_list(json, "save", results.saves, write_save);
  write_list(json, "load", results.loads, write_load);
  write_list(json, "children", results.children, write_child);
  write_list(json, "aof", results.aof, write_aof);
  write_list(json, "sync", results.syncs, write_sync);
  json.close('}');
}

}  // namespace mayfly
