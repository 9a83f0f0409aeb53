// SPDX-License-Identifier: Apache-2.0
// The workloads of the suite `store`, one row each.
//
// The rows are done from the first to the last. One that is `fresh` begins with an empty database
// and fills it; those behind it use what it has left.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "bench/store/ops.h"
#include "mayfly/store_options.h"

namespace mayfly::bench {

enum class StoreTask {
  put,          // in transactions of kStoreBatch
  put_each,     // each a transaction of its own; bounded in number and in time
  put_threads,  // the same by kStoreThreads threads at once
  get,          // in one transaction
  get_each,     // each by itself, with a copy of the value
  scan,         // all that is alive, in order
  mixed,        // 70 % gets, 20 % puts with a TTL, 10 % erasures, in transactions of kStoreBatch
  purge,        // the half that is due
};

inline constexpr std::size_t kStoreBatch = 1000;
inline constexpr std::size_t kStoreThreads = 8;

struct StoreWorkload {
  std::string_view name;   // on the command line; those that differ in durability share one
  std::string_view title;  // in tables
  StoreTask task;
  Durability durability = Durability::off;
  bool ttl = false;
  bool fresh = false;
  KeyOrder order = KeyOrder::random;
  unsigned generation = 0;  // of the values that it puts
  bool sustained = false;   // single puts: many more, so that checkpoints are paid for
  bool at_rest = false;     // it begins with a database that was closed and opened again
};

std::span<const StoreWorkload> store_workloads();

// The row of that name and durability. REQUIRES: there is one.
const StoreWorkload& store_workload(std::string_view name, Durability durability = Durability::off);

// Whether each put is a transaction, so that how many there are depends on the speed.
inline bool is_single(const StoreWorkload& workload) {
  return workload.task == StoreTask::put_each || workload.task == StoreTask::put_threads;
}

// Whether it changes the database.
bool writes(const StoreWorkload& workload);

// "single put, random (normal)". Durability is said where it matters.
std::string title_of(const StoreWorkload& workload);
std::string_view name_of(Durability durability);

}  // namespace mayfly::bench
