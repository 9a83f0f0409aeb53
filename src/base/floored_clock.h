// SPDX-License-Identifier: Apache-2.0
// FlooredClock: another clock that can be told not to be before a moment. A server that takes over
// from another one uses it: what the other one has called expired must not be seen again, even if
// the clock of this machine is some milliseconds behind.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mayfly/clock.h"

namespace mayfly {

class FlooredClock final : public Clock {
 public:
  // `inner` must outlive it.
  explicit FlooredClock(const Clock& inner) : Clock(&FlooredClock::read), inner_(inner) {}

  // From now on it shows this moment at least. It stands still until the other clock is there.
  void raise(Time floor) {
    const std::int64_t ms = floor.time_since_epoch().count();
    if (ms > floor_ms_.load()) floor_ms_.store(ms);
  }

  // How far it is ahead of the other clock.
  Millis ahead() const { return std::max(now() - inner_.now(), Millis(0)); }

 private:
  static std::int64_t read(const Clock& clock) noexcept {
    const auto& self = static_cast<const FlooredClock&>(clock);
    return std::max(self.inner_.now().time_since_epoch().count(),
                    self.floor_ms_.load(std::memory_order_relaxed));
  }
  Millis nap(Millis left) const override { return std::min(left, Millis(1000)); }

  const Clock& inner_;
  std::atomic<std::int64_t> floor_ms_ = INT64_MIN;
};

}  // namespace mayfly
