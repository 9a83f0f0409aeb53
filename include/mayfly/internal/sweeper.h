// SPDX-License-Identifier: Apache-2.0
// Sweeper: the one thread of a cache that is cleaned actively.
//
// It sleeps until the next deadline, sweeps, and sleeps again. Whoever files an earlier deadline
// meanwhile wakes it. It uses next to no time while there is
// nothing to do: a look at the clock once a minute.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "mayfly/internal/alarm.h"

namespace mayfly {

class Sweeper {
 public:
  // `sweep` removes what is due and returns when there will next be something; it is called from
  // the sweeper's thread, which starts here. `clock` must outlive the sweeper.
  Sweeper(const Clock& clock, std::function<Time()> sweep);

  // Waits until a sweep under way has ended.
  ~Sweeper();

  // Tells of a deadline that was filed. Cheap unless it is earlier than what the sweeper waits for.
  // Must be called after the deadline can be seen by `sweep`.
  void notice(Time deadline) {
    if (deadline < Time(Millis(wakes_at_ms_.load()))) alarm_.ring();
  }

 private:
  void run();

  Alarm alarm_;
  const std::function<Time()> sweep_;
  std::atomic<std::int64_t> wakes_at_ms_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;  // last, so that all it uses is there before it starts
};

}  // namespace mayfly
