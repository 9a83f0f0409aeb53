// SPDX-License-Identifier: Apache-2.0
#include "mayfly/deadline_heap.h"

#include <algorithm>
#include <limits>

namespace mayfly {
namespace {

// Below this size a compaction would save less than the call costs.
constexpr std::size_t kCompactFrom = 64;

}  // namespace

void DeadlineHeap::schedule(Slot slot, Time deadline) {
  if (deadline == kNever) {
    cancel(slot);
    return;
  }
  // A version must never come twice while an entry of its first use may still be in the heap.
  if (last_version_ == std::numeric_limits<std::uint32_t>::max()) renumber();

  const Time present = deadlines_.find(slot);
  if (present == deadline) return;
  if (present == kNever) {
    deadlines_.add(slot, deadline);
    versions_.claim(slot) = ++last_version_;
  } else {
    deadlines_.change(slot, deadline);
    versions_.at(slot) = ++last_version_;
  }
  heap_.push_back({deadline, slot, last_version_});
  std::push_heap(heap_.begin(), heap_.end(), later);
  drop_stale();
}

bool DeadlineHeap::cancel(Slot slot) {
  if (deadlines_.find(slot) == kNever) return false;
  forget(slot);
  drop_stale();
  return true;
}

std::size_t DeadlineHeap::take_due(Time now, std::size_t limit, std::vector<Due>& out) {
  std::size_t taken = 0;
  while (taken < limit && !heap_.empty() && is_due(heap_.front().deadline, now)) {
    const auto [deadline, slot, version] = heap_.front();
    pop_top();
    forget(slot);
    out.push_back({slot, deadline});
    ++taken;
    drop_stale();
  }
  return taken;
}

void DeadlineHeap::forget(Slot slot) {
  deadlines_.remove(slot);
  versions_.drop(slot);
}

std::size_t DeadlineHeap::count_due(Time now) const {
  // A child is no sooner than its parent, so the search ends wherever an entry is not due.
  std::size_t count = 0;
  std::vector<std::size_t> open;
  if (!heap_.empty()) open.push_back(0);
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (at >= heap_.size() || !is_due(heap_[at].deadline, now)) continue;
    count += is_stale(heap_[at]) ? 0 : 1;
    open.push_back(2 * at + 1);
    open.push_back(2 * at + 2);
  }
  return count;
}

void DeadlineHeap::pop_top() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  heap_.pop_back();
}

void DeadlineHeap::drop_stale() {
  while (!heap_.empty() && is_stale(heap_.front())) pop_top();
  if (heap_.size() > kCompactFrom && heap_.size() > 2 * size()) compact();
}

void DeadlineHeap::compact() {
  std::erase_if(heap_, [this](const Entry& entry) { return is_stale(entry); });
  if (heap_.capacity() > 4 * heap_.size()) heap_.shrink_to_fit();
  std::make_heap(heap_.begin(), heap_.end(), later);
}

void DeadlineHeap::renumber() {
  compact();
  last_version_ = 0;
  for (Entry& entry : heap_) entry.version = versions_.at(entry.slot) = ++last_version_;
}

std::string DeadlineHeap::check_invariants() const {
  if (!std::is_heap(heap_.begin(), heap_.end(), later)) return "the heap is out of order";
  if (!heap_.empty() && is_stale(heap_.front())) return "the top of the heap is stale";
  if (heap_.size() > kCompactFrom && heap_.size() > 2 * size()) return "stale entries outnumber";

  const auto live =
      std::count_if(heap_.begin(), heap_.end(), [this](const Entry& e) { return !is_stale(e); });
  if (static_cast<std::size_t>(live) != size()) return "live entries do not match size()";
  return "";
}

}  // namespace mayfly
