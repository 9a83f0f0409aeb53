// SPDX-License-Identifier: Apache-2.0
// BackgroundThread: a thread that works, sleeps until it is time to work again, and can be woken
// earlier. The sweeper of a cache and the sync thread of a store. It sleeps by a Clock, so that it
// can be tested with a ManualClock and without waiting.
//
//   BackgroundThread sweeper(clock, [&] { sweep(); return next_deadline(); });
//   sweeper.wake_by(deadline);
//
// Alarm: how it sleeps.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "mayfly/clock.h"

namespace mayfly::internal {

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
  friend class mayfly::ManualClock;
  void nudge();  // the clock has moved: look again

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;    // guarded by mutex_
  bool nudged_ = false;  // guarded by mutex_
};

class BackgroundThread {
 public:
  // `run_once` works and returns when it is to be called next. It is called from the thread, which
  // starts here. `clock` must outlive the thread.
  BackgroundThread(const Clock& clock, std::function<Time()> run_once);

  // Waits until a call under way has returned.
  ~BackgroundThread();

  // Has `run_once` called soon, even if a call is under way.
  void wake() { alarm_.ring(); }

  // Wakes it if it would sleep beyond `deadline`; cheap if it would not. To be called after
  // `run_once` can see what is due then.
  void wake_by(Time deadline) {
    if (deadline < Time(Millis(wakes_at_ms_.load()))) wake();
  }

 private:
  void run();

  Alarm alarm_;
  const std::function<Time()> run_once_;
  std::atomic<std::int64_t> wakes_at_ms_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;  // last, so that all it uses is there before it starts
};

}  // namespace mayfly::internal
