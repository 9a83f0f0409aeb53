// SPDX-License-Identifier: Apache-2.0
// Does the simulation see what each strategy promises, and what it cannot promise?

#include "bench/cache/bench_lateness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mayfly/deadline_heap.h"
#include "mayfly/lazy_index.h"
#include "mayfly/sampler.h"
#include "mayfly/timer_wheel.h"
#include "mayfly/window_queue.h"

namespace mayfly {
namespace {

constexpr std::size_t kKeys = 2000;
constexpr Millis kLength{6000};

class LatenessTest : public testing::TestWithParam<DistributionName> {
 protected:
  const Traffic traffic_ = make_traffic(kKeys, kLength, GetParam().distribution, 1);
};

TEST_P(LatenessTest, MostEntriesExpireWithinTheRun) {
  const LatenessResult lateness = simulate_lateness<DeadlineHeap>(traffic_);
  EXPECT_GT(lateness.expired, traffic_.deadlines.size() / 2);
}

TEST_P(LatenessTest, ExactIndexesAreNeverLate) {
  for (const LatenessResult& lateness :
       {simulate_lateness<DeadlineHeap>(traffic_), simulate_lateness<TimerWheel>(traffic_)}) {
    EXPECT_EQ(lateness.max, Millis(0));
    EXPECT_EQ(lateness.left, 0u);
    EXPECT_EQ(*std::ranges::max_element(lateness.share), 0);
  }
}

TEST_P(LatenessTest, WindowsAreLateByLessThanOneWindow) {
  const LatenessResult lateness = simulate_lateness<WindowQueue>(traffic_);
  EXPECT_LE(lateness.max, Millis(999));
}

TEST_P(LatenessTest, WithoutAnIndexDueEntriesPileUp) {
  const LatenessResult lateness = simulate_lateness<LazyIndex>(traffic_);
  EXPECT_GT(lateness.left, lateness.expired / 4);
  EXPECT_GT(*std::ranges::max_element(lateness.share), 0.3);
  EXPECT_LE(lateness.p50, lateness.p99);
  EXPECT_LE(lateness.p99, lateness.max);
}

TEST_P(LatenessTest, EveryStrategySeesTheSameDeadlinesPass) {
  const std::size_t expired = simulate_lateness<DeadlineHeap>(traffic_).expired;
  EXPECT_EQ(simulate_lateness<LazyIndex>(traffic_).expired, expired);
  EXPECT_EQ(simulate_lateness<Sampler>(traffic_).expired, expired);
}

TEST_P(LatenessTest, SharesAreTakenAtEvenSteps) {
  EXPECT_EQ(simulate_lateness<Sampler>(traffic_).share.size(),
            static_cast<std::size_t>(kLength / kShareStep));
}

INSTANTIATE_TEST_SUITE_P(All, LatenessTest,
                         testing::ValuesIn(distributions().begin(), distributions().end()));

TEST(LatenessOfTheSampler, IsNotBoundedByItsCycle) {
  const Traffic traffic = make_traffic(kKeys, kLength, Distribution::uniform, 1);
  EXPECT_GT(simulate_lateness<Sampler>(traffic).max, Millis(100));
}

}  // namespace
}  // namespace mayfly
