// SPDX-License-Identifier: Apache-2.0
// The only file that asks the operating system for the time.

#include "mayfly/clock.h"

#include <algorithm>
#include <ctime>

#include "base/coarse_time.h"
#include "mayfly/internal/background_thread.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

std::int64_t read_ms(clockid_t id) noexcept {
  timespec spec{};
  ::clock_gettime(id, &spec);
  return std::int64_t{spec.tv_sec} * 1000 + spec.tv_nsec / 1'000'000;
}

std::int64_t read_wall(const Clock&) noexcept { return read_ms(CLOCK_REALTIME); }

// A step of the wall clock is seen by its coarse clock at once.
bool read_coarse_wall(const Clock& clock, Time deadline) noexcept {
  const Time coarse = Time(Millis(read_ms(CLOCK_REALTIME_COARSE)));
  const auto passed = CoarseTime::has_passed(deadline, coarse);
  return passed ? *passed : is_due(deadline, clock.now());
}

struct KernelClocks {
  std::int64_t coarse_monotonic_ms() const { return read_ms(CLOCK_MONOTONIC_COARSE); }
  std::int64_t coarse_wall_ms() const { return read_ms(CLOCK_REALTIME_COARSE); }
  std::int64_t monotonic_ms() const { return read_ms(CLOCK_MONOTONIC); }
  std::int64_t boot_ms() const { return read_ms(CLOCK_BOOTTIME); }
};

// A step of the wall clock does not wake a sleeper, so it looks this often by itself.
constexpr Millis kStepCheck{1000};

}  // namespace

std::int64_t monotonic_ns() noexcept {
  timespec spec{};
  ::clock_gettime(CLOCK_MONOTONIC, &spec);
  return std::int64_t{spec.tv_sec} * 1'000'000'000 + spec.tv_nsec;
}

SystemClock::SystemClock() : Clock(read_wall, read_coarse_wall) {}

Millis SystemClock::nap(Millis left) const { return std::min(left, kStepCheck); }

// Boot time rather than monotonic time: the latter stands still while the machine sleeps, and a
// session that was idle all night must not come back to life.
SteadyClock::SteadyClock()
    : Clock(&SteadyClock::read, &SteadyClock::read_coarse),
      offset_ms_(read_ms(CLOCK_REALTIME) - read_ms(CLOCK_BOOTTIME)),
      coarse_(std::make_unique<CoarseTime>()) {}

SteadyClock::~SteadyClock() = default;

bool SteadyClock::read_coarse(const Clock& clock, Time deadline) noexcept {
  const auto& steady = static_cast<const SteadyClock&>(clock);
  if (const auto boot_ms = steady.coarse_->boot_ms(KernelClocks())) {
    const Time coarse = Time(Millis(steady.offset_ms_ + *boot_ms));
    if (const auto passed = CoarseTime::has_passed(deadline, coarse)) return *passed;
  }
  return is_due(deadline, clock.now());
}

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

void ManualClock::enroll(internal::Alarm& alarm) const {
  const std::lock_guard lock(mutex_);
  alarms_.push_back(&alarm);
}

void ManualClock::dismiss(internal::Alarm& alarm) const {
  const std::lock_guard lock(mutex_);
  std::erase(alarms_, &alarm);
}

void ManualClock::ring_all() const {
  const std::lock_guard lock(mutex_);
  for (internal::Alarm* const alarm : alarms_) alarm->nudge();
}

}  // namespace mayfly
