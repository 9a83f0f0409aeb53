// SPDX-License-Identifier: Apache-2.0
// Whether a deadline has passed, from clocks that are cheap to read and a little behind.
//
// Reading a precise clock stalls the processor (80 ns and more); a coarse one is a load of what the
// last tick of the kernel stored. A coarse clock is never ahead, and behind by a tick (4 ms; on a
// virtual machine that is not scheduled, much more). So what is due by it is due, and what is due
// only kLag later is alive; in between the precise clock is asked. The answer is the precise one.
//
// Boot time has no coarse clock. It is estimated as monotonic time plus the time that the machine
// has slept, which is measured when the estimate is made. A sleep moves the wall clock and not the
// monotonic one: once their distance has changed, sleep is measured anew. A step of the wall clock
// changes it too, which costs that measurement and nothing else.
//
// A Source has coarse_monotonic_ms, coarse_wall_ms, monotonic_ms and boot_ms.

#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "mayfly/time.h"

namespace mayfly {

class CoarseTime {
 public:
  static constexpr Millis kLag{2000};          // a coarse reading is behind by less than this
  static constexpr std::int64_t kDrift = 500;  // ms that wall and monotonic time may drift apart

  // Whether the deadline has passed, by a reading that is behind by less than kLag; nothing if that
  // can't be told.
  static std::optional<bool> has_passed(Time deadline, Time coarse) {
    if (is_due(deadline, coarse)) return true;
    if (deadline > deadline_after(coarse, kLag)) return false;
    return std::nullopt;
  }

  // Boot time in ms, behind by less than kLag; nothing if it can't be estimated now. Then the
  // precise clock has to be asked, and the next call may succeed.
  template <class Source>
  std::optional<std::int64_t> boot_ms(const Source& source) {
    const std::int64_t monotonic = source.coarse_monotonic_ms();
    const std::int64_t apart = source.coarse_wall_ms() - monotonic;
    const std::int64_t expected = wall_less_monotonic_.load(std::memory_order_acquire);
    if (std::abs(apart - expected) <= kDrift) {
      return monotonic + boot_less_monotonic_.load(std::memory_order_relaxed);
    }
    measure(source, apart);
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t kUnknown = INT64_MIN / 4;  // no clocks are so far apart
  static constexpr std::int64_t kPause = 100;  // ms between two readings that count as one moment

  // `apart` was read before: so a sleep from then on is noticed by the next estimate. If this
  // thread is kept from running meanwhile, it is left for another time.
  template <class Source>
  void measure(const Source& source, std::int64_t apart) {
    const std::int64_t before = source.boot_ms();
    const std::int64_t monotonic = source.monotonic_ms();
    if (source.boot_ms() - before > kPause) return;
    // Less one, because fractions of both are cut off: an estimate must not be ahead.
    boot_less_monotonic_.store(before - monotonic - 1, std::memory_order_relaxed);
    wall_less_monotonic_.store(apart, std::memory_order_release);
  }

  std::atomic<std::int64_t> boot_less_monotonic_{0};
  std::atomic<std::int64_t> wall_less_monotonic_{kUnknown};
};

}  // namespace mayfly
