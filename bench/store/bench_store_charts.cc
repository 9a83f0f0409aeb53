// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench store` found, as pictures. Declared in bench_store_report.h.

#include <fmt/format.h>

#include <algorithm>

#include "bench/cache/bench_plan.h"
#include "bench/report/bar_chart.h"
#include "bench/store/bench_store_report.h"

namespace mayfly {
namespace {

std::vector<const PeerRow*> peers_in(const StoreResults& results) {
  std::vector<const PeerRow*> peers;
  for (const StoreRow& row : results.rows) {
    for (const StoreRow::Cell& cell : row.cells) {
      if (std::ranges::find(peers, cell.peer) == peers.end()) peers.push_back(cell.peer);
    }
  }
  return peers;
}

Chart rate_chart(const StoreResults& results, std::size_t value_bytes) {
  BarChart chart;
  chart.title = "How fast is the store?";
  chart.subtitle = fmt::format("{} keys, values of {} bytes; longer is better",
                               size_title(results.keys), value_bytes);
  chart.axis = "operations a second";
  chart.is_logarithmic = true;
  chart.least = 1000;
  const std::vector<const PeerRow*> peers = peers_in(results);
  for (const PeerRow* const peer : peers) {
    chart.series.push_back({std::string(peer->title), std::string(peer->colour)});
  }
  for (const StoreRow& row : results.rows) {
    if (row.value_bytes != value_bytes) continue;
    BarChart::Group group{title_of(*row.workload), {}};
    for (const PeerRow* const peer : peers) group.values.push_back(row.rate(peer->name));
    chart.groups.push_back(std::move(group));
  }
  return {fmt::format("store_{}.svg", value_bytes), chart.render()};
}

}  // namespace

std::vector<Chart> make_store_charts(const StoreResults& results) {
  std::vector<std::size_t> sizes;
  for (const StoreRow& row : results.rows) {
    if (std::ranges::find(sizes, row.value_bytes) == sizes.end()) sizes.push_back(row.value_bytes);
  }
  std::vector<Chart> charts;
  charts.reserve(sizes.size());
  for (const std::size_t value_bytes : sizes) charts.push_back(rate_chart(results, value_bytes));
  return charts;
}

}  // namespace mayfly
