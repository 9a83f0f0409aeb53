// SPDX-License-Identifier: Apache-2.0
// What the window queue promises beyond the common suite: rounding, counters and the threshold.

#include "mayfly/window_queue.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace window_queue_test {

using namespace std::chrono_literals;

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(WindowQueueTest, RoundsUpToTheEndOfAWindow) {
  WindowQueue queue({.window = 5s});
  queue.schedule(0, at(1));
  queue.schedule(1, at(5'000));
  queue.schedule(2, at(5'001));

  EXPECT_EQ(queue.window_count(), 2u);
  EXPECT_EQ(queue.count_in_window(at(3)), 2u);
  EXPECT_EQ(queue.count_in_window(at(9'999)), 1u);
  EXPECT_EQ(queue.next_deadline(), at(5'000));
}

TEST(WindowQueueTest, TakesAWholeWindowAtItsEndAndNotBefore) {
  WindowQueue queue({.window = 5s});
  for (Slot slot = 0; slot < 10; ++slot) queue.schedule(slot, at(1 + slot));
  std::vector<Due> due;

  EXPECT_EQ(queue.take_due(at(4'999), 100, due), 0u);
  EXPECT_EQ(queue.take_due(at(5'000), 100, due), 10u);
}

TEST(WindowQueueTest, LatenessIsLessThanAWindow) {
  WindowQueue queue({.window = 100ms});
  for (Slot slot = 0; slot < 1'000; ++slot) queue.schedule(slot, at(slot * 7));
  std::vector<Due> due;
  while (queue.size() > 0) {
    const Time now = queue.next_deadline();
    due.clear();
    queue.take_due(now, 1'000, due);
    for (const Due& one : due) {
      EXPECT_GE(now, one.deadline);
      EXPECT_LE(now - one.deadline, 99ms);
    }
  }
}

TEST(WindowQueueTest, AsksForCleanupWhenAWindowGrowsBeyondTheThreshold) {
  WindowQueue queue({.window = 1s, .threshold = 3});
  for (Slot slot = 0; slot < 3; ++slot) queue.schedule(slot, at(500));
  EXPECT_FALSE(queue.wants_cleanup());
  queue.schedule(3, at(500));
  EXPECT_TRUE(queue.wants_cleanup());
}

TEST(WindowQueueTest, CleanupOfACrowdedWindowIsNotEarly) {
  WindowQueue queue({.window = 1s, .threshold = 3});
  for (Slot slot = 0; slot < 10; ++slot) queue.schedule(slot, at(100 * slot));
  std::vector<Due> due;

  EXPECT_EQ(queue.squeeze(at(450), 100, due), 5u);
  for (const Due& one : due) EXPECT_TRUE(is_due(one.deadline, at(450)));
  EXPECT_FALSE(queue.wants_cleanup());
  EXPECT_EQ(queue.squeeze(at(499), 100, due), 0u);
  EXPECT_EQ(queue.squeeze(at(500), 100, due), 1u);
  EXPECT_EQ(queue.check_invariants(), "");
}

TEST(WindowQueueTest, AWindowOfZeroOrLessIsOneMillisecond) {
  WindowQueue queue({.window = 0ms, .threshold = 0});
  queue.schedule(0, at(7));
  EXPECT_EQ(queue.slack(), 0ms);
  EXPECT_EQ(queue.next_deadline(), at(7));
}

}  // namespace window_queue_test
}  // namespace mayfly
