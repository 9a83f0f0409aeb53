// SPDX-License-Identifier: Apache-2.0
#include "mayfly/deadline_tree.h"

namespace mayfly {

void DeadlineTree::schedule(Slot slot, Time deadline) {
  cancel(slot);
  if (deadline == kNever) return;
  deadlines_.add(slot, deadline);
  order_.emplace(deadline, slot);
}

bool DeadlineTree::cancel(Slot slot) {
  const Time present = deadlines_.find(slot);
  if (present == kNever) return false;
  order_.erase({present, slot});
  deadlines_.remove(slot);
  return true;
}

std::size_t DeadlineTree::take_due(Time now, std::size_t limit, std::vector<Due>& out) {
  std::size_t taken = 0;
  for (; taken < limit && is_due(next_deadline(), now); ++taken) {
    const auto [deadline, slot] = *order_.begin();
    order_.erase(order_.begin());
    deadlines_.remove(slot);
    out.push_back({slot, deadline});
  }
  return taken;
}

std::size_t DeadlineTree::count_due(Time now) const {
  std::size_t count = 0;
  for (auto it = order_.begin(); it != order_.end() && is_due(it->first, now); ++it) ++count;
  return count;
}

std::string DeadlineTree::check_invariants() const {
  if (order_.size() != deadlines_.size()) return "tree and deadlines differ in size";
  for (const auto& [deadline, slot] : order_) {
    if (deadlines_.find(slot) != deadline) return "a slot stands under a deadline not its own";
  }
  return "";
}

}  // namespace mayfly
