// SPDX-License-Identifier: Apache-2.0
#include "mayfly/volatile_set.h"

#include "expiry/volatile_tree.h"

namespace mayfly {

VolatileSet::VolatileSet() = default;
VolatileSet::~VolatileSet() = default;
VolatileSet::VolatileSet(VolatileSet&&) noexcept = default;
VolatileSet& VolatileSet::operator=(VolatileSet&&) noexcept = default;

void VolatileSet::schedule(Slot slot, Time deadline) {
  const Time present = slots_.find(slot);
  if (present == deadline) return;
  if (deadline == kNever) {
    cancel(slot);
    return;
  }
  if (tree_ == nullptr) tree_ = std::make_unique<internal::VolatileTree>();
  if (present == kNever) {
    slots_.add(slot, deadline);
  } else {
    tree_->remove(slots_, slot, present);
    slots_.change(slot, deadline);
    if (present == next_) is_next_known_ = false;
  }
  tree_->insert(slots_, slot, deadline);
  if (is_next_known_ && deadline < next_) next_ = deadline;
}

bool VolatileSet::cancel(Slot slot) {
  const Time present = slots_.find(slot);
  if (present == kNever) return false;
  tree_->remove(slots_, slot, present);
  slots_.remove(slot);
  if (present == next_) is_next_known_ = false;
  return true;
}

std::size_t VolatileSet::take_due(Time now, std::size_t limit, std::vector<Due>& out) {
  if (tree_ == nullptr) return 0;
  const std::size_t before = out.size();
  const std::size_t taken = tree_->take_due(slots_, now, limit, out);

  // The slots lie anywhere in memory: ask for each some way ahead of its turn.
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = before; i < out.size(); ++i) {
    if (i + kAhead < out.size()) slots_.prefetch(out[i + kAhead].slot);
    out[i].deadline = slots_[out[i].slot];
    slots_.remove(out[i].slot);
  }
  is_next_known_ = false;
  return taken;
}

Time VolatileSet::next_deadline() const {
  if (!is_next_known_) {
    next_ = tree_->earliest();
    is_next_known_ = true;
  }
  return next_;
}

Time VolatileSet::first_deadline(Time from) const {
  return tree_ == nullptr ? kNever : tree_->first_deadline(slots_, from);
}

std::size_t VolatileSet::count_due(Time now) const {
  return tree_ == nullptr ? 0 : tree_->count_due(slots_, now);
}

std::size_t VolatileSet::estimate_due(Time now) const {
  return tree_ == nullptr ? 0 : tree_->estimate_due(now);
}

void VolatileSet::visit(Time from, Time to, const See& see) const {
  if (tree_ != nullptr) tree_->visit(slots_, from, to, see);
}

std::string VolatileSet::check_invariants() const {
  if (tree_ == nullptr) return size() == 0 ? "" : "slots, but no tree";
  if (is_next_known_ && next_ > tree_->earliest()) return "the next deadline is too late";
  return tree_->check_invariants(slots_);
}

}  // namespace mayfly
