// SPDX-License-Identifier: Apache-2.0
// Is a workload what its name says, and the same for every strategy?

#include "bench/cache/bench_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace mayfly::bench {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kSize = 20'000;

class EveryDistribution : public testing::TestWithParam<DistributionName> {
 protected:
  const Workload workload_ = make_workload(kSize, GetParam().distribution, 1);
};

TEST_P(EveryDistribution, HasNoDeadlineAtOrBeforeItsStartOrAfterItsEnd) {
  for (const auto* deadlines : {&workload_.first, &workload_.second}) {
    EXPECT_FALSE(is_due(*std::ranges::min_element(*deadlines), workload_.start));
    EXPECT_TRUE(is_due(*std::ranges::max_element(*deadlines), workload_.end));
  }
}

TEST_P(EveryDistribution, VisitsEachSlotOnceAndNotInOrder) {
  EXPECT_FALSE(std::ranges::is_sorted(workload_.order));
  const std::set<Slot> slots(workload_.order.begin(), workload_.order.end());
  EXPECT_EQ(slots.size(), kSize);
  EXPECT_EQ(*slots.rbegin(), kSize - 1);
}

TEST_P(EveryDistribution, MovesNearlyEveryEntry) {
  std::size_t moved = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    moved += workload_.first[i] != workload_.second[i] ? 1u : 0u;
  }
  EXPECT_GT(moved, kSize * 95 / 100);
}

TEST_P(EveryDistribution, IsRepeatedByItsSeedAndChangedByAnother) {
  const Workload same = make_workload(kSize, GetParam().distribution, 1);
  const Workload other = make_workload(kSize, GetParam().distribution, 2);
  EXPECT_EQ(workload_.first, same.first);
  EXPECT_EQ(workload_.order, same.order);
  EXPECT_NE(workload_.order, other.order);
}

INSTANTIATE_TEST_SUITE_P(All, EveryDistribution,
                         testing::ValuesIn(distributions().begin(), distributions().end()));

// The share of entries whose TTL is at most `ttl`.
double share_within(const Workload& workload, Millis ttl) {
  const auto count = std::ranges::count_if(
      workload.first, [&](Time deadline) { return deadline - workload.start <= ttl; });
  return static_cast<double>(count) / static_cast<double>(workload.size());
}

TEST(UniformWorkload, SpreadsTtlsEvenlyOverAnHour) {
  const Workload workload = make_workload(kSize, Distribution::uniform, 1);
  EXPECT_NEAR(share_within(workload, minutes(15)), 0.25, 0.02);
  EXPECT_NEAR(share_within(workload, minutes(30)), 0.5, 0.02);
  EXPECT_EQ(share_within(workload, hours(1)), 1);
}

TEST(SameDeadlineWorkload, HasOneDeadlineBeforeAndAnotherAfterTheChange) {
  const Workload workload = make_workload(kSize, Distribution::same_deadline, 1);
  EXPECT_EQ(std::set(workload.first.begin(), workload.first.end()).size(), 1u);
  EXPECT_EQ(std::set(workload.second.begin(), workload.second.end()).size(), 1u);
  EXPECT_NE(workload.first[0], workload.second[0]);
}

TEST(LongTailedWorkload, IsMostlyShortAndHasYears) {
  const Workload workload = make_workload(kSize, Distribution::long_tailed, 1);
  EXPECT_NEAR(share_within(workload, Millis(20)), 0.5, 0.05);
  EXPECT_NEAR(share_within(workload, seconds(50)), 0.99, 0.01);
  EXPECT_LT(share_within(workload, hours(24 * 7)), 1);
}

}  // namespace
}  // namespace mayfly::bench
