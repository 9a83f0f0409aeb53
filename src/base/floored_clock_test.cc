// SPDX-License-Identifier: Apache-2.0
// A clock with a floor.

#include "base/floored_clock.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

constexpr Millis kHour{3'600'000};

class FlooredClockTest : public testing::Test {
 protected:
  static Time at(int ms) { return Time(Millis(ms)); }

  void pass(Millis time) {
    inner_.advance(time);
    steady_.advance(time);
  }
  void step(Millis time) { inner_.set(inner_.now() + time); }  // of the wall clock

  ManualClock inner_{at(100)};
  ManualClock steady_{at(7001)};
  FlooredClock clock_{inner_, steady_};
};

TEST_F(FlooredClockTest, ShowsTheOtherClock) {
  EXPECT_EQ(clock_.now(), at(100));
  pass(Millis(5));
  EXPECT_EQ(clock_.now(), at(105));
  step(Millis(-50));
  EXPECT_EQ(clock_.now(), at(55));
  EXPECT_EQ(clock_.ahead(), Millis(0));
}

TEST_F(FlooredClockTest, RunsAtHalfTheRateUntilTheOtherClockIsThere) {
  clock_.raise(at(150));
  EXPECT_EQ(clock_.now(), at(150));
  EXPECT_EQ(clock_.ahead(), Millis(50));
  pass(Millis(60));
  EXPECT_EQ(clock_.now(), at(180));
  EXPECT_EQ(clock_.ahead(), Millis(20));
  pass(Millis(42));
  EXPECT_EQ(clock_.now(), at(202));
  pass(Millis(10));
  EXPECT_EQ(clock_.now(), at(212));
  EXPECT_EQ(clock_.ahead(), Millis(0));
}

TEST_F(FlooredClockTest, NeverGoesBackBehindTheFloor) {
  clock_.raise(at(150));
  clock_.raise(at(120));
  EXPECT_EQ(clock_.now(), at(150));
  EXPECT_TRUE(clock_.has_passed(at(150)));
  EXPECT_FALSE(clock_.has_passed(at(151)));
  step(Millis(-40));
  EXPECT_EQ(clock_.now(), at(150));
}

TEST_F(FlooredClockTest, AFloorThatHasBeenReachedHoldsIfTheOtherClockIsSetBack) {
  pass(Millis(100));
  clock_.raise(at(190));
  EXPECT_EQ(clock_.now(), at(200));
  step(Millis(-60));
  EXPECT_EQ(clock_.now(), at(190));
  pass(Millis(20));
  EXPECT_EQ(clock_.now(), at(200)) << "it does not stand";
  pass(Millis(100));
  EXPECT_EQ(clock_.now(), at(260));
}

// The time of a shard must not stand for as long as some clock was ahead once.
TEST_F(FlooredClockTest, DoesNotStandWhenTheOtherClockIsSetBackByAnHour) {
  step(kHour);
  clock_.raise(inner_.now());
  step(-kHour);
  const Time before = clock_.now();
  pass(Millis(1000));
  EXPECT_EQ(clock_.now(), before + Millis(500));
}

TEST_F(FlooredClockTest, IsLimited) {
  clock_.raise(at(100) + kHour);
  clock_.limit(kHour);
  EXPECT_EQ(clock_.ahead(), kHour);
  clock_.limit(Millis(500));
  EXPECT_EQ(clock_.now(), at(600));
  pass(Millis(1000));
  EXPECT_EQ(clock_.now(), at(1100));
  EXPECT_EQ(clock_.ahead(), Millis(0));
  clock_.limit(Millis(0));
  EXPECT_EQ(clock_.now(), at(1100));
}

}  // namespace
}  // namespace mayfly
