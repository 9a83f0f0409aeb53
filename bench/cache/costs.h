// SPDX-License-Identifier: Apache-2.0
// How long does one of many operations take, and how many bytes of the heap are in use?

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/slot.h"

namespace mayfly::bench {

// An operation slower than this on average is not done for every entry: it is known to be slow by
// then, and the comparison must end within a minute. Only the tree is that slow today.
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

// A program that is linked with allocation_counter.cc has its operator new and delete replaced by
// ones that count. They count what the allocator really spends: the size that it rounds a request
// up to, and the 8 bytes that glibc keeps before each block.

// Bytes allocated less bytes freed by the calling thread, since it began.
std::int64_t allocated_bytes() noexcept;

}  // namespace mayfly::bench
