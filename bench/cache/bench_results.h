// SPDX-License-Identifier: Apache-2.0
// What the comparison found out, as plain data: the reports, the charts and the JSON all read this.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/cache/bench_workload.h"
#include "mayfly/time.h"

namespace mayfly {

// What is measured. All in nanoseconds an operation, but for the bytes.
enum class Measure {
  insert,  // a fresh entry with a deadline
  get,     // read a live entry, at random
  change,  // move a deadline, at random
  cancel,  // drop a deadline, at random
  cycle,   // schedule, move and cancel one more entry while all the others are there
  expire,  // remove one of many that are all due
  idle,    // ask whether there is anything to do, when there is not
  bytes,   // memory an entry
};
inline constexpr std::size_t kMeasures = 8;

// An index alone, driven by slot numbers; or the same index inside a cache.
enum class Layer { index, cache };

// What was measured of one strategy. Absent is what a layer does not have or a strategy cannot do.
class Costs {
 public:
  std::optional<double>& operator[](Measure measure) {
    return values_[static_cast<std::size_t>(measure)];
  }
  std::optional<double> operator[](Measure measure) const {
    return values_[static_cast<std::size_t>(measure)];
  }

 private:
  std::array<std::optional<double>, kMeasures> values_;
};

// What was measured under the same conditions: one row for each strategy, in the plan's order.
struct Comparison {
  struct Row {
    std::string_view strategy;
    Costs costs;             // medians
    std::size_t rounds = 1;  // of so many
  };

  Layer layer;
  std::size_t size;
  Distribution distribution;
  std::vector<Row> rows;

  // The costs of a strategy, or null if it was not measured.
  const Costs* find(std::string_view strategy) const {
    for (const Row& row : rows) {
      if (row.strategy == strategy) return &row.costs;
    }
    return nullptr;
  }
};

// How late a strategy removed what was due, in a simulation.
struct LatenessResult {
  Millis p50{0};
  Millis p99{0};
  Millis max{0};
  std::size_t expired = 0;    // entries whose deadline passed during the run
  std::size_t left = 0;       // of those, how many were still there at its end
  std::vector<double> share;  // of all entries present, how many were due; every kShareStep
};
inline constexpr Millis kShareStep{100};

struct LatenessComparison {
  struct Row {
    std::string_view strategy;
    LatenessResult lateness;
  };

  Distribution distribution;
  std::size_t keys;
  Millis length;
  std::vector<Row> rows;
};

struct BenchResults {
  std::vector<Comparison> comparisons;
  std::vector<LatenessComparison> lateness;
  double seconds = 0;  // that all of it took
};

}  // namespace mayfly
