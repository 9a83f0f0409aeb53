// SPDX-License-Identifier: Apache-2.0
// The comparison of reads: that it measures every contender, and says what it measured.

#include "bench/cache/bench_gets.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

TEST(BenchGetsTest, MeasuresEachContenderWithEachNumberOfThreads) {
  const GetsPlan plan{.entries = 100, .gets = 1'000, .rounds = 1, .threads = 2};
  const std::vector<GetsResult> results = measure_gets(plan);
  EXPECT_EQ(results.size(), 9u);
  for (const GetsResult& result : results) EXPECT_GT(result.millions_per_second, 0) << result.name;
}

TEST(BenchGetsTest, ComparesThreadsWithOneThreadAndTheRestWithTheBareMap) {
  const std::vector<GetsResult> results = {
      {"bare hash map (SlotMap)", 1, 100}, {"ShardedCache", 1, 50}, {"ShardedCache", 2, 85}};
  const std::string text = render_gets({}, results);
  EXPECT_NE(text.find("0.50"), std::string::npos) << text;
  EXPECT_NE(text.find("ok      ShardedCache does 1.70x"), std::string::npos) << text;
  EXPECT_NE(gets_to_json({}, results).find("\"ratio\": 1.7"), std::string::npos)
      << gets_to_json({}, results);
}

TEST(BenchGetsTest, SaysSoWhenTheBarIsMissed) {
  const std::vector<GetsResult> results = {
      {"bare hash map (SlotMap)", 1, 100}, {"ShardedCache", 1, 50}, {"ShardedCache", 2, 60}};
  EXPECT_NE(render_gets({}, results).find("MISSED"), std::string::npos);
}

}  // namespace
}  // namespace mayfly
