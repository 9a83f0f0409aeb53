// SPDX-License-Identifier: Apache-2.0
#include "bench/server/moments.h"

#include <algorithm>
#include <string>

#include "bench/server/server_child.h"

namespace mayfly::bench {

Moments::Moments(const Clock& clock) : clock_(clock), anchor_(clock.now()), anchor_ns_(0) {
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

void Moments::wait_for(Time moment) const {
  while (true) {
    const std::int64_t left_ns = -after(moment, monotonic_ns());
    if (left_ns <= 0) return;
    rest(Millis(std::max<std::int64_t>(left_ns / 1'000'000, 1)));
  }
}

std::string unix_ms(Time deadline) { return std::to_string(deadline.time_since_epoch().count()); }

}  // namespace mayfly::bench
