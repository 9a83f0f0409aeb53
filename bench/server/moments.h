// SPDX-License-Identifier: Apache-2.0
// Moments of the wall clock, finer than its milliseconds: how long after a deadline did something
// happen?

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "bench/report/must.h"
#include "bench/server/server_child.h"
#include "mayfly/clock.h"
#include "mayfly/internal/stopwatch.h"
#include "mayfly/time.h"

namespace mayfly::bench {

class Moments {
 public:
  // Waits for a turn of the clock, up to a few milliseconds. `clock` must outlive it.
  explicit Moments(const Clock& clock);

  Time now() const { return clock_.now(); }

  // Nanoseconds from `deadline` until the stopwatch showed `at_ns`; negative if it was before.
  std::int64_t after(Time deadline, std::int64_t at_ns) const {
    return at_ns - anchor_ns_ - std::int64_t{(deadline - anchor_).count()} * 1'000'000;
  }

  // Rests until the moment has come.
  void wait_for(Time moment) const;

 private:
  const Clock& clock_;
  Time anchor_;             // a moment,
  std::int64_t anchor_ns_;  // and what the stopwatch showed then
};

// Calls `fill(deadline)` with a deadline `lead` from now. If less than `margin` is left of it when
// all is written, it was too early: then all over again, with twice the lead.
template <class Fill>
Time fill_before(const Moments& moments, Millis lead, Millis margin, Fill fill) {
  constexpr int kAttempts = 7;
  for (int attempt = 0; attempt < kAttempts; ++attempt, lead *= 2) {
    const Time deadline = deadline_after(moments.now(), lead + margin);
    fill(deadline);
    if (!is_due(deadline - margin, moments.now())) return deadline;
  }
  throw Failure("this machine is too busy to write the entries before they are due");
}

inline Moments::Moments(const Clock& clock) : clock_(clock), anchor_(clock.now()), anchor_ns_(0) {
  // Between two readings of the stopwatch the clock turns from one millisecond to the next. The
  // nearer they are to each other, the better; a busy machine may pull them apart.
  constexpr int kTurns = 5;
  std::int64_t least_gap = INT64_MAX;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Time start = clock.now();
    std::int64_t before = monotonic_ns();
    Time now = clock.now();
    while (now == start) {
      before = monotonic_ns();
      now = clock.now();
    }
    const std::int64_t gap = monotonic_ns() - before;
    if (gap >= least_gap || now != start + Millis(1)) continue;
    least_gap = gap;
    anchor_ = now;
    anchor_ns_ = before;
  }
  if (anchor_ns_ == 0) {  // it never turned by one; a millisecond more or less must do
    anchor_ = clock.now();
    anchor_ns_ = monotonic_ns();
  }
}

inline void Moments::wait_for(Time moment) const {
  while (true) {
    const std::int64_t left_ns = -after(moment, monotonic_ns());
    if (left_ns <= 0) return;
    rest(Millis(std::max<std::int64_t>(left_ns / 1'000'000, 1)));
  }
}

// A deadline as commands take it.
inline std::string unix_ms(Time deadline) {
  return std::to_string(deadline.time_since_epoch().count());
}

}  // namespace mayfly::bench
