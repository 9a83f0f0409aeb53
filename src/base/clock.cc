// SPDX-License-Identifier: Apache-2.0
// The only file that asks the operating system for the time.

#include "mayfly/clock.h"

#include <algorithm>
#include <ctime>

#include "mayfly/alarm.h"
#include "mayfly/stopwatch.h"

namespace mayfly {
namespace {

std::int64_t read_ms(clockid_t id) noexcept {
  timespec spec{};
  ::clock_gettime(id, &spec);
  return std::int64_t{spec.tv_sec} * 1000 + spec.tv_nsec / 1'000'000;
}

std::int64_t read_wall(const Clock&) noexcept { return read_ms(CLOCK_REALTIME); }

// A step of the wall clock does not wake a sleeper, so it looks this often by itself.
constexpr Millis kStepCheck{1000};

}  // namespace

std::int64_t monotonic_ns() noexcept {
  timespec spec{};
  ::clock_gettime(CLOCK_MONOTONIC, &spec);
  return std::int64_t{spec.tv_sec} * 1'000'000'000 + spec.tv_nsec;
}

SystemClock::SystemClock() : Clock(read_wall) {}

Millis SystemClock::nap(Millis left) const { return std::min(left, kStepCheck); }

// Boot time rather than monotonic time: the latter stands still while the machine sleeps, and a
// session that was idle all night must not come back to life.
SteadyClock::SteadyClock()
    : Clock(&SteadyClock::read), offset_ms_(read_ms(CLOCK_REALTIME) - read_ms(CLOCK_BOOTTIME)) {}

std::int64_t SteadyClock::read(const Clock& clock) noexcept {
  return static_cast<const SteadyClock&>(clock).offset_ms_ + read_ms(CLOCK_BOOTTIME);
}

ManualClock::ManualClock(Time start) : Clock(nullptr) {
  manual_ms_.store(start.time_since_epoch().count());
}

void ManualClock::advance(Millis step) {
  manual_ms_.fetch_add(step.count());
  ring_all();
}

void ManualClock::set(Time now) {
  manual_ms_.store(now.time_since_epoch().count());
  ring_all();
}

void ManualClock::enroll(Alarm& alarm) const {
  const std::lock_guard lock(mutex_);
  alarms_.push_back(&alarm);
}

void ManualClock::dismiss(Alarm& alarm) const {
  const std::lock_guard lock(mutex_);
  std::erase(alarms_, &alarm);
}

void ManualClock::ring_all() const {
  const std::lock_guard lock(mutex_);
  for (Alarm* const alarm : alarms_) alarm->nudge();
}

}  // namespace mayfly
