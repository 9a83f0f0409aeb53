// SPDX-License-Identifier: Apache-2.0
// The boundary, and the arithmetic at the ends of the calendar.

#include "mayfly/time.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace time_test {

using namespace std::chrono_literals;

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(TimeTest, AnEntryIsGoneAtItsDeadlineAndNotBefore) {
  EXPECT_FALSE(is_due(at(10), at(9)));
  EXPECT_TRUE(is_due(at(10), at(10)));
  EXPECT_TRUE(is_due(at(10), at(11)));
}

TEST(TimeTest, NeverIsNotDueBeforeTheEndOfTime) { EXPECT_FALSE(is_due(kNever, kNever - 1ms)); }

TEST(TimeTest, ATtlLastsExactlyAsLongAsItSays) {
  const Time deadline = deadline_after(at(1'000), 250ms);
  EXPECT_FALSE(is_due(deadline, at(1'249)));
  EXPECT_TRUE(is_due(deadline, at(1'250)));
}

TEST(TimeTest, ATtlTooLongForTheCalendarMeansNever) {
  EXPECT_EQ(deadline_after(at(1), Millis::max()), kNever);
  EXPECT_EQ(deadline_after(kNever - 1ms, 5ms), kNever);
  EXPECT_EQ(deadline_after(at(-5), Millis::max()), kNever - 5ms);
}

TEST(TimeTest, ANegativeTtlIsDueAtOnceAndDoesNotWrap) {
  EXPECT_TRUE(is_due(deadline_after(at(0), -1ms), at(0)));
  EXPECT_EQ(deadline_after(at(-5), Millis::min()), Time::min());
  EXPECT_EQ(deadline_after(at(5), Millis::min()), at(5) + Millis::min());
}

TEST(TimeTest, RemainingIsZeroFromTheDeadlineOn) {
  EXPECT_EQ(remaining(at(10), at(4)), 6ms);
  EXPECT_EQ(remaining(at(10), at(10)), 0ms);
  EXPECT_EQ(remaining(at(10), at(99)), 0ms);
  EXPECT_EQ(remaining(kNever - 1ms, Time::min()), Millis::max());
}

TEST(TimeTest, FractionsOfAMillisecondAreRoundedUp) {
  EXPECT_EQ(to_millis(1us), 1ms);
  EXPECT_EQ(to_millis(1'000us), 1ms);
  EXPECT_EQ(to_millis(1'001us), 2ms);
  EXPECT_EQ(to_millis(-1us), 0ms);
  EXPECT_EQ(to_millis(std::chrono::duration<double>(0.0125)), 13ms);
}

TEST(TimeTest, DurationsBeyondTheCalendarAreCut) {
  EXPECT_EQ(to_millis(std::chrono::hours::max()), Millis::max());
  EXPECT_EQ(to_millis(std::chrono::hours::min()), Millis::min());
}

}  // namespace time_test
}  // namespace mayfly
