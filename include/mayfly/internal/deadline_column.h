// SPDX-License-Identifier: Apache-2.0
// DeadlineColumn: the deadline of each slot, for the indexes that keep nothing else by slot.

#pragma once

#include <cstddef>

#include "mayfly/internal/slot_column.h"
#include "mayfly/time.h"

namespace mayfly {

// What an index keeps by slot, if it keeps only the deadline.
struct DeadlineCell {
  Time deadline = kNever;
};

class DeadlineColumn {
 public:
  void attach(const SlotTable& table) { column_.attach(table); }
  void reserve(std::size_t count) { column_.reserve(count); }

  // kNever if the slot has none, or lies beyond what was ever reserved.
  Time find(Slot slot) const { return slot < column_.extent() ? column_[slot].deadline : kNever; }

  // The same without the check. REQUIRES: slot below what was reserved.
  Time operator[](Slot slot) const { return column_[slot].deadline; }

  // Sets the deadline of a slot that has none. REQUIRES: deadline != kNever.
  void add(Slot slot, Time deadline) {
    column_.claim(slot).deadline = deadline;
    ++size_;
  }

  // Changes the deadline of a slot that has one.
  void change(Slot slot, Time deadline) { column_.at(slot).deadline = deadline; }

  void remove(Slot slot) {
    column_.drop(slot);
    --size_;
  }

  void prefetch(Slot slot) const { column_.prefetch(slot); }

  std::size_t size() const { return size_; }

 private:
  SlotColumn<DeadlineCell> column_;
  std::size_t size_ = 0;
};

}  // namespace mayfly
