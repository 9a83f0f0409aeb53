// SPDX-License-Identifier: Apache-2.0
// DeadlineColumn: the deadline of each slot, for indexes that keep nothing else by slot. An index
// of your own can use it (docs/expiry_indexes.md). PlacedColumn also has the position of the slot
// in its bucket.

#pragma once

#include <cstddef>
#include <cstdint>

#include "mayfly/internal/slot_column.h"
#include "mayfly/time.h"

namespace mayfly::internal {

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

class PlacedColumn {
 public:
  // Deadlines may stand in a table of the owner's; positions, two bytes each, stay here.
  void attach(const SlotTable& table) { deadlines_.attach(table); }
  void reserve(std::size_t count) { deadlines_.reserve(count); }

  // See DeadlineColumn.
  Time find(Slot slot) const { return deadlines_.find(slot); }
  Time operator[](Slot slot) const { return deadlines_[slot]; }
  std::size_t size() const { return deadlines_.size(); }

  std::size_t position(Slot slot) const { return positions_[slot]; }
  void set_position(Slot slot, std::size_t position) {
    positions_.at(slot) = static_cast<std::uint16_t>(position);
  }

  // Sets the deadline of a slot that has none. REQUIRES: deadline != kNever.
  void add(Slot slot, Time deadline) {
    deadlines_.add(slot, deadline);
    positions_.claim(slot);
  }

  // Changes the deadline of a slot that has one.
  void change(Slot slot, Time deadline) { deadlines_.change(slot, deadline); }

  void remove(Slot slot) {
    deadlines_.remove(slot);
    positions_.drop(slot);
  }

  void prefetch(Slot slot) const {
    deadlines_.prefetch(slot);
    positions_.prefetch(slot);
  }

 private:
  DeadlineColumn deadlines_;
  SlotColumn<std::uint16_t> positions_;
};

}  // namespace mayfly::internal

namespace mayfly {

using internal::DeadlineCell;
using internal::DeadlineColumn;
using internal::SlotColumn;

}  // namespace mayfly
