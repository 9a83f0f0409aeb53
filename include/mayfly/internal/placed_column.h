// SPDX-License-Identifier: Apache-2.0
// PlacedColumn: the deadline of each slot, and where in its bucket the slot stands.

#pragma once

#include <cstddef>
#include <cstdint>

#include "mayfly/internal/deadline_column.h"

namespace mayfly {

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

}  // namespace mayfly
