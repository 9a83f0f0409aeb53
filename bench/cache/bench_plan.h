// SPDX-License-Identifier: Apache-2.0
// What a run of the comparison is to measure, and how the words of the command line become that.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cache/bench_workload.h"
#include "bench/cache/strategies.h"
#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

// As the user wrote it. Empty is what was not said.
struct BenchWords {
  std::string sizes = {};
  std::string strategies = {};
  std::string distributions = {};
  std::string rounds = {};
  std::string seed = {};
  bool full = false;
  bool quick = false;
};

struct BenchPlan {
  std::vector<std::size_t> sizes;
  std::vector<const Strategy*> strategies;
  std::vector<Distribution> distributions;
  int rounds = 3;
  std::uint64_t seed = 1;

  // No round but the first begins that would probably end after this. Not set when the user has
  // said how many rounds there shall be.
  std::optional<double> seconds_limit;

  std::size_t lateness_keys = 100'000;
  Millis lateness_length = std::chrono::seconds(90);
};

// The plan for what the user said, or what was wrong with it and what would be right.
Result<BenchPlan> make_plan(const BenchWords& words);

// "100k", "1.5m" or "250000" as a number of entries.
Result<std::size_t> parse_size(std::string_view text, std::string_view option = "--sizes");

// "100 K", "1 M" or "1,500": a number of entries as people say it.
std::string size_title(std::size_t size);

}  // namespace mayfly
