// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench store` found out, as plain data: report, charts, bars and JSON all read this.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/peers/peer_list.h"
#include "bench/report/statistics.h"
#include "bench/store/bench_store_churn.h"
#include "bench/store/bench_store_workload.h"

namespace mayfly {

// One workload with values of one size, done by all systems that can.
struct StoreRow {
  struct Cell {
    const PeerRow* peer;
    std::vector<double> rates = {};  // operations a second, one for each repeat
  };

  const StoreWorkload* workload;
  std::size_t value_bytes;
  std::vector<Cell> cells;

  // Null if it did not take part.
  const Cell* find(std::string_view peer) const {
    for (const Cell& cell : cells) {
      if (cell.peer->name == peer) return &cell;
    }
    return nullptr;
  }

  std::optional<double> rate(std::string_view peer) const {
    const Cell* const cell = find(peer);
    if (cell == nullptr || cell->rates.empty()) return {};
    return median(cell->rates);
  }
};

// How many times as fast one is as the other: the median over the repeats, since what is measured
// in the same repeat was measured on the same machine in the same mood.
inline std::optional<double> ratio(const StoreRow::Cell* one, const StoreRow::Cell* other) {
  if (one == nullptr || other == nullptr) return {};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < one->rates.size() && i < other->rates.size(); ++i) {
    ratios.push_back(one->rates[i] / other->rates[i]);
  }
  if (ratios.empty()) return {};
  return median(ratios);
}

struct StoreResults {
  std::size_t keys = 0;
  std::vector<StoreRow> rows;  // by size of values, then in the order of the workloads
  std::optional<ChurnResult> churn;
  double seconds = 0;  // that all of it took

  // Null if it was not measured.
  const StoreRow* find(std::string_view name, Durability durability,
                       std::size_t value_bytes) const {
    for (const StoreRow& row : rows) {
      if (row.workload->name == name && row.workload->durability == durability &&
          row.value_bytes == value_bytes) {
        return &row;
      }
    }
    return nullptr;
  }
};

}  // namespace mayfly
