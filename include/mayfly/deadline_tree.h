// SPDX-License-Identifier: Apache-2.0
// DeadlineTree: a plain ordered set of (deadline, slot). The reference that the others must match.
//
//   schedule, cancel   O(log n)
//   take_due           O(1) amortised a slot
//   next_deadline      O(1), exact
//   count_due(t)       O(slots due at t)
//   slack              none
//   memory             56 to 72 bytes a slot: a tree node of its own, and the deadline by slot
//
// Choose it when in doubt about another index, and to read what the contract means.

#pragma once

#include <set>
#include <utility>

#include "mayfly/expiry_index.h"
#include "mayfly/deadline_column.h"

namespace mayfly {

class DeadlineTree {
 public:
  using Cell = internal::DeadlineCell;

  void attach(const SlotTable& table) { deadlines_.attach(table); }
  void reserve(std::size_t count) { deadlines_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);
  std::size_t take_due(Time now, std::size_t limit, std::vector<Due>& out);
  void clear() { *this = DeadlineTree(); }

  Time deadline(Slot slot) const { return deadlines_[slot]; }
  Time next_deadline() const { return order_.empty() ? kNever : order_.begin()->first; }
  std::size_t size() const { return order_.size(); }
  std::size_t count_due(Time now) const;
  Millis slack() const { return Millis::zero(); }
  std::string check_invariants() const;

 private:
  internal::DeadlineColumn deadlines_;
  std::set<std::pair<Time, Slot>> order_;
};

}  // namespace mayfly
