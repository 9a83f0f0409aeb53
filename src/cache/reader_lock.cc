// SPDX-License-Identifier: Apache-2.0
#include "mayfly/internal/reader_lock.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <thread>

namespace mayfly::internal {
namespace {

std::size_t line_count() {
  return std::bit_ceil(std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 64));
}

}  // namespace

ReaderLock::ReaderLock() : mask_(line_count() - 1), lines_(new Line[mask_ + 1]) {}

// Where the thread runs now. It may move on; then it writes a line of another processor for once,
// which is slower and no less correct.
unsigned ReaderLock::processor() {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<unsigned>(cpu);
}

// A reader adds itself and then looks for a writer; a writer says that it writes and then looks for
// readers. Both orders are sequentially consistent, so one of the two sees the other.
void ReaderLock::lock() {
  mutex_.lock();
  is_writing_.store(true);
  for (std::size_t i = 0; i <= mask_; ++i) {
    while (lines_[i].word.load() % kHit != 0) std::this_thread::yield();
  }
}

void ReaderLock::unlock() {
  is_writing_.store(false, std::memory_order_release);
  mutex_.unlock();
}

std::uint64_t ReaderLock::hits() const {
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i <= mask_; ++i) hits += lines_[i].word.load() / kHit;
  return hits;
}

std::uint64_t ReaderLock::misses() const {
  std::uint64_t misses = 0;
  for (std::size_t i = 0; i <= mask_; ++i) misses += lines_[i].misses.load();
  return misses;
}

}  // namespace mayfly::internal
