// SPDX-License-Identifier: Apache-2.0
// Tally: what a handle counts. A transaction counts for itself and adds it up when it ends, so that
// a get pays for an increment and not for a locked one.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mayfly {

enum class Count : std::size_t {
  puts,
  gets,
  erases,
  cursors,
  commits,
  syncs,
  errors,
  bytes_read,
  bytes_written,
  expired_lazily,
  purged,
};
inline constexpr std::size_t kCounts = 11;
static_assert(static_cast<std::size_t>(Count::purged) + 1 == kCounts);

class Tally {
 public:
  void add(Count what, std::uint64_t number = 1) {
    counts_[static_cast<std::size_t>(what)] += number;
  }
  std::uint64_t operator[](Count what) const { return counts_[static_cast<std::size_t>(what)]; }

 private:
  friend class SharedTally;
  std::array<std::uint64_t, kCounts> counts_{};
};

class SharedTally {
 public:
  void add(const Tally& tally) {
    for (std::size_t i = 0; i < kCounts; ++i) {
      if (tally.counts_[i] != 0) counts_[i].fetch_add(tally.counts_[i], std::memory_order_relaxed);
    }
  }
  void add(Count what, std::uint64_t number = 1) {
    counts_[static_cast<std::size_t>(what)].fetch_add(number, std::memory_order_relaxed);
  }
  std::uint64_t operator[](Count what) const {
    return counts_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }
  void reset() {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kCounts> counts_{};
};

}  // namespace mayfly
