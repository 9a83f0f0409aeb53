// SPDX-License-Identifier: Apache-2.0
// Clock: the seam through which all of Mayfly learns the time.
//
//   SteadyClock clock;                       // in a program
//   ManualClock clock(at);                   // in a test: clock.advance(10s) instead of sleeping
//   Cache<std::string, Session> sessions(clock);
//
// A clock is passed in once and must outlive what it is given to. Each call, command or transaction
// reads it once and hands the reading down, so that nothing expires in the middle of one.
//
// Threads: any thread may ask any clock at any time; a ManualClock may also be moved by any thread.
//
// Cost: asking a ManualClock is a load. Asking the others is a call of the operating system that
// stays in user space, but waits for the processor's counter: 25 to 100 ns, as the machine is.
// has_passed() hardly ever has to do that.

#pragma once

#include "mayfly/internal/language.h"  // first: it says what is wrong with an older language
//
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

namespace internal {
class Alarm;
}  // namespace internal
class CoarseTime;

class Clock {
 public:
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Not virtual, and inline: a cached value's age is checked on every read, and a call through a
  // table would cost a third of the whole lookup.
  Time now() const noexcept {
    const auto ms = read_ == nullptr ? manual_ms_.load(std::memory_order_acquire) : read_(*this);
    return Time(Millis(ms));
  }

  // The same as is_due(deadline, now()), and cheaper: a coarse clock is asked first, and the
  // precise one only if the deadline is near.
  bool has_passed(Time deadline) const noexcept {
    return has_passed_ == nullptr ? is_due(deadline, now()) : has_passed_(*this, deadline);
  }

  // The time in milliseconds, if reading it costs no more than reading a word; else the end of
  // time. For callers that ask so often that even a branch on the kind of clock would count. An
  // entry that is not due by this word is alive. One that is due by it may be alive too, because at
  // the end of time everything is due, even entries without a deadline. The caller must then ask
  // now().
  const std::atomic<std::int64_t>& word() const noexcept {
    return read_ == nullptr ? manual_ms_ : kEndOfTime;
  }
  static inline const std::atomic<std::int64_t> kEndOfTime{kNever.time_since_epoch().count()};

 protected:
  using Read = std::int64_t (*)(const Clock&) noexcept;

  using HasPassed = bool (*)(const Clock&, Time deadline) noexcept;

  explicit Clock(Read read, HasPassed coarse = nullptr) : read_(read), has_passed_(coarse) {}
  ~Clock() = default;

  const Read read_;                         // null: the time is what manual_ms_ says
  const HasPassed has_passed_;              // null: there is no cheaper way than now()
  std::atomic<std::int64_t> manual_ms_{0};  // of a ManualClock; unused in the others

 private:
  friend class internal::Alarm;

  // How long a sleeper may sleep before it looks at the clock again, when `left` remains.
  virtual Millis nap(Millis left) const = 0;

  // Rings `alarm` whenever the clock is moved by hand, from enroll until dismiss.
  virtual void enroll(internal::Alarm&) const {}
  virtual void dismiss(internal::Alarm&) const {}
};

// The wall clock. It follows every step that an administrator or NTP makes: right for deadlines
// that are dates, wrong for a TTL, which a step would stretch or cut.
class SystemClock final : public Clock {
 public:
  SystemClock();

 private:
  Millis nap(Millis left) const override;
};

// Immune to steps: the wall time when it was made, plus the time that has really passed since, with
// the machine's sleep included. The default choice for relative TTLs.
class SteadyClock final : public Clock {
 public:
  SteadyClock();
  ~SteadyClock();

 private:
  static std::int64_t read(const Clock& clock) noexcept;
  static bool read_coarse(const Clock& clock, Time deadline) noexcept;
  Millis nap(Millis left) const override { return left; }

  const std::int64_t offset_ms_;  // wall time less the time since boot, when it was made
  const std::unique_ptr<CoarseTime> coarse_;
};

// Its time changes only when it is moved. For tests and simulations, and for event loops that read
// the time once a turn and set() it for all that happens in the turn. Threads that sleep by it (see
// background_thread.h) wake as soon as it is moved far enough.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = Time(Millis(0)));

  void advance(Millis step);
  void set(Time now);  // may go back, as a wall clock may

 private:
  Millis nap(Millis) const override { return Millis::max(); }
  void enroll(internal::Alarm& alarm) const override;
  void dismiss(internal::Alarm& alarm) const override;
  void ring_all() const;

  mutable std::mutex mutex_;
  mutable std::vector<internal::Alarm*> alarms_;  // guarded by mutex_
};

}  // namespace mayfly
