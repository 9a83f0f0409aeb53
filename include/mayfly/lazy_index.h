// SPDX-License-Identifier: Apache-2.0
// LazyIndex: no index at all, only the deadlines. The baseline of the comparison.
//
// Reads are as exact as with any other, since they ask the deadline. But what is never read again
// is never found, and stays: take_due() takes nothing.
//
//   schedule, cancel   O(1)
//   take_due           nothing, ever
//   count_due(t)       O(n)
//   slack              no bound
//   memory             8 bytes a slot
//
// Choose it when every entry is read at least once after its deadline, or the process is short.

#pragma once

#include "mayfly/expiry_index.h"
#include "mayfly/deadline_column.h"

namespace mayfly {

class LazyIndex {
 public:
  using Cell = internal::DeadlineCell;

  void attach(const SlotTable& table) { deadlines_.attach(table); }
  void reserve(std::size_t count) { deadlines_.reserve(count); }
  void schedule(Slot slot, Time deadline);
  bool cancel(Slot slot);
  std::size_t take_due(Time, std::size_t, std::vector<Due>&) { return 0; }
  void clear() { *this = LazyIndex(); }

  Time deadline(Slot slot) const { return deadlines_[slot]; }
  Time next_deadline() const { return kNever; }
  std::size_t size() const { return deadlines_.size(); }
  std::size_t count_due(Time now) const;
  Millis slack() const { return kNoBound; }
  std::string check_invariants() const;

 private:
  internal::DeadlineColumn deadlines_;
  std::vector<bool> has_deadline_;  // by slot, for count_due()
};

}  // namespace mayfly
