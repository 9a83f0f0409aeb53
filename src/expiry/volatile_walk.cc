// SPDX-License-Identifier: Apache-2.0
// How a VolatileTree is read, counted and emptied in order of time.

#include <algorithm>
#include <utility>

#include "expiry/ordinal.h"
#include "expiry/volatile_tree.h"

namespace mayfly::internal {
namespace {

// The lowest `bits` bits set; all 64 if there are as many.
constexpr std::uint64_t low_bits(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace

unsigned VolatileTree::Node::first_full() const {
  const auto full =
      std::find_if(children.begin(), children.end(), [](Child child) { return !child.is_empty(); });
  return static_cast<unsigned>(full - children.begin());
}

// How many slots are below the node, or some number from `enough` on if there are as many.
std::size_t VolatileTree::count_up_to(std::uint32_t at, std::size_t enough) const {
  std::size_t count = 0;
  const Node& node = nodes_[at];
  for (unsigned digit = 0; digit < kFanout && count < enough;) {
    const Child child = node.children[digit];
    if (child.is_node()) count += count_up_to(child.id(), enough - count);
    if (child.is_bucket()) count += buckets_[child.id()].size();
    digit += span_of(child);
  }
  return count;
}

std::size_t VolatileTree::count_of(Child child) const {
  if (child.is_empty()) return 0;
  constexpr std::size_t kAll = ~std::size_t{0};
  return child.is_bucket() ? buckets_[child.id()].size() : count_up_to(child.id(), kAll);
}

unsigned VolatileTree::span_of(Child child) const {
  return child.is_bucket() ? 1u << buckets_[child.id()].span_log() : 1;
}

VolatileTree::Range VolatileTree::range_of(Branch at, unsigned digit) const {
  const Node& node = nodes_[at.node];
  if (node.is_hash()) return {from_ordinal(at.base), from_ordinal(at.base)};
  const unsigned span = span_of(node.children[digit]);
  const std::uint64_t first = at.base | std::uint64_t{digit & ~(span - 1)} << node.shift;
  const std::uint64_t rest = (std::uint64_t{span - 1} << node.shift) | low_bits(node.shift);
  return {from_ordinal(first), from_ordinal(first | rest)};
}

VolatileTree::Branch VolatileTree::child_of(Branch at, unsigned digit) const {
  return {nodes_[at.node].children[digit].id(), ordinal(range_of(at, digit).first)};
}

std::size_t VolatileTree::take_due(PlacedColumn& slots, Time now, std::size_t limit,
                                   std::vector<Due>& out) {
  if (root_.is_empty()) return 0;
  const std::size_t taken = take(slots, root(), now, limit, out);
  size_ -= taken;
  lower_root();
  return taken;
}

std::size_t VolatileTree::take(PlacedColumn& slots, Branch at, Time now, std::size_t limit,
                               std::vector<Due>& out) {
  std::size_t taken = 0;
  for (unsigned digit = 0; digit < kFanout && taken < limit;) {
    const Child child = nodes_[at.node].children[digit];
    const unsigned span = span_of(child);
    if (!child.is_empty()) {
      if (!is_due(range_of(at, digit).first, now)) break;
      if (child.is_node()) {
        taken += take(slots, child_of(at, digit), now, limit - taken, out);
        tidy_child(slots, at.node, digit);
      } else {
        taken += take_bucket(slots, at, digit, now, limit - taken, out);
      }
    }
    digit += span;
  }
  return taken;
}

std::size_t VolatileTree::take_bucket(PlacedColumn& slots, Branch at, unsigned digit, Time now,
                                      std::size_t limit, std::vector<Due>& out) {
  const std::uint32_t id = nodes_[at.node].children[digit].id();
  VolatileBucket& bucket = buckets_[id];
  std::size_t taken = 0;
  if (is_due(range_of(at, digit).last, now)) {
    for (; taken < limit && bucket.size() > 0; ++taken) out.push_back({bucket.pop(), kNever});
  } else if (is_due(bucket.earliest(), now)) {
    Time earliest = kNever;
    std::size_t i = bucket.size();
    while (i > 0 && taken < limit) {
      const Slot slot = bucket[--i];
      if (is_due(slots[slot], now)) {
        remove_at(slots, id, i);
        out.push_back({slot, kNever});
        ++taken;
      } else {
        earliest = std::min(earliest, slots[slot]);
      }
    }
    if (i == 0) bucket.set_earliest(earliest);  // every slot was looked at
  }
  if (bucket.size() == 0) {
    unset(nodes_[at.node], digit);
  } else if (taken > 0) {
    bucket.fit();
  }
  return taken;
}

Time VolatileTree::earliest() const {
  if (root_.is_empty()) return kNever;
  Child child = root_;
  while (child.is_node()) {
    const Node& node = nodes_[child.id()];
    child = node.children[node.first_full()];
  }
  return buckets_[child.id()].earliest();
}

Time VolatileTree::first_deadline(const PlacedColumn& slots, Time from) const {
  return root_.is_empty() ? kNever : first_below(slots, root(), from);
}

Time VolatileTree::first_below(const PlacedColumn& slots, Branch at, Time from) const {
  for (unsigned digit = 0; digit < kFanout;) {
    const Child child = nodes_[at.node].children[digit];
    if (!child.is_empty() && range_of(at, digit).last >= from) {
      Time first = kNever;
      if (child.is_node()) {
        first = first_below(slots, child_of(at, digit), from);
      } else {
        for (const Slot slot : buckets_[child.id()]) {
          if (slots[slot] >= from) first = std::min(first, slots[slot]);
        }
      }
      if (first != kNever) return first;
    }
    digit += span_of(child);
  }
  return kNever;
}

// Adds up what lies before `now`, by the sizes of whole buckets. `boundary(bucket, range)` says how
// much of the one bucket to add that `now` falls into.
template <class Boundary>
std::size_t VolatileTree::count_with(Time now, Boundary boundary) const {
  if (root_.is_empty()) return 0;
  std::size_t count = 0;
  Branch at = root();
  for (unsigned digit = 0; digit < kFanout;) {
    const Child child = nodes_[at.node].children[digit];
    const Range range = range_of(at, digit);
    if (child.is_empty() || is_due(range.last, now)) {
      count += count_of(child);
      digit += span_of(child);
    } else if (!is_due(range.first, now)) {
      return count;
    } else if (child.is_bucket()) {
      return count + boundary(buckets_[child.id()], range);
    } else {
      at = child_of(at, digit);
      digit = 0;
    }
  }
  return count;
}

std::size_t VolatileTree::count_due(const PlacedColumn& slots, Time now) const {
  return count_with(now, [&](const VolatileBucket& bucket, Range) {
    return static_cast<std::size_t>(std::count_if(
        bucket.begin(), bucket.end(), [&](Slot slot) { return is_due(slots[slot], now); }));
  });
}

std::size_t VolatileTree::estimate_due(Time now) const {
  return count_with(now, [&](const VolatileBucket& bucket, Range range) {
    const auto past = static_cast<double>(ordinal(now) - ordinal(range.first)) + 1;
    const auto width = static_cast<double>(ordinal(range.last) - ordinal(range.first)) + 1;
    return static_cast<std::size_t>(static_cast<double>(bucket.size()) * past / width);
  });
}

void VolatileTree::visit(const PlacedColumn& slots, Time from, Time to, const See& see) const {
  if (root_.is_empty() || from >= to) return;
  visit_branch(slots, root(), {from, to - Millis(1)}, see);
}

// Returns whether to go on.
bool VolatileTree::visit_branch(const PlacedColumn& slots, Branch at, Range wanted,
                                const See& see) const {
  for (unsigned digit = 0; digit < kFanout;) {
    const Child child = nodes_[at.node].children[digit];
    const Range range = range_of(at, digit);
    const bool is_outside = range.last < wanted.first || range.first > wanted.last;
    if (!child.is_empty() && !is_outside) {
      const bool go_on = child.is_node() ? visit_branch(slots, child_of(at, digit), wanted, see)
                                         : visit_bucket(slots, buckets_[child.id()], wanted, see);
      if (!go_on) return false;
    }
    digit += span_of(child);
  }
  return true;
}

bool VolatileTree::visit_bucket(const PlacedColumn& slots, const VolatileBucket& bucket,
                                Range wanted, const See& see) const {
  std::vector<std::pair<Time, Slot>> sorted;
  for (const Slot slot : bucket) {
    const Time deadline = slots[slot];
    if (wanted.first <= deadline && deadline <= wanted.last) sorted.emplace_back(deadline, slot);
  }
  std::sort(sorted.begin(), sorted.end());
  return std::all_of(sorted.begin(), sorted.end(),
                     [&](const auto& entry) { return see(entry.second, entry.first); });
}

std::string VolatileTree::check_invariants(const PlacedColumn& slots) const {
  if (root_.is_empty()) {
    const bool is_empty = slots.size() + nodes_.size() + buckets_.size() == 0;
    return is_empty ? "" : "slots, nodes or buckets without a root";
  }
  if (size_ != slots.size()) return "the tree does not match size()";
  if (count_of(root_) != size_) return "the buckets do not match size()";
  if (size_ == 0) return "an empty root";
  return check_branch(slots, root(), true);
}

std::string VolatileTree::check_branch(const PlacedColumn& slots, Branch at, bool is_root) const {
  const Node& node = nodes_[at.node];
  if (!is_root && count_up_to(at.node, 1) == 0) return "an empty node";
  for (unsigned digit = 0; digit < kFanout;) {
    const Child child = node.children[digit];
    std::string wrong;
    if (child.is_bucket()) wrong = check_bucket(slots, at, digit);
    if (child.is_node()) {
      if (nodes_[child.id()].level != node.level + 1) return "a level is missing";
      wrong = check_branch(slots, child_of(at, digit), false);
    }
    if (!wrong.empty()) return wrong;
    digit += span_of(child);
  }
  return "";
}

std::string VolatileTree::check_bucket(const PlacedColumn& slots, Branch at, unsigned digit) const {
  const Node& node = nodes_[at.node];
  const Child child = node.children[digit];
  const VolatileBucket& bucket = buckets_[child.id()];
  const unsigned span = span_of(child);
  if (bucket.size() == 0) return "an empty bucket";
  if (digit % span != 0) return "a bucket that starts in its middle";
  const auto first = node.children.begin() + digit;
  if (std::count(first, first + span, child) != span) return "a bucket that is not everywhere";

  const Range range = range_of(at, digit);
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    const Slot slot = bucket[i];
    if (slots[slot] < bucket.earliest()) return "a deadline before the earliest";
    if (slots.position(slot) != i) return "a slot that does not know its place";
    if (slots[slot] < range.first || slots[slot] > range.last) return "a slot of another time";
    if (key_of(slot, slots[slot]).digit(node) / span * span != digit) return "a misplaced slot";
  }
  return "";
}

}  // namespace mayfly::internal
