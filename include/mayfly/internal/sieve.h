// SPDX-License-Identifier: Apache-2.0
// Sieve: chooses what to evict. The SIEVE policy of Zhang, Yang, Yue, Vigfusson and Rashmi
// (NSDI '24).
//
//   newest                                                       oldest
//   [ 9 ] - [ 4* ] - [ 7 ] - [ 2* ] - [ 5 ] - [ 0* ] - [ 3 ]          * was read
//                                       ^
//                                     hand, moving to the left; from the newest back to the oldest
//
// A read only sets a mark. To evict, the hand goes on over the marked ones, removing their marks,
// and stops at the first without. What was read keeps its place, and what comes new and is not read
// again goes soon: a scan does not wash out what is in use.
//
//   add, touch, remove   O(1)
//   victim               O(1) amortised: each mark it removes was set by a touch
//   memory               8 bytes a slot

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "mayfly/internal/slot_column.h"

namespace mayfly::internal {

class Sieve {
 public:
  void add(Slot slot);
  void remove(Slot slot);
  void touch(Slot slot) { nodes_.at(slot).newer |= kMarked; }

  // The same, for readers side by side. Most marks are set already, and then nothing is written.
  void touch_shared(Slot slot) const {
    const std::atomic_ref<std::uint32_t> newer(const_cast<std::uint32_t&>(nodes_[slot].newer));
    if ((newer.load(std::memory_order_relaxed) & kMarked) != 0) return;
    newer.fetch_or(kMarked, std::memory_order_relaxed);
  }

  // The slot to evict next; it stays until it is removed. kNoSlot if there is none.
  Slot victim();

  void clear() { *this = Sieve(); }
  std::string check_invariants() const;

 private:
  static constexpr std::uint32_t kMarked = kSlotLimit;
  static constexpr Slot kNone = kNoSlot & ~kMarked;

  struct Node {
    std::uint32_t newer = kNone;  // with the mark in its highest bit
    Slot older = kNone;
  };

  Slot newer(Slot slot) const { return nodes_[slot].newer & ~kMarked; }
  void set_newer(Slot slot, Slot newer);

  SlotColumn<Node> nodes_;
  Slot newest_ = kNone;
  Slot oldest_ = kNone;
  Slot hand_ = kNone;  // kNone: start at the oldest
  std::size_t size_ = 0;
};

}  // namespace mayfly::internal
