// SPDX-License-Identifier: Apache-2.0
// A clock with a floor.

#include "base/floored_clock.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

Time at(int ms) { return Time(Millis(ms)); }

TEST(FlooredClock, ShowsTheOtherClock) {
  ManualClock inner(at(100));
  const FlooredClock clock(inner);
  EXPECT_EQ(clock.now(), at(100));
  inner.advance(Millis(5));
  EXPECT_EQ(clock.now(), at(105));
  EXPECT_EQ(clock.ahead(), Millis(0));
}

TEST(FlooredClock, StandsStillUntilTheOtherClockIsThere) {
  ManualClock inner(at(100));
  FlooredClock clock(inner);
  clock.raise(at(150));
  EXPECT_EQ(clock.now(), at(150));
  EXPECT_EQ(clock.ahead(), Millis(50));
  inner.advance(Millis(49));
  EXPECT_EQ(clock.now(), at(150));
  inner.advance(Millis(2));
  EXPECT_EQ(clock.now(), at(151));
}

TEST(FlooredClock, NeverGoesBack) {
  ManualClock inner(at(100));
  FlooredClock clock(inner);
  clock.raise(at(150));
  clock.raise(at(120));
  EXPECT_EQ(clock.now(), at(150));
  EXPECT_TRUE(clock.has_passed(at(150)));
  EXPECT_FALSE(clock.has_passed(at(151)));
}

}  // namespace
}  // namespace mayfly
