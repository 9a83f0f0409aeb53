// SPDX-License-Identifier: Apache-2.0
#include "mayfly/internal/background_thread.h"

#include <algorithm>
#include <utility>

namespace mayfly::internal {
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

BackgroundThread::BackgroundThread(const Clock& clock, std::function<Time()> run_once)
    : alarm_(clock),
      run_once_(std::move(run_once)),
      wakes_at_ms_(kNever.time_since_epoch().count()),
      thread_([this] { run(); }) {}

BackgroundThread::~BackgroundThread() {
  is_stopping_ = true;
  alarm_.ring();
  thread_.join();
}

void BackgroundThread::run() {
  while (!is_stopping_) {
    // A deadline that is set during the call may be missed by it, and must wake the thread. So
    // until it is known how long to sleep, every deadline does; one wake too many does no harm.
    wakes_at_ms_ = kNever.time_since_epoch().count();
    const Time next = run_once_();
    wakes_at_ms_ = next.time_since_epoch().count();
    alarm_.sleep_until(next);
  }
}

}  // namespace mayfly::internal
