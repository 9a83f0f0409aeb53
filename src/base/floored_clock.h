// SPDX-License-Identifier: Apache-2.0
// FlooredClock: another clock that can be told not to be before a moment. A server that takes over
// from another one uses it: what the other one has called expired must not be seen again, even if
// the clock of this machine is some milliseconds behind.
//
//   FlooredClock clock(wall, steady);
//   clock.raise(floor);         // shows that moment at once, and runs at half the rate from there
//   clock.limit(Millis(500));   // but is no further ahead of the wall clock than this

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mayfly/clock.h"

namespace mayfly {

class FlooredClock final : public Clock {
 public:
  // `inner` and `steady` must outlive it. The time that passes is measured by `steady`, which no
  // step of the other clock may move.
  FlooredClock(const Clock& inner, const Clock& steady)
      : Clock(&FlooredClock::read), inner_(inner), steady_(steady) {}

  // From now on it shows this moment at least. While it is ahead of the other clock it runs at half
  // the rate, so a deadline that is set meanwhile is reached after twice its time at most.
  void raise(Time floor) {
    const std::int64_t ms = floor.time_since_epoch().count();
    if (floor > now()) return place(ms);
    if (line_ms_.load() == kNone && ms > floor_ms_.load()) floor_ms_.store(ms);
  }

  // Sets it back if it is further ahead of the other clock than `most`: the floor, or the other
  // clock when the floor was set, was wrong.
  void limit(Millis most) {
    if (ahead() > most) place((inner_.now() + most).time_since_epoch().count());
  }

  // How far it is ahead of the other clock.
  Millis ahead() const { return std::max(now() - inner_.now(), Millis(0)); }

 private:
  static constexpr std::int64_t kNone = INT64_MIN;

  static std::int64_t read(const Clock& clock) noexcept {
    const auto& self = static_cast<const FlooredClock&>(clock);
    const std::int64_t inner = self.inner_.now().time_since_epoch().count();
    const bool is_free = self.line_ms_.load(std::memory_order_relaxed) == kNone &&
                         inner >= self.floor_ms_.load(std::memory_order_relaxed);
    return is_free ? inner : self.read_floor(inner);
  }

  // It follows the line until the other clock has reached that, which may then be set back once
  // more: to the floor at most.
  std::int64_t read_floor(std::int64_t inner) const noexcept {
    const std::int64_t half_ms = half_steady_ms();
    const std::int64_t floor = floor_ms_.load();
    std::int64_t line = line_ms_.load();
    if (line == kNone) {
      const std::int64_t begin = floor - half_ms;
      line = line_ms_.compare_exchange_strong(line, begin) ? begin : line;
    }
    const std::int64_t shown = std::max(floor, line + half_ms);
    if (inner < shown) return shown;
    std::int64_t known = floor;
    if (floor_ms_.compare_exchange_strong(known, shown)) {
      line_ms_.compare_exchange_strong(line, kNone);
    }
    return inner;
  }

  void place(std::int64_t ms) {
    line_ms_.store(ms - half_steady_ms());
    floor_ms_.store(ms);
  }

  std::int64_t half_steady_ms() const { return steady_.now().time_since_epoch().count() / 2; }

  Millis nap(Millis left) const override { return std::min(left, Millis(1000)); }

  const Clock& inner_;
  const Clock& steady_;
  mutable std::atomic<std::int64_t> floor_ms_ = kNone;
  mutable std::atomic<std::int64_t> line_ms_ =
      kNone;  // the time shown, less half of the steady time
};

}  // namespace mayfly
