// SPDX-License-Identifier: Apache-2.0
// The suites `expiry` and `cache`: workloads, lateness, memory, and the options.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "bench/cache/costs.h"
#include "bench/cache/expiry_suite.h"
#include "bench/cache/strategies.h"
#include "bench/cache/workload.h"
#include "bench/report/option_values.h"

namespace mayfly::bench {
namespace cache_test {

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

constexpr std::size_t kKeys = 2000;
constexpr Millis kLength{6000};

class LatenessTest : public testing::TestWithParam<DistributionName> {
 protected:
  const Traffic traffic_ = make_traffic(kKeys, kLength, GetParam().distribution, 1);
};

TEST_P(LatenessTest, MostEntriesExpireWithinTheRun) {
  const Lateness lateness = simulate_lateness<DeadlineHeap>(traffic_);
  EXPECT_GT(lateness.expired, traffic_.deadlines.size() / 2);
}

TEST_P(LatenessTest, ExactIndexesAreNeverLate) {
  for (const Lateness& lateness :
       {simulate_lateness<DeadlineHeap>(traffic_), simulate_lateness<TimerWheel>(traffic_)}) {
    EXPECT_EQ(lateness.max, Millis(0));
    EXPECT_EQ(lateness.left, 0u);
    EXPECT_EQ(*std::ranges::max_element(lateness.share), 0);
  }
}

TEST_P(LatenessTest, WindowsAreLateByLessThanOneWindow) {
  const Lateness lateness = simulate_lateness<WindowQueue>(traffic_);
  EXPECT_LE(lateness.max, Millis(999));
}

TEST_P(LatenessTest, WithoutAnIndexDueEntriesPileUp) {
  const Lateness lateness = simulate_lateness<LazyIndex>(traffic_);
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

TEST(AllocationCounter, CountsABlockWithItsHeaderAndGivesItBack) {
  const std::int64_t before = allocated_bytes();
  auto block = std::make_unique<std::vector<char>>(1000);
  const std::int64_t with_block = allocated_bytes();
  block.reset();

  EXPECT_GE(with_block - before, 1000 + 8 + static_cast<std::int64_t>(sizeof(std::vector<char>)));
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AllocationCounter, CountsEachNodeOfAContainer) {
  const std::int64_t before = allocated_bytes();
  std::map<int, int> numbers;
  for (int i = 0; i < 1000; ++i) numbers[i] = i;
  const std::int64_t bytes = allocated_bytes() - before;

  EXPECT_GE(bytes, 1000 * 48);  // a node has 40 bytes, and glibc gives 48 for it
  numbers.clear();
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AllocationCounter, CountsBlocksWithAnAlignmentOfTheirOwn) {
  struct alignas(128) Wide {
    char bytes[128];
  };
  const std::int64_t before = allocated_bytes();
  auto wide = std::make_unique<Wide[]>(10);
  EXPECT_GE(allocated_bytes() - before, 1280);
  wide.reset();
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(AllocationCounter, LeavesOutWhatOtherThreadsAllocate) {
  std::vector<char> theirs;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::thread thread([&] { theirs.resize(1 << 20); });
  before = allocated_bytes();
  thread.join();
  after = allocated_bytes();
  EXPECT_LT(after - before, 1 << 20);
}

using Sizes = std::vector<std::size_t>;

// What make_expiry_plan() says is wrong with `words`; empty if nothing is.
std::string complaint(const ExpiryOptions& options) {
  try {
    make_expiry_plan(options);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

TEST(ExpiryPlan, WithoutWordsIsTheWholeComparisonWithinAMinute) {
  const auto plan = make_expiry_plan({});
  EXPECT_EQ(plan.sizes, (Sizes{100'000, 1'000'000}));
  EXPECT_EQ(plan.strategies.size(), 7u);
  EXPECT_EQ(plan.distributions.size(), 3u);
  ASSERT_TRUE(plan.seconds_limit);
  EXPECT_LT(*plan.seconds_limit, 60);
}

TEST(ExpiryPlan, FullAddsTenMillionAndTakesItsTime) {
  const auto plan = make_expiry_plan({.full = true});
  EXPECT_EQ(plan.sizes, (Sizes{100'000, 1'000'000, 10'000'000}));
  EXPECT_FALSE(plan.seconds_limit);
}

TEST(ExpiryPlan, DoesExactlyAsManyRoundsAsAreAskedFor) {
  const auto plan = make_expiry_plan({.rounds = "5"});
  EXPECT_EQ(plan.rounds, 5);
  EXPECT_FALSE(plan.seconds_limit);
}

TEST(ExpiryPlan, SortsSizesAndDropsRepeatedOnes) {
  const auto plan = make_expiry_plan({.sizes = "1m,2k,1000k"});
  EXPECT_EQ(plan.sizes, (Sizes{2000, 1'000'000}));
}

TEST(ExpiryPlan, KeepsTheOrderOfTheTableWhateverTheUserWrote) {
  const auto plan = make_expiry_plan({.strategies = "wheel,heap,wheel"});
  ASSERT_EQ(plan.strategies.size(), 2u);
  EXPECT_EQ(plan.strategies[0]->name, "heap");
  EXPECT_EQ(plan.strategies[1]->name, "wheel");
}

TEST(ExpiryPlan, SuggestsTheStrategyThatWasMeant) {
  const std::string message = complaint({.strategies = "heap,weel"});
  EXPECT_TRUE(says(message, "'weel'")) << message;
  EXPECT_TRUE(says(message, "did you mean 'wheel'?")) << message;
  EXPECT_TRUE(says(message, "volatile-set or tree")) << message;
}

TEST(ExpiryPlan, NamesTheOptionAndTheValueThatAreWrong) {
  for (const std::string wrong : {"abc", "100x", "", "0", "-1k", "1e300m", "nan", "50", "k"}) {
    const std::string message = complaint({.sizes = "1k," + wrong});
    EXPECT_TRUE(says(message, "--sizes: '" + wrong + "'")) << message;
  }
  EXPECT_TRUE(says(complaint({.rounds = "0"}), "--rounds: '0'"));
  EXPECT_TRUE(says(complaint({.rounds = "many"}), "--rounds: 'many'"));
  EXPECT_TRUE(says(complaint({.seed = "-1"}), "--seed: '-1'"));
  EXPECT_TRUE(says(complaint({.distributions = "unifrm"}), "did you mean 'uniform'?"));
  EXPECT_TRUE(says(complaint({.full = true, .quick = true}), "--quick and --full"));
}

TEST(ParseSize, TakesThousandsAndMillions) {
  EXPECT_EQ(parse_size("--keys", "100k"), 100'000u);
  EXPECT_EQ(parse_size("--keys", "1.5M"), 1'500'000u);
  EXPECT_EQ(parse_size("--keys", "250000"), 250'000u);
}

TEST(SizeTitle, IsShort) {
  EXPECT_EQ(size_title(100'000), "100 K");
  EXPECT_EQ(size_title(10'000'000), "10 M");
  EXPECT_EQ(size_title(1234), "1,234");
}

TEST(Gets, AreMeasuredForEachContenderWithEachNumberOfThreads) {
  Results results;
  run_gets({.entries = 100, .gets = 1'000, .rounds = 1, .threads = 2}, results);
  EXPECT_EQ(results.runs.size(), 9u);
  for (const auto& run : results.runs) EXPECT_GT(run.metric("gets_per_second"), 0) << run.system;
}

TEST(RunExpiry, MeasuresEveryStrategyAloneInACacheAndItsLateness) {
  Results results;
  ExpiryPlan plan = make_expiry_plan({.sizes = "100", .rounds = "2", .quick = true});
  plan.lateness_length = Millis(500);
  run_expiry(plan, results);
  EXPECT_EQ(results.runs.size(), 7u * 3 * (2 * 2 + 1));
  for (const auto& run : results.runs) {
    if (run.part == "lateness") continue;
    EXPECT_GT(run.metric("insert_ns"), 0) << run.system;
    EXPECT_TRUE(run.metric("bytes")) << run.system;
    EXPECT_TRUE(run.system == "lazy" || run.metric("expire_per_second") > 0) << run.system;
  }
}

}  // namespace cache_test
}  // namespace mayfly::bench
