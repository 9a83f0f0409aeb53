// SPDX-License-Identifier: Apache-2.0
// The simulation of entries that come and go.

#include "bench/store/bench_store_churn.h"

#include <gtest/gtest.h>

#include "tools/scratch_directory.h"

namespace mayfly {
namespace {

TEST(Churn, EndsWithAsManyEntriesAsLiveForOneTtl) {
  const auto scratch = ScratchDirectory::make(std::filesystem::path(testing::TempDir()));
  ASSERT_TRUE(scratch);
  const ChurnPlan plan{.puts_per_second = 30,
                       .length = std::chrono::seconds(130),
                       .ttl = std::chrono::seconds(10),
                       .batch = 20};
  Progress progress(stderr, false, churn_work(plan));
  const auto result = run_churn(plan, scratch->path(), progress);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->puts, 130u * 30);
  EXPECT_EQ(result->live_entries, 9u * 30);  // what was put in the last second but nine is due
  EXPECT_EQ(result->live_bytes, 9u * 30 * 72);
  EXPECT_EQ(result->file_bytes_each_minute.size(), 2u);
  EXPECT_GT(result->compact_bytes, result->live_bytes);
  EXPECT_GE(result->ratio(), 1);
}

}  // namespace
}  // namespace mayfly
