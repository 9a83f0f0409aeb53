// SPDX-License-Identifier: Apache-2.0
#include "mayfly/lazy_index.h"

namespace mayfly {

void LazyIndex::schedule(Slot slot, Time deadline) {
  cancel(slot);
  if (deadline == kNever) return;
  deadlines_.add(slot, deadline);
  if (slot >= has_deadline_.size()) has_deadline_.resize(std::size_t{slot} + 1);
  has_deadline_[slot] = true;
}

bool LazyIndex::cancel(Slot slot) {
  if (deadlines_.find(slot) == kNever) return false;
  deadlines_.remove(slot);
  has_deadline_[slot] = false;
  return true;
}

std::size_t LazyIndex::count_due(Time now) const {
  std::size_t count = 0;
  for (Slot slot = 0; slot < has_deadline_.size(); ++slot) {
    count += has_deadline_[slot] && is_due(deadlines_[slot], now) ? 1 : 0;
  }
  return count;
}

std::string LazyIndex::check_invariants() const {
  return count_due(kNever - Millis(1)) == deadlines_.size() ? "" : "deadlines do not match size()";
}

}  // namespace mayfly
