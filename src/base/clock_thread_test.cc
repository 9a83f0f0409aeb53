// SPDX-License-Identifier: Apache-2.0
// Clocks, and sleeping by them. With a manual clock nobody waits for real time to pass.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "mayfly/clock.h"
#include "mayfly/internal/background_thread.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace clock_thread_test {

using namespace std::chrono_literals;

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

TEST(ClockTest, AManualClockMovesOnlyByHand) {
  ManualClock clock(at(100));
  EXPECT_EQ(clock.now(), at(100));
  clock.advance(50ms);
  EXPECT_EQ(clock.now(), at(150));
  clock.set(at(20));
  EXPECT_EQ(clock.now(), at(20));
}

// Twenty-odd years lie between 2000 and any run of this test; a unit mistaken would be off by more.
TEST(ClockTest, TheOthersTellTheTimeOfDay) {
  const SystemClock system;
  const SteadyClock steady;
  EXPECT_GT(system.now(), at(946'684'800'000));
  EXPECT_LT(std::chrono::abs(system.now() - steady.now()), 10s);
}

TEST(ClockTest, SteadyTimeDoesNotGoBack) {
  const SteadyClock steady;
  Time last = steady.now();
  std::int64_t last_ns = monotonic_ns();
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_LE(last, steady.now());
    EXPECT_LE(last_ns, monotonic_ns());
    last = steady.now();
    last_ns = monotonic_ns();
  }
}

TEST(ClockTest, TheWordOfAClockThatMustBeAskedIsTheEndOfTime) {
  const SteadyClock steady;
  ManualClock manual(at(7));
  EXPECT_EQ(steady.word().load(), kNever.time_since_epoch().count());
  EXPECT_EQ(manual.word().load(), 7);
}

TEST(AlarmTest, ReturnsAtOnceWhenTheDeadlineIsDue) {
  const ManualClock clock(at(10));
  internal::Alarm alarm(clock);
  alarm.sleep_until(at(10));
}

TEST(AlarmTest, KeepsARingForTheNextSleeper) {
  const ManualClock clock(at(0));
  internal::Alarm alarm(clock);
  alarm.ring();
  alarm.sleep_until(kNever);
}

TEST(AlarmTest, WakesWhenTheClockIsMovedFarEnough) {
  ManualClock clock(at(0));
  internal::Alarm alarm(clock);
  std::atomic<bool> is_awake{false};
  std::thread sleeper([&] {
    alarm.sleep_until(at(100));
    is_awake = true;
  });
  for (int i = 0; i < 99; ++i) clock.advance(1ms);
  EXPECT_FALSE(is_awake);
  clock.advance(1ms);
  sleeper.join();
  EXPECT_EQ(clock.now(), at(100));
}

TEST(AlarmTest, WakesForARingWhateverTheClockSays) {
  const ManualClock clock(at(0));
  internal::Alarm alarm(clock);
  std::thread sleeper([&] { alarm.sleep_until(at(100)); });
  alarm.ring();
  sleeper.join();
}

// A hundred sleeps, each ended by the clock or by a ring from two other threads: none may hang.
TEST(AlarmTest, LosesNoWakeUp) {
  ManualClock clock(at(0));
  internal::Alarm alarm(clock);
  std::atomic<int> sleeps{0};
  std::thread sleeper([&] {
    for (; sleeps < 100; ++sleeps) alarm.sleep_until(clock.now() + 3ms);
  });
  std::thread mover([&] {
    while (sleeps < 100) clock.advance(1ms);
  });
  while (sleeps < 100) alarm.ring();
  sleeper.join();
  mover.join();
}

// Four hundred years of nanoseconds do not fit into 64 bits. A sleeper that gets them wrong wakes
// at once, over and over, and holds the lock that the ring needs.
TEST(AlarmTest, SleepsUntilACenturyFarAwayWithoutSpinning) {
  const SteadyClock clock;
  internal::Alarm alarm(clock);
  std::atomic<bool> is_awake{false};
  std::thread sleeper([&] {
    alarm.sleep_until(clock.now() + std::chrono::years(400));
    is_awake = true;
  });
  EXPECT_FALSE(is_awake);
  alarm.ring();
  sleeper.join();
  EXPECT_TRUE(is_awake);
}

TEST(AlarmTest, SleepsByARealClockToo) {
  const SteadyClock clock;
  internal::Alarm alarm(clock);
  const Time deadline = clock.now() + 2ms;
  alarm.sleep_until(deadline);
  EXPECT_TRUE(is_due(deadline, clock.now()));
}

}  // namespace clock_thread_test
}  // namespace mayfly
