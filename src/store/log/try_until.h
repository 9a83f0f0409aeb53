// SPDX-License-Identifier: Apache-2.0
// try_until: attempts at intervals, where the kernel has no wait with a time limit.

#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/time.h"

namespace mayfly::internal {

// Calls `attempt` until it returns true. False: it did not within the time.
template <class Attempt>
bool try_until(Millis timeout, Attempt attempt) {
  constexpr std::int64_t kMilli = 1'000'000;
  constexpr std::int64_t kLongest = 20 * kMilli;
  const std::int64_t end = monotonic_ns() + timeout.count() * kMilli;
  for (std::int64_t pause = kMilli; !attempt(); pause = std::min(2 * pause, kLongest)) {
    if (monotonic_ns() >= end) return false;
    const timespec nap{0, pause};
    ::nanosleep(&nap, nullptr);
  }
  return true;
}

}  // namespace mayfly::internal
