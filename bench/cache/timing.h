// SPDX-License-Identifier: Apache-2.0
// How long does one of many operations take? Stopwatches for the measurements of the comparison.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/slot.h"

namespace mayfly::bench {

// An operation slower than this on average is not done for every entry: it is known to be slow by
// then, and the comparison must end within a minute. Only the tree is that slow on today's machines.
inline constexpr std::int64_t kPatienceNs = 400;

// The time of one of `count` operations, when `work` does all of them.
template <class Work>
double nanoseconds_each(std::size_t count, Work work) {
  const std::int64_t start = monotonic_ns();
  work();
  return static_cast<double>(monotonic_ns() - start) / static_cast<double>(count);
}

// The time of one of the operations `work(slot)`, for all slots or until patience is lost.
template <class Work>
double nanoseconds_for_each(std::span<const Slot> slots, Work work) {
  constexpr std::size_t kBlock = 4096;  // reading the stopwatch costs nothing beside so many
  const std::int64_t patience = kPatienceNs * static_cast<std::int64_t>(slots.size());
  const std::int64_t start = monotonic_ns();
  std::int64_t passed = 0;
  std::size_t done = 0;
  while (done < slots.size() && passed < patience) {
    const std::size_t stop = std::min(done + kBlock, slots.size());
    for (; done < stop; ++done) work(slots[done]);
    passed = monotonic_ns() - start;
  }
  return static_cast<double>(passed) / static_cast<double>(done);
}

}  // namespace mayfly::bench
