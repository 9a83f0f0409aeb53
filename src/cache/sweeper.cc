// SPDX-License-Identifier: Apache-2.0
#include "mayfly/internal/sweeper.h"

#include <utility>

namespace mayfly {

Sweeper::Sweeper(const Clock& clock, std::function<Time()> sweep)
    : alarm_(clock),
      sweep_(std::move(sweep)),
      wakes_at_ms_(kNever.time_since_epoch().count()),
      thread_([this] { run(); }) {}

Sweeper::~Sweeper() {
  is_stopping_ = true;
  alarm_.ring();
  thread_.join();
}

void Sweeper::run() {
  while (!is_stopping_) {
    // A deadline filed while we sweep may be missed by the sweep and must ring. So until it is
    // known when to wake, every deadline rings; a ring too many only means another look.
    wakes_at_ms_ = kNever.time_since_epoch().count();
    const Time next = sweep_();
    wakes_at_ms_ = next.time_since_epoch().count();
    alarm_.sleep_until(next);
  }
}

}  // namespace mayfly
