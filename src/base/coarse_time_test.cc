// SPDX-License-Identifier: Apache-2.0
// CoarseTime: what it says is what the precise clock says, at every distance from the deadline and
// whatever the machine's clocks do: late ticks, sleep, steps of the wall clock.

#include "base/coarse_time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mayfly {
namespace coarse_time_test {

constexpr Time at(std::int64_t ms) { return Time(Millis(ms)); }

// The clocks of a machine, in microseconds, so that the fractions of a millisecond matter.
struct Machine {
  std::int64_t coarse_monotonic_ms() const { return tick_us / 1000; }
  std::int64_t coarse_wall_ms() const { return (tick_us + tick_wall_us) / 1000; }
  std::int64_t monotonic_ms() const { return monotonic_us / 1000; }
  std::int64_t boot_ms() const {
    ++precise_reads;
    return (monotonic_us + slept_us) / 1000;
  }

  void run(std::int64_t us) { monotonic_us += us; }
  void tick() {
    tick_us = monotonic_us;
    tick_wall_us = wall_us;
  }
  void suspend(std::int64_t us) {  // the kernel updates all its clocks when it wakes
    slept_us += us;
    wall_us += us;
    tick();
  }
  void step_wall(std::int64_t us) {
    wall_us += us;
    tick();
  }

  std::int64_t monotonic_us = 12'345'678;
  std::int64_t slept_us = 777;
  std::int64_t wall_us = 1'700'000'000'000'000;  // less monotonic time
  std::int64_t tick_us = monotonic_us;
  std::int64_t tick_wall_us = wall_us;
  mutable int precise_reads = 0;
};

bool has_passed(CoarseTime& coarse, const Machine& machine, Time deadline) {
  if (const auto boot = coarse.boot_ms(machine)) {
    if (const auto passed = CoarseTime::has_passed(deadline, at(*boot))) return *passed;
  }
  return is_due(deadline, at(machine.boot_ms()));
}

TEST(CoarseTimeTest, TellsOnlyWhatIsSure) {
  const Time now = at(1'000'000);
  const Time sure = now + CoarseTime::kLag;
  EXPECT_EQ(CoarseTime::has_passed(now, now), true);
  EXPECT_EQ(CoarseTime::has_passed(now + Millis(1), now), std::nullopt);
  EXPECT_EQ(CoarseTime::has_passed(sure, now), std::nullopt);
  EXPECT_EQ(CoarseTime::has_passed(sure + Millis(1), now), false);
  EXPECT_EQ(CoarseTime::has_passed(kNever, now), false);
  EXPECT_EQ(CoarseTime::has_passed(Time::min(), now), true);
}

TEST(CoarseTimeTest, AsksNoPreciseClockFarFromTheDeadline) {
  Machine machine;
  CoarseTime coarse;
  has_passed(coarse, machine, kNever);  // the first time it measures
  machine.precise_reads = 0;
  for (int i = 0; i < 1000; ++i) {
    machine.run(1'000);
    machine.tick();
    EXPECT_FALSE(has_passed(coarse, machine, at(machine.monotonic_ms() + 60'000)));
    EXPECT_TRUE(has_passed(coarse, machine, at(5)));
  }
  EXPECT_EQ(machine.precise_reads, 0);
}

TEST(CoarseTimeTest, NoticesANightOfSleep) {
  Machine machine;
  CoarseTime coarse;
  const Time deadline = at(machine.boot_ms() + 1'800'000);
  EXPECT_FALSE(has_passed(coarse, machine, deadline));
  EXPECT_FALSE(has_passed(coarse, machine, deadline));
  machine.suspend(std::int64_t{8} * 3'600'000'000);
  EXPECT_TRUE(has_passed(coarse, machine, deadline));
}

TEST(CoarseTimeTest, AgreesWithThePreciseClock) {
  const bool holds = rc::check([] {
    Machine machine;
    CoarseTime coarse;
    for (int step = 0; step < 300; ++step) {
      switch (*rc::gen::inRange(0, 12)) {
        case 0:
          machine.suspend(*rc::gen::inRange<std::int64_t>(0, 900'000));
          break;
        case 1:
          machine.suspend(*rc::gen::inRange<std::int64_t>(0, 100'000'000));
          break;
        case 2:
          machine.step_wall(*rc::gen::inRange<std::int64_t>(-3'000'000, 3'000'000));
          break;
        case 3:
          machine.run(*rc::gen::inRange<std::int64_t>(0, 1'000'000));
          break;
        default:
          machine.run(*rc::gen::inRange<std::int64_t>(0, 5'000));
          break;
      }
      // Ticks come late, but not later than a second.
      const bool is_late = machine.monotonic_us - machine.tick_us > 1'000'000;
      if (is_late || *rc::gen::inRange(0, 3) > 0) machine.tick();

      const std::int64_t now = machine.boot_ms();
      const std::int64_t away = *rc::gen::inRange<std::int64_t>(-4000, 4000);
      for (const std::int64_t ms : {away, away % 5, away / 100}) {
        RC_ASSERT(has_passed(coarse, machine, at(now + ms)) == (ms <= 0));
      }
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace coarse_time_test
}  // namespace mayfly
