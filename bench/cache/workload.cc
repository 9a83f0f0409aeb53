// SPDX-License-Identifier: Apache-2.0
#include "bench/cache/workload.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace mayfly::bench {
namespace {

using std::chrono::hours;

constexpr DistributionName kDistributions[] = {
    {Distribution::uniform, "uniform"},
    {Distribution::same_deadline, "same-deadline"},
    {Distribution::long_tailed, "long-tailed"},
};

constexpr Millis kUniformLongest = hours(1);
constexpr Millis kTailLeast{5};
constexpr Millis kTailLongest = hours(24 * 365 * 10);

// The deadlines of one generation of entries. Two generations have different common deadlines, so
// that a change from one to the other is a real move.
std::vector<Time> make_deadlines(std::size_t size, Distribution distribution, Random& random,
                                 int generation) {
  std::vector<Time> deadlines(size, kBenchStart + generation * kUniformLongest);
  for (Time& deadline : deadlines) {
    if (distribution == Distribution::uniform) {
      deadline = kBenchStart + uniform_ttl(random, kUniformLongest);
    } else if (distribution == Distribution::long_tailed) {
      deadline = kBenchStart + long_tailed_ttl(random, kTailLeast);
    }
  }
  return deadlines;
}

std::vector<Slot> shuffled_slots(std::size_t size, Random& random) {
  std::vector<Slot> slots(size);
  std::iota(slots.begin(), slots.end(), Slot{0});
  for (std::size_t left = size; left > 1; --left) {
    std::swap(slots[left - 1], slots[random.below(left)]);
  }
  return slots;
}

}  // namespace

std::span<const DistributionName> distributions() { return kDistributions; }

const DistributionName& name_of(Distribution distribution) {
  return *std::ranges::find(kDistributions, distribution, &DistributionName::distribution);
}

Workload make_workload(std::size_t size, Distribution distribution, std::uint64_t seed) {
  assert(size > 0);
  Random random(seed);
  Workload workload{
      .start = kBenchStart, .end = kBenchStart, .first = {}, .second = {}, .order = {}};
  workload.first = make_deadlines(size, distribution, random, 1);
  workload.second = make_deadlines(size, distribution, random, 2);
  workload.order = shuffled_slots(size, random);
  workload.end = std::max(*std::ranges::max_element(workload.first),
                          *std::ranges::max_element(workload.second));
  return workload;
}

Millis uniform_ttl(Random& random, Millis longest) {
  return Millis(
      1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(longest.count()))));
}

// Pareto with exponent one half: least / u^2, for u evenly between 0 and 1.
Millis long_tailed_ttl(Random& random, Millis least) {
  const double u = 1 - random.fraction();  // never 0
  const double ttl = static_cast<double>(least.count()) / (u * u);
  if (ttl >= static_cast<double>(kTailLongest.count())) return kTailLongest;
  return std::max(Millis(1), Millis(static_cast<std::int64_t>(ttl)));
}

}  // namespace mayfly::bench
