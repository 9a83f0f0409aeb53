// SPDX-License-Identifier: Apache-2.0
// Do medians and percentiles give the ranks that their names promise?

#include "bench/report/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace mayfly {
namespace {

TEST(Median, IsTheMiddleOfAnOddNumberInAnyOrder) { EXPECT_EQ(median({9, 1, 5}), 5); }

TEST(Median, IsTheMeanOfTheTwoInTheMiddleOfAnEvenNumber) { EXPECT_EQ(median({8, 1, 2, 4}), 3); }

TEST(Median, IgnoresHowFarAnOutlierLies) { EXPECT_EQ(median({1, 2, 1e9}), 2); }

class PercentileTest : public testing::Test {
 protected:
  PercentileTest() : hundred_(100) { std::iota(hundred_.rbegin(), hundred_.rend(), 1); }

  std::vector<int> hundred_;  // 100 down to 1
};

TEST_F(PercentileTest, IsTheNearestRank) {
  EXPECT_EQ(percentile(hundred_, 50), 50);
  EXPECT_EQ(percentile(hundred_, 99), 99);
  EXPECT_EQ(percentile(hundred_, 98.5), 99);
}

TEST_F(PercentileTest, ReachesBothEnds) {
  EXPECT_EQ(percentile(hundred_, 0), 1);
  EXPECT_EQ(percentile(hundred_, 100), 100);
}

TEST_F(PercentileTest, OfOneValueIsThatValue) {
  EXPECT_EQ(percentile(std::vector<int>{7}, 1), 7);
  EXPECT_EQ(percentile(std::vector<int>{7}, 99), 7);
}

}  // namespace
}  // namespace mayfly
