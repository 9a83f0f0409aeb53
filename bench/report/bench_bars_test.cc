// SPDX-License-Identifier: Apache-2.0
// Are bars judged by the worst that was measured, and only where they apply?

#include "bench/report/bench_bars.h"

#include <gtest/gtest.h>

#include "bench/report/bench_example.h"

namespace mayfly {
namespace {

// The bar whose claim has `part` in it, or null.
const Bar* find(const std::vector<Bar>& bars, std::string_view part) {
  for (const Bar& bar : bars) {
    if (bar.claim.find(part) != std::string::npos) return &bar;
  }
  return nullptr;
}

// Makes the wheel slow under another distribution.
BenchResults with_a_bad_distribution() {
  BenchResults results = example::results();
  auto bad = example::comparison(Layer::index, 1'000'000, Distribution::same_deadline);
  bad.rows[2].costs[Measure::expire] = 50;
  bad.rows[2].costs[Measure::cycle] = 150;
  results.comparisons.push_back(bad);
  return results;
}

TEST(Bars, HoldForAWheelTenTimesAsFastAsTheHeap) {
  const auto bars = judge(example::results());
  const Bar* const expires = find(bars, "wheel expires");
  ASSERT_NE(expires, nullptr);
  EXPECT_DOUBLE_EQ(expires->measured, 10);
  EXPECT_TRUE(expires->holds);
  EXPECT_TRUE(expires->is_judged);
  ASSERT_NE(find(bars, "wheel schedules"), nullptr);
  EXPECT_TRUE(find(bars, "wheel schedules")->holds);
}

TEST(Bars, AreJudgedByTheWorstDistribution) {
  const auto bars = judge(with_a_bad_distribution());
  const Bar* const expires = find(bars, "wheel expires");
  ASSERT_NE(expires, nullptr);
  EXPECT_DOUBLE_EQ(expires->measured, 2);
  EXPECT_FALSE(expires->holds);
  EXPECT_NE(expires->claim.find("same-deadline"), std::string::npos);
  EXPECT_DOUBLE_EQ(find(bars, "wheel schedules")->measured, 1.5);
  EXPECT_FALSE(find(bars, "wheel schedules")->holds);
}

TEST(Bars, AboutAMillionEntriesAreNotJudgedByFewer) {
  const auto bars = judge(example::results(1000));
  ASSERT_NE(find(bars, "wheel expires"), nullptr);
  EXPECT_FALSE(find(bars, "wheel expires")->is_judged);
}

TEST(Bars, OfTheWheelsLatenessIsBrokenByOneMillisecond) {
  BenchResults results = example::results();
  EXPECT_TRUE(find(judge(results), "wheel removes")->holds);
  results.lateness[0].rows[2].lateness.max = Millis(1);
  EXPECT_FALSE(find(judge(results), "wheel removes")->holds);
}

TEST(Bars, SaysNothingOfWhatWasNotMeasured) {
  const auto bars = judge(example::results());
  EXPECT_EQ(find(bars, "volatile set"), nullptr);
  EXPECT_EQ(find(bars, "windows"), nullptr);
  EXPECT_TRUE(judge({}).empty());
}

TEST(ReferenceSize, IsTheLargestUpToAMillionOrElseTheLeast) {
  BenchResults results;
  for (const std::size_t size : {10'000'000u, 100'000u, 1'000'000u}) {
    results.comparisons.push_back(example::comparison(Layer::index, size, Distribution::uniform));
  }
  EXPECT_EQ(reference_size(results), 1'000'000u);
  results.comparisons.resize(1);
  EXPECT_EQ(reference_size(results), 10'000'000u);
}

}  // namespace
}  // namespace mayfly
