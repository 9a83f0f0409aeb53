// SPDX-License-Identifier: Apache-2.0
// Moments of the wall clock, finer than its milliseconds: how long after a deadline did something
// happen?

#pragma once

#include <cstdint>
#include <string>

#include "bench/report/must.h"
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

// What a deadline is called in a command.
std::string unix_ms(Time deadline);

}  // namespace mayfly::bench
