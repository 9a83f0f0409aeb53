// SPDX-License-Identifier: Apache-2.0
// What a run of `mayfly bench store` is to measure, and how the words of the command line become
// that.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/peers/peer_list.h"
#include "bench/store/bench_store_churn.h"
#include "bench/store/bench_store_workload.h"
#include "mayfly/result.h"

namespace mayfly {

// As the user wrote it. Empty is what was not said.
struct StoreBenchWords {
  std::string keys = {};
  std::string repeats = {};
  std::string values = {};
  std::string peers = {};
  std::string only = {};
  std::string directory = {};
  bool quick = false;
};

struct StoreBenchPlan {
  std::size_t keys = 1'000'000;
  int repeats = 3;
  std::vector<std::size_t> value_bytes = {60, 1024};
  std::vector<const PeerRow*> peers;            // Mayfly first; only what is built in
  std::vector<const PeerRow*> missing;          // asked for, but not built in
  std::vector<const StoreWorkload*> workloads;  // what is to be told, in the order of the table
  std::size_t single_puts = 20'000;             // at most
  double single_seconds = 1.5;                  // at most
  std::filesystem::path directory;              // the files go into a fresh one below this
  std::uint64_t seed = 1;
  bool churn = false;
  ChurnPlan churn_plan;
};

// The plan for what the user said, or what was wrong with it and what would be right.
Result<StoreBenchPlan> make_store_plan(const StoreBenchWords& words);

// Whether a workload must be done: because it was asked for, or to fill the database of another.
bool is_needed(const StoreBenchPlan& plan, const StoreWorkload& workload);
bool is_asked(const StoreBenchPlan& plan, const StoreWorkload& workload);

// How many operations it does at most.
std::size_t op_count(const StoreBenchPlan& plan, const StoreWorkload& workload);

// How much disk the files of all systems take together, at most.
std::uint64_t needed_bytes(const StoreBenchPlan& plan);

// Code::full if `available` bytes are not enough.
Status check_space(const StoreBenchPlan& plan, std::uint64_t available);

}  // namespace mayfly
