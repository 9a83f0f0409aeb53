// SPDX-License-Identifier: Apache-2.0
// The sampler and the lazy index promise no bound on lateness. What they do owe is here.

#include "mayfly/sampler.h"

#include <gtest/gtest.h>

#include <set>

#include "mayfly/lazy_index.h"

namespace mayfly {
namespace sampler_test {

using namespace std::chrono_literals;

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(SamplerTest, IsNeverEarlyAndTakesNothingTwice) {
  Sampler sampler;
  for (Slot slot = 0; slot < 2'000; ++slot) sampler.schedule(slot, at(slot));
  std::set<Slot> taken;
  for (int ms = 0; ms < 4'000; ms += 100) {
    std::vector<Due> due;
    sampler.take_due(at(ms), 10'000, due);
    for (const Due& one : due) {
      EXPECT_TRUE(is_due(one.deadline, at(ms)));
      EXPECT_TRUE(taken.insert(one.slot).second);
    }
  }
  EXPECT_EQ(sampler.size(), 2'000 - taken.size());
  EXPECT_EQ(sampler.check_invariants(), "");
}

TEST(SamplerTest, GoesOnWhileMoreThanAQuarterOfASampleWasDue) {
  Sampler sampler;
  for (Slot slot = 0; slot < 10'000; ++slot) sampler.schedule(slot, at(0));
  std::vector<Due> due;
  EXPECT_EQ(sampler.take_due(at(0), 100'000, due), 10'000u);
}

TEST(SamplerTest, StopsAfterOneSampleWhenFewAreDue) {
  Sampler sampler({.sample = 20, .repeat_percent = 25, .cycles_per_second = 10, .seed = 3});
  for (Slot slot = 0; slot < 10'000; ++slot) sampler.schedule(slot, at(slot < 500 ? 0 : 9'000));
  std::vector<Due> due;
  EXPECT_LE(sampler.take_due(at(1), 100'000, due), 20u);
  EXPECT_GT(sampler.count_due(at(1)), 400u) << "so it leaves due entries behind: no bound";
}

TEST(SamplerTest, AsksForTenCyclesASecondAndSoonerWhenCutShort) {
  Sampler sampler;
  for (Slot slot = 0; slot < 1'000; ++slot) sampler.schedule(slot, at(0));
  std::vector<Due> due;
  sampler.take_due(at(50), 10, due);
  EXPECT_EQ(sampler.next_deadline(), at(50));
  sampler.take_due(at(50), 1'000'000, due);
  sampler.schedule(5, at(1));
  EXPECT_EQ(sampler.next_deadline(), at(150));
}

TEST(SamplerTest, TheSameSeedTakesTheSame) {
  const auto run = [](std::uint64_t seed) {
    Sampler sampler({.seed = seed});
    for (Slot slot = 0; slot < 1'000; ++slot) sampler.schedule(slot, at(slot % 2 * 1'000));
    std::vector<Due> due;
    sampler.take_due(at(0), 50, due);
    std::vector<Slot> slots;
    slots.reserve(due.size());
    for (const Due& one : due) slots.push_back(one.slot);
    return slots;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(SamplerTest, MovesAndCancels) {
  Sampler sampler;
  sampler.schedule(3, at(10));
  sampler.schedule(3, at(20));
  EXPECT_EQ(sampler.size(), 1u);
  EXPECT_EQ(sampler.deadline(3), at(20));
  EXPECT_TRUE(sampler.cancel(3));
  EXPECT_FALSE(sampler.cancel(3));
  EXPECT_EQ(sampler.next_deadline(), kNever);
}

TEST(LazyIndexTest, KnowsDeadlinesAndCountsButTakesNothing) {
  LazyIndex index;
  for (Slot slot = 0; slot < 10; ++slot) index.schedule(slot, at(slot));
  EXPECT_EQ(index.count_due(at(4)), 5u);
  std::vector<Due> due;
  EXPECT_EQ(index.take_due(at(100), 10, due), 0u);
  EXPECT_EQ(index.next_deadline(), kNever);
  EXPECT_TRUE(index.cancel(3));
  EXPECT_EQ(index.count_due(at(4)), 4u);
  EXPECT_EQ(index.check_invariants(), "");
}

}  // namespace sampler_test
}  // namespace mayfly
