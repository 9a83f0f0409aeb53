// SPDX-License-Identifier: Apache-2.0
// Keeper: the thread that syncs a store at level `normal`.
//
// It calls `tend`, sleeps until the time that this returns, and so on; a ring wakes it earlier.

#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "mayfly/internal/alarm.h"

namespace mayfly {

class Keeper {
 public:
  // `tend` does what is to be done and returns when to call it next. It is called from the
  // keeper's thread, which starts here. `clock` must outlive the keeper.
  Keeper(const Clock& clock, std::function<Time()> tend);

  // Waits until a call under way has returned.
  ~Keeper();

  // Has `tend` called soon, even if it is under way now.
  void ring() { alarm_.ring(); }

 private:
  void run();

  Alarm alarm_;
  const std::function<Time()> tend_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;  // last, so that all it uses is there before it starts
};

}  // namespace mayfly
