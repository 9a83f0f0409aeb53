// SPDX-License-Identifier: Apache-2.0
// What the strategies are given to do: which entries, with which deadlines, in which order.
//
// A workload is made once from a seed and used for every strategy and every round, so that the
// strategies differ in nothing but themselves.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mayfly/random.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly::bench {

// How TTLs are spread. Each is hard for another kind of index.
enum class Distribution {
  uniform,        // 1 ms to 1 hour, all alike probable
  same_deadline,  // one deadline for all, as after a bulk load: time cannot tell them apart
  long_tailed,    // Pareto: half of them below 20 ms, one in a hundred above 50 s, some years
};

struct DistributionName {
  Distribution distribution;
  std::string_view name;  // on the command line and in results
};

// All of them, in the order in which they are shown.
std::span<const DistributionName> distributions();
const DistributionName& name_of(Distribution distribution);

// When every workload starts: the first of January 2026. Fixed, so that a run can be repeated, and
// of today's size, since some indexes work on the digits of a deadline.
inline constexpr Time kBenchStart{Millis(1'767'225'600'000)};

struct Workload {
  Time start;                // every deadline is later
  Time end;                  // every deadline is due
  std::vector<Time> first;   // by slot: the deadline at insertion
  std::vector<Time> second;  // by slot: the one that it is moved to
  std::vector<Slot> order;   // every slot once, in random order

  std::size_t size() const { return order.size(); }

  // Some slots at random, for operations that need not be done to every entry to know their cost.
  std::span<const Slot> some() const { return std::span(order).first((order.size() + 3) / 4); }
};

Workload make_workload(std::size_t size, Distribution distribution, std::uint64_t seed);

// A TTL of at least 1 ms: up to `longest`, all alike probable; or from `least` up to ten years,
// half of them below four times `least`.
Millis uniform_ttl(Random& random, Millis longest);
Millis long_tailed_ttl(Random& random, Millis least);

}  // namespace mayfly::bench
