// SPDX-License-Identifier: Apache-2.0
#include "bench/store/workloads.h"

#include <algorithm>
#include <cassert>

namespace mayfly::bench {
namespace {

using enum Durability;
using Task = StoreTask;

// clang-format off
constexpr StoreWorkload kWorkloads[] = {
    {.name = "put-seq", .title = "put, sequential", .task = Task::put,
     .fresh = true, .order = KeyOrder::sequential},
    {.name = "put-random", .title = "put, random", .task = Task::put,
     .fresh = true, .order = KeyOrder::shuffled},
    {.name = "get", .title = "get, random", .task = Task::get},
    {.name = "get-auto", .title = "get, autocommit", .task = Task::get_each},
    {.name = "scan", .title = "scan", .task = Task::scan},
    {.name = "get-rest", .title = "get, at rest", .task = Task::get, .at_rest = true},
    {.name = "scan-rest", .title = "scan, at rest", .task = Task::scan, .at_rest = true},
    {.name = "put-single-seq", .title = "single put, sequential", .task = Task::put_each,
     .durability = off, .order = KeyOrder::appended, .generation = 1},
    {.name = "put-single", .title = "single put, random", .task = Task::put_each,
     .durability = off, .generation = 2},
    {.name = "put-single-seq", .title = "single put, sequential", .task = Task::put_each,
     .durability = normal, .order = KeyOrder::appended, .generation = 3},
    {.name = "put-single", .title = "single put, random", .task = Task::put_each,
     .durability = normal, .generation = 4},
    {.name = "put-single-seq", .title = "single put, sequential", .task = Task::put_each,
     .durability = full, .order = KeyOrder::appended, .generation = 5},
    {.name = "put-single", .title = "single put, random", .task = Task::put_each,
     .durability = full, .generation = 6},
    {.name = "put-threads", .title = "single put, 8 threads", .task = Task::put_threads,
     .durability = full, .generation = 7},
    {.name = "put-long", .title = "single put, sustained", .task = Task::put_each,
     .durability = normal, .generation = 1, .sustained = true},

    {.name = "put-ttl", .title = "put with TTL", .task = Task::put, .durability = normal,
     .ttl = true, .fresh = true, .order = KeyOrder::shuffled},
    {.name = "purge", .title = "purge", .task = Task::purge, .durability = normal, .ttl = true},
    {.name = "put-ttl", .title = "put with TTL", .task = Task::put,
     .ttl = true, .fresh = true, .order = KeyOrder::shuffled},
    {.name = "get-ttl", .title = "get, TTLs present", .task = Task::get, .ttl = true},
    {.name = "scan-ttl", .title = "scan, TTLs present", .task = Task::scan, .ttl = true},
    {.name = "get-ttl-rest", .title = "get, TTLs present, at rest", .task = Task::get, .ttl = true,
     .at_rest = true},
    {.name = "scan-ttl-rest", .title = "scan, TTLs present, at rest", .task = Task::scan,
     .ttl = true, .at_rest = true},
    {.name = "put-single-ttl", .title = "single put with TTL", .task = Task::put_each,
     .durability = normal, .ttl = true, .generation = 1},
    {.name = "put-single-ttl", .title = "single put with TTL", .task = Task::put_each,
     .durability = full, .ttl = true, .generation = 2},
    {.name = "put-single-ttl", .title = "single put with TTL", .task = Task::put_each,
     .durability = off, .ttl = true, .generation = 3},
    {.name = "put-long-ttl", .title = "single put with TTL, sustained", .task = Task::put_each,
     .durability = normal, .ttl = true, .generation = 5, .sustained = true},
    {.name = "mixed", .title = "mixed 70/20/10", .task = Task::mixed, .ttl = true,
     .generation = 4},
    {.name = "purge", .title = "purge", .task = Task::purge, .ttl = true},
};
// clang-format on

}  // namespace

std::span<const StoreWorkload> store_workloads() { return kWorkloads; }

const StoreWorkload& store_workload(std::string_view name, Durability durability) {
  const auto* const found = std::ranges::find_if(kWorkloads, [&](const StoreWorkload& workload) {
    return workload.name == name && workload.durability == durability;
  });
  assert(found != std::end(kWorkloads));
  return *found;
}

bool writes(const StoreWorkload& workload) {
  return workload.task != Task::get && workload.task != Task::get_each &&
         workload.task != Task::scan;
}

std::string title_of(const StoreWorkload& workload) {
  std::string title(workload.title);
  if (writes(workload)) title.append(" (").append(name_of(workload.durability)).append(")");
  return title;
}

std::string_view name_of(Durability durability) {
  switch (durability) {
    case off:
      return "off";
    case normal:
      return "normal";
    case full:
      break;
  }
  return "full";
}

}  // namespace mayfly::bench
