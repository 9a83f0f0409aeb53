// SPDX-License-Identifier: Apache-2.0
// Do axes have round numbers that reach as far as the values?

#include "bench/report/chart_frame.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

using Ticks = std::vector<double>;

TEST(EvenTicks, AreRoundAndReachTheGreatestValue) {
  EXPECT_EQ(even_ticks(10), (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(even_ticks(72), (Ticks{0, 20, 40, 60, 80}));
  EXPECT_EQ(even_ticks(107), (Ticks{0, 25, 50, 75, 100, 125}));
  EXPECT_EQ(even_ticks(0.9), (Ticks{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
}

TEST(EvenTicks, AreFewWhateverTheRange) {
  for (double most = 1e-6; most < 1e12; most *= 1.37) {
    const Ticks ticks = even_ticks(most);
    EXPECT_LE(ticks.size(), 7u) << most;
    EXPECT_GE(ticks.size(), 3u) << most;
    EXPECT_GE(ticks.back(), most * 0.999999);
  }
}

TEST(EvenTicks, OfNothingAreStillAnAxis) { EXPECT_EQ(even_ticks(0), (Ticks{0, 1})); }

TEST(DecadeTicks, GoFromBelowTheLeastToAboveTheGreatest) {
  EXPECT_EQ(decade_ticks(1, 923), (Ticks{1, 10, 100, 1000}));
  EXPECT_EQ(decade_ticks(3, 5), (Ticks{1, 10}));
  EXPECT_EQ(decade_ticks(1, 0), (Ticks{1, 10}));
}

TEST(HeadHeight, GrowsWhenTheLegendNeedsAnotherLine) {
  const std::vector<LegendItem> few = {{"heap", "#000000"}};
  const std::vector<LegendItem> many(30, LegendItem{"volatile set", "#000000"});
  EXPECT_GT(head_height(many), head_height(few));
}

}  // namespace
}  // namespace mayfly
