// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench store` found, for programs. Declared in bench_store_report.h.

#include "bench/report/bench_json.h"
#include "bench/store/bench_store_bars.h"
#include "bench/store/bench_store_report.h"
#include "tools/json/json.h"

namespace mayfly {
namespace {

void write_peers(Json& json, std::string_view key, const std::vector<const PeerRow*>& peers) {
  json.key(key);
  json.open('[');
  for (const PeerRow* const peer : peers) json.value(peer->name);
  json.close(']');
}

void write_row(Json& json, const StoreRow& row) {
  json.open('{');
  json.member("name", row.workload->name);
  json.member("durability", name_of(row.workload->durability));
  json.member("ttl", row.workload->ttl);
  json.member("value_bytes", std::uint64_t{row.value_bytes});
  json.key("systems");
  json.open('[');
  for (const StoreRow::Cell& cell : row.cells) {
    json.open('{');
    json.member("name", cell.peer->name);
    json.member("per_second", row.rate(cell.peer->name));
    json.member("mayfly_ratio", ratio(row.find("mayfly"), &cell));
    json.key("repeats");
    json.open('[');
    for (const double rate : cell.rates) json.value(rate);
    json.close(']');
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

void write_churn(Json& json, const ChurnPlan& plan, const ChurnResult& churn) {
  json.key("churn");
  json.open('{');
  json.member("puts_per_second", std::uint64_t{plan.puts_per_second});
  json.member("simulated_seconds", std::int64_t{plan.length.count()});
  json.member("durability", name_of(plan.durability));
  json.member("ttl_seconds", std::int64_t{plan.ttl.count()});
  json.member("puts", churn.puts);
  json.member("live_entries", churn.live_entries);
  json.member("live_bytes", churn.live_bytes);
  json.member("compact_bytes", churn.compact_bytes);
  json.member("file_bytes", churn.file_bytes);
  json.member("ratio", churn.ratio());
  json.member("seconds", churn.seconds);
  json.key("file_bytes_each_minute");
  json.open('[');
  for (const std::uint64_t bytes : churn.file_bytes_each_minute) json.value(bytes);
  json.close(']');
  json.close('}');
}

}  // namespace

std::string store_to_json(const StoreBenchPlan& plan, const StoreResults& results,
                          const Machine& machine) {
  Json json;
  json.open('{');
  json.member("benchmark", "store");
  json.member("version", std::string_view(machine.version));
  write_machine(json, machine);
  json.member("keys", std::uint64_t{plan.keys});
  json.member("repeats", plan.repeats);
  json.member("seed", plan.seed);
  write_peers(json, "systems", plan.peers);
  write_peers(json, "missing", plan.missing);
  json.member("seconds", results.seconds);
  json.key("workloads");
  json.open('[');
  for (const StoreRow& row : results.rows) write_row(json, row);
  json.close(']');
  if (results.churn) write_churn(json, plan.churn_plan, *results.churn);
  write_bars(json, judge_store(results));
  json.close('}');
  return json.text();
}

}  // namespace mayfly
