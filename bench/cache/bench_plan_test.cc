// SPDX-License-Identifier: Apache-2.0
// Do the words of the command line become the plan that they say, and mistakes good advice?

#include "bench/cache/bench_plan.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

using Sizes = std::vector<std::size_t>;

// What make_plan() says is wrong with `words`; empty if nothing is.
std::string complaint(const BenchWords& words) {
  const auto plan = make_plan(words);
  return plan ? "" : plan.error().message;
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

TEST(BenchPlan, WithoutWordsIsTheWholeComparisonWithinAMinute) {
  const auto plan = make_plan({});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->sizes, (Sizes{100'000, 1'000'000}));
  EXPECT_EQ(plan->strategies.size(), 7u);
  EXPECT_EQ(plan->distributions.size(), 3u);
  ASSERT_TRUE(plan->seconds_limit);
  EXPECT_LT(*plan->seconds_limit, 60);
}

TEST(BenchPlan, FullAddsTenMillionAndTakesItsTime) {
  const auto plan = make_plan({.full = true});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->sizes, (Sizes{100'000, 1'000'000, 10'000'000}));
  EXPECT_FALSE(plan->seconds_limit);
}

TEST(BenchPlan, DoesExactlyAsManyRoundsAsAreAskedFor) {
  const auto plan = make_plan({.rounds = "5"});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rounds, 5);
  EXPECT_FALSE(plan->seconds_limit);
}

TEST(BenchPlan, SortsSizesAndDropsRepeatedOnes) {
  const auto plan = make_plan({.sizes = "1m,2k,1000k"});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->sizes, (Sizes{2000, 1'000'000}));
}

TEST(BenchPlan, KeepsTheOrderOfTheTableWhateverTheUserWrote) {
  const auto plan = make_plan({.strategies = "wheel,heap,wheel"});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->strategies.size(), 2u);
  EXPECT_EQ(plan->strategies[0]->name, "heap");
  EXPECT_EQ(plan->strategies[1]->name, "wheel");
}

TEST(BenchPlan, SuggestsTheStrategyThatWasMeant) {
  const std::string message = complaint({.strategies = "heap,weel"});
  EXPECT_TRUE(says(message, "'weel'")) << message;
  EXPECT_TRUE(says(message, "did you mean 'wheel'?")) << message;
  EXPECT_TRUE(says(message, "volatile-set or tree")) << message;
}

TEST(BenchPlan, NamesTheOptionAndTheValueThatAreWrong) {
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
  EXPECT_EQ(*parse_size("100k"), 100'000u);
  EXPECT_EQ(*parse_size("1.5M"), 1'500'000u);
  EXPECT_EQ(*parse_size("250000"), 250'000u);
}

TEST(SizeTitle, IsWhatPeopleSay) {
  EXPECT_EQ(size_title(100'000), "100 K");
  EXPECT_EQ(size_title(10'000'000), "10 M");
  EXPECT_EQ(size_title(1234), "1234");
}

}  // namespace
}  // namespace mayfly
