// SPDX-License-Identifier: Apache-2.0
// Timers: what a loop has to call at which moment.
//
//   const TimerId id = timers.set(now + Millis(100), [] { ... });
//   timers.run_due(now);
//
// For the handful of timers that a server has; expiry has indexes of its own.
//
//   set, cancel   O(log n)          next   O(1)

#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "mayfly/time.h"
#include "net/transport.h"

namespace mayfly {

class Timers {
 public:
  TimerId set(Time at, std::function<void()> due);
  void cancel(TimerId id);

  // The earliest moment, or kNever.
  Time next() const { return calls_.empty() ? kNever : calls_.begin()->first.first; }

  // Calls what is due, earlier moments first, and among equals in the order in which they were set.
  // What is set meanwhile waits for the next call, even if it is due.
  void run_due(Time now);

 private:
  std::map<std::pair<Time, TimerId>, std::function<void()>> calls_;
  std::unordered_map<TimerId, Time> moments_;  // of each id in calls_
  TimerId last_ = 0;
};

}  // namespace mayfly
