// SPDX-License-Identifier: Apache-2.0
// What the wheel promises beyond the common suite: no lateness at millisecond ticks, bounded work
// in each call although whole lists come down, and nothing skipped when ticks are missed.

#include "mayfly/timer_wheel.h"

#include <gtest/gtest.h>

#include "mayfly/random.h"

namespace mayfly {
namespace timer_wheel_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(1'800'000'000'000 + ms)); }

TEST(TimerWheelTest, TakesEachSlotAtTheVeryTickOfItsDeadline) {
  TimerWheel wheel;
  Random random(1);
  std::vector<Due> due;
  wheel.take_due(at(0), 1, due);
  for (Slot slot = 0; slot < 5'000; ++slot) {
    wheel.schedule(slot, at(1 + static_cast<std::int64_t>(random.below(20'000))));
  }
  for (std::int64_t tick = 1; tick <= 20'000; ++tick) {
    due.clear();
    wheel.take_due(at(tick), 100'000, due);
    for (const Due& one : due) EXPECT_EQ(one.deadline, at(tick));
  }
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheelTest, AWheelThatKnowsTheTimeFilesWhatIsNearWhereItIsExact) {
  TimerWheel wheel;
  wheel.start_at(at(0));
  wheel.schedule(0, at(5));
  EXPECT_EQ(wheel.next_deadline(), at(5));
  wheel.start_at(at(1'000));  // not empty: it must not turn past what waits
  EXPECT_EQ(wheel.next_deadline(), at(5));
  EXPECT_EQ(wheel.check_invariants(), "");
}

TEST(TimerWheelTest, MissedTicksSkipNothing) {
  TimerWheel wheel;
  for (Slot slot = 0; slot < 1'000; ++slot) wheel.schedule(slot, at(slot * 37));
  std::vector<Due> due;
  wheel.take_due(at(1'000 * 37), 10'000, due);
  EXPECT_EQ(due.size(), 1'000u);
}

// All of 10,000 entries are in one list of a high level when its time comes. A call that may take
// 10 must not move them all.
TEST(TimerWheelTest, ACascadeIsSpreadOverManyCalls) {
  TimerWheel wheel;
  std::vector<Due> due;
  wheel.take_due(at(0), 1, due);
  for (Slot slot = 0; slot < 10'000; ++slot) wheel.schedule(slot, at(10'000'000 + slot % 2));

  int calls = 0;
  for (; is_due(wheel.next_deadline(), at(10'000'000)); ++calls) {
    due.clear();
    wheel.take_due(at(10'000'000), 10, due);
    EXPECT_EQ(wheel.check_invariants(), "");
    EXPECT_EQ(wheel.count_due(at(10'000'000)), wheel.size() - 5'000);
  }
  EXPECT_GT(calls, 500);
  EXPECT_EQ(wheel.size(), 5'000u);
}

TEST(TimerWheelTest, MovesAndCancelsWhatIsOnItsWayDown) {
  TimerWheel wheel;
  std::vector<Due> due;
  wheel.take_due(at(0), 1, due);
  for (Slot slot = 0; slot < 1'000; ++slot) wheel.schedule(slot, at(1'000'000 + slot));
  wheel.take_due(at(1'000'000), 1, due);

  for (Slot slot = 0; slot < 1'000; slot += 2) wheel.cancel(slot);
  for (Slot slot = 1; slot < 1'000; slot += 4) wheel.schedule(slot, at(5));
  EXPECT_EQ(wheel.check_invariants(), "");
  EXPECT_EQ(wheel.count_due(at(10)), 250u);
}

}  // namespace timer_wheel_test
}  // namespace mayfly
