// SPDX-License-Identifier: Apache-2.0
// CallbackClock: a clock that asks a function of the C program.

#pragma once

#include <algorithm>
#include <cstdint>

#include "mayfly/clock.h"

namespace mayfly {

class CallbackClock final : public Clock {
 public:
  using NowMs = std::int64_t (*)(void* argument);

  // REQUIRES: `now_ms` may be called by any thread, and does not throw.
  CallbackClock(NowMs now_ms, void* argument)
      : Clock(&CallbackClock::read), now_ms_(now_ms), argument_(argument) {}

 private:
  // Nothing tells when the function changes its mind, so whoever sleeps by it looks this often.
  static constexpr Millis kStepCheck{1000};

  static std::int64_t read(const Clock& clock) noexcept {
    const auto& self = static_cast<const CallbackClock&>(clock);
    return self.now_ms_(self.argument_);
  }
  Millis nap(Millis left) const override { return std::min(left, kStepCheck); }

  const NowMs now_ms_;
  void* const argument_;
};

}  // namespace mayfly
