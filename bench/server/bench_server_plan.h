// SPDX-License-Identifier: Apache-2.0
// What a run of `mayfly bench server` is to measure, and how the words of the command line become
// that.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

// As the user wrote it. Empty is what was not said.
struct ServerBenchWords {
  std::string only = {};
  std::string repeats = {};
  std::string requests = {};
  std::string keys = {};
  std::string wait = {};
  bool full = false;
  bool quick = false;
};

struct ServerBenchPlan {
  // Which parts.
  bool speed = true;
  bool memory = true;
  bool on_time = true;
  bool stall = true;
  bool hlen = true;
  bool persist = true;

  // Whether redis-server is there to compare with.
  bool has_redis = false;

  int repeats = 3;
  std::size_t requests = 100'000;  // of one run of redis-benchmark; with -P 32 ten times as many
  std::size_t key_range = 100'000;
  std::size_t memory_fields = 500'000;
  std::vector<std::size_t> idle_sizes = {0, 10'000, 100'000, 1'000'000};
  std::size_t due = 1000;
  Millis patience = std::chrono::seconds(10);  // how long is waited for those that are late
  std::size_t stall_fields = 1'000'000;
  std::size_t growth_keys = 2'000'000;
  std::size_t hlen_fields = 1'000'000;
  int hlen_calls = 1000;
  std::size_t persist_fields = 5'000'000;
};

// The sizes that the bars speak of.
inline constexpr std::size_t kReferenceRequests = 100'000;
inline constexpr std::size_t kReferenceMemoryFields = 500'000;
inline constexpr std::size_t kReferenceStallFields = 1'000'000;
inline constexpr std::size_t kReferenceGrowthKeys = 10'000'000;
inline constexpr std::size_t kReferenceHlenFields = 1'000'000;
inline constexpr std::size_t kReferencePersistFields = 5'000'000;

// The plan for what the user said, or what was wrong with it and what would be right.
Result<ServerBenchPlan> make_server_plan(const ServerBenchWords& words);

// How many requests a run of redis-benchmark makes.
std::size_t request_count(const ServerBenchPlan& plan, int pipeline);

}  // namespace mayfly
