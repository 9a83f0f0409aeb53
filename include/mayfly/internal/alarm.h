// SPDX-License-Identifier: Apache-2.0
// Alarm: how a thread sleeps until a deadline and can be woken earlier.
//
//   Alarm alarm(clock);
//   while (!stopping) { alarm.sleep_until(next_deadline()); sweep(); }     // one thread sleeps
//   alarm.ring();                                                          // any other wakes it
//
// It sleeps by a Clock, so that a worker can be tested with a ManualClock and without waiting.

#pragma once

#include <condition_variable>
#include <mutex>

#include "mayfly/clock.h"

namespace mayfly {

class Alarm {
 public:
  // `clock` must outlive the alarm.
  explicit Alarm(const Clock& clock);
  ~Alarm();

  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Returns when the clock says that `deadline` is due, or when the alarm is rung. A ring that came
  // since the last return counts: none is lost. With kNever it waits for a ring alone.
  void sleep_until(Time deadline);

  // Wakes the sleeper, or keeps the next one from falling asleep.
  void ring();

 private:
  friend class ManualClock;
  void nudge();  // the clock has moved: look again

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;    // guarded by mutex_
  bool nudged_ = false;  // guarded by mutex_
};

}  // namespace mayfly
