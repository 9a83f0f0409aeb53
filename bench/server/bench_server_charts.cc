// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench server` found, as pictures. Declared in bench_server_report.h.

#include <fmt/format.h>

#include "bench/cache/bench_plan.h"
#include "bench/report/bar_chart.h"
#include "bench/server/bench_server_report.h"
#include "bench/server/bench_server_speed.h"

namespace mayfly {
namespace {

// Of the palette by Okabe and Ito, which all eyes can tell apart.
void add_servers(BarChart& chart) {
  chart.series = {{"Mayfly", "#0072b2"}, {"redis-server", "#d55e00"}};
}

Chart speed_chart(const ServerResults& results, int pipeline) {
  BarChart chart;
  chart.title = "How fast is the server?";
  chart.subtitle = fmt::format("redis-benchmark, {} clients, {}; longer is better", kSpeedClients,
                               pipeline == 1 ? std::string("one request at a time")
                                             : fmt::format("{} requests in flight", pipeline));
  chart.axis = "requests a second";
  add_servers(chart);
  for (const SpeedRow& row : results.speed) {
    if (row.pipeline != pipeline) continue;
    const std::string keys = row.keys == 1 ? "1 key" : size_title(row.keys) + " keys";
    chart.groups.push_back(
        {fmt::format("{}, {}", row.command, keys),
         {middle(row.ours, &SpeedRun::per_second), middle(row.redis, &SpeedRun::per_second)}});
  }
  return {pipeline == 1 ? "server_speed.svg" : "server_speed_pipelined.svg", chart.render()};
}

Chart memory_chart(const ServerResults& results) {
  BarChart chart;
  chart.title = "How much memory does a field take?";
  chart.subtitle = "fields and values of 13 bytes, all overheads counted; shorter is better";
  chart.axis = "bytes a field";
  add_servers(chart);
  for (const MemoryRow& row : results.memory) {
    chart.groups.push_back(
        {fmt::format("hashes of {}{}", size_title(row.fields_each), row.with_ttl ? ", TTLs" : ""),
         {row.ours, row.redis}});
  }
  return {"server_memory.svg", chart.render()};
}

Chart on_time_chart(const ServerBenchPlan& plan, const ServerResults& results) {
  BarChart chart;
  chart.title = "Is what is due removed on time?";
  chart.subtitle = fmt::format(
      "from a deadline that {} entries share to the last event; shorter is better", plan.due);
  chart.axis =
      fmt::format("milliseconds; {} where not all came", static_cast<long>(plan.patience.count()));
  chart.is_logarithmic = true;
  chart.least = 0.1;
  add_servers(chart);
  const auto late = [&](const OnTimeRow::Events& events) {
    return events.count == plan.due ? events.last_ms : static_cast<double>(plan.patience.count());
  };
  for (const OnTimeRow& row : results.on_time) {
    const std::string idle = row.idle == 0 ? "0" : size_title(row.idle);
    chart.groups.push_back(
        {fmt::format("{} among {}", row.fields ? "fields" : "keys", idle),
         {late(row.ours), row.redis ? std::optional(late(*row.redis)) : std::nullopt}});
  }
  return {"server_on_time.svg", chart.render()};
}

}  // namespace

std::vector<Chart> make_server_charts(const ServerBenchPlan& plan, const ServerResults& results) {
  std::vector<Chart> charts;
  if (!results.speed.empty()) {
    for (const int pipeline : {1, kSpeedPipeline}) charts.push_back(speed_chart(results, pipeline));
  }
  if (!results.memory.empty()) charts.push_back(memory_chart(results));
  if (!results.on_time.empty()) charts.push_back(on_time_chart(plan, results));
  return charts;
}

}  // namespace mayfly
