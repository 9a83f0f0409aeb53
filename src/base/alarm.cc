// SPDX-License-Identifier: Apache-2.0
#include "mayfly/internal/alarm.h"

#include <algorithm>
#include <utility>

namespace mayfly {
namespace {

// A long sleep is made of shorter ones, for two reasons. The condition variable waits by monotonic
// time, which stands still while the machine is suspended: after a resume the sleeper is late by up
// to a nap. And it counts in nanoseconds, in which 300 years are too many.
constexpr Millis kLongestNap = std::chrono::minutes(1);

}  // namespace

Alarm::Alarm(const Clock& clock) : clock_(clock) { clock_.enroll(*this); }

Alarm::~Alarm() { clock_.dismiss(*this); }

void Alarm::sleep_until(Time deadline) {
  std::unique_lock lock(mutex_);
  while (!std::exchange(rung_, false)) {
    // Cleared before the clock is read: a move after the reading sets it again, and we look again.
    nudged_ = false;
    const Time now = clock_.now();
    if (is_due(deadline, now)) return;

    const auto disturbed = [this] { return rung_ || nudged_; };
    const Millis nap = deadline == kNever ? Millis::max() : clock_.nap(remaining(deadline, now));
    if (nap == Millis::max()) {
      changed_.wait(lock, disturbed);
    } else {
      changed_.wait_for(lock, std::min(nap, kLongestNap), disturbed);
    }
  }
}

void Alarm::ring() {
  const std::lock_guard lock(mutex_);
  rung_ = true;
  changed_.notify_one();
}

void Alarm::nudge() {
  const std::lock_guard lock(mutex_);
  nudged_ = true;
  changed_.notify_one();
}

}  // namespace mayfly
