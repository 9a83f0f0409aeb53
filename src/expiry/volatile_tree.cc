// SPDX-License-Identifier: Apache-2.0
// How the tree takes its shape: finding a place, splitting what is full, joining what is small.
// How it is read and emptied in order of time is in volatile_walk.cc.

#include "expiry/volatile_tree.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "expiry/ordinal.h"

namespace mayfly::internal {
namespace {

// Slots of one bucket lie anywhere in the column: each is asked for this far ahead of its turn.
constexpr std::size_t kAhead = 16;

}  // namespace

VolatileTree::Node::Node(unsigned at_level)
    : level(static_cast<std::uint8_t>(at_level)),
      shift(static_cast<std::uint8_t>(
          ((at_level < kTimeLevels ? kTimeLevels : kLevels) - 1 - at_level) * kDigitBits)) {}

// An odd factor makes the hash a permutation: no two slots share all of its digits, so that any
// full bucket can be split in the end.
VolatileTree::Key VolatileTree::key_of(Slot slot, Time deadline) {
  return {ordinal(deadline), slot * 0x9E3779B1u};
}

void VolatileTree::insert(PlacedColumn& slots, Slot slot, Time deadline) {
  const Key key = key_of(slot, deadline);
  if (!covers(key)) raise_root(slots, key);

  std::uint32_t at = descend(key);
  unsigned digit = key.digit(nodes_[at]);
  Child child = nodes_[at].children[digit];
  while (child.is_bucket() && buckets_[child.id()].is_full()) {
    split(slots, at, digit);
    at = descend(key);
    digit = key.digit(nodes_[at]);
    child = nodes_[at].children[digit];
  }
  const std::uint32_t bucket = child.is_empty() ? add_bucket(nodes_[at], digit) : child.id();
  push(slots, bucket, slot, deadline);
  ++size_;
}

void VolatileTree::remove(PlacedColumn& slots, Slot slot, Time deadline) {
  const Key key = key_of(slot, deadline);
  Node& node = nodes_[descend(key)];
  const unsigned digit = key.digit(node);
  const std::uint32_t bucket = node.children[digit].id();
  remove_at(slots, bucket, slots.position(slot));
  --size_;
  const std::size_t left = buckets_[bucket].size();
  if (left % kFitEvery == 0) buckets_[bucket].fit();
  if (left % kTidyEvery != 0 || left > kJoin / 2) return;

  if (left == 0) {
    unset(node, digit);
  } else {
    join_neighbours(slots, node, digit);
  }
  tidy_path(slots, key, root_.id());
  if (size_ == 0) lower_root();
}

// Replaces the nodes on the way to the key that have become small, from the last to the first.
void VolatileTree::tidy_path(PlacedColumn& slots, const Key& key, std::uint32_t at) {
  const unsigned digit = key.digit(nodes_[at]);
  const Child child = nodes_[at].children[digit];
  if (!child.is_node()) return;
  tidy_path(slots, key, child.id());
  tidy_child(slots, at, digit);
}

// The last node on the way to the key. Nodes above the first digit that differs from the finger's
// are known already, so only the rest is looked up: where deadlines are dense, one node or two of
// many.
std::uint32_t VolatileTree::descend(const Key& key) {
  unsigned level = 0;
  if (finger_level_ == kNoFinger) {
    level = nodes_[root_.id()].level;
    finger_[level] = root_.id();
  } else {
    const std::uint64_t difference = (key.time ^ finger_time_) | 1;
    const unsigned bit = 63 - static_cast<unsigned>(std::countl_zero(difference));
    level = std::min(kTimeLevels - 1 - bit / kDigitBits, finger_level_);
  }
  Path path;
  std::uint32_t at = finger_[level];
  const unsigned start = level;
  while (true) {
    const Node& node = nodes_[at];
    const Child child = node.children[key.digit(node)];
    if (!child.is_node()) break;
    at = child.id();
    path[++level] = at;
  }
  const unsigned reached = std::min(level, kTimeLevels - 1);
  if (finger_level_ == kNoFinger || reached > finger_level_) {
    std::copy(path.begin() + start + 1, path.begin() + reached + 1, finger_.begin() + start + 1);
    finger_time_ = key.time;
    finger_level_ = reached;
  }
  return at;
}

bool VolatileTree::covers(const Key& key) const {
  if (root_.is_empty()) return false;
  const unsigned above = nodes_[root_.id()].shift + kDigitBits;
  return above >= 64 || (key.time ^ root_base_) >> above == 0;
}

// Few slots are put into one bucket under a root at the right level at once. Otherwise the root
// gets a parent, and that another, until the key is covered.
void VolatileTree::raise_root(PlacedColumn& slots, const Key& key) {
  finger_level_ = kNoFinger;
  if (root_.is_empty()) {
    root_ = Child::of_node(nodes_.add(Node(kTimeLevels - 1)));
    root_base_ = key.time >> kDigitBits << kDigitBits;
    return;
  }
  const bool is_small = size_ <= VolatileBucket::kMost;
  const std::uint32_t all = is_small ? buckets_.add(VolatileBucket(kDigitBits)) : 0;
  if (is_small) gather(slots, root_.id(), all);

  do {
    Node parent(nodes_[root_.id()].level - 1u);
    if (is_small) {
      nodes_[root_.id()] = parent;
    } else {
      parent.children[Key{root_base_, 0}.digit(parent)] = root_;
      root_ = Child::of_node(nodes_.add(parent));
    }
    const unsigned above = parent.shift + kDigitBits;
    root_base_ = above >= 64 ? 0 : root_base_ >> above << above;
  } while (!covers(key));

  if (is_small) set(nodes_[root_.id()], 0, all);
}

// The root is not needed while all that is in it is in one node below. A hash needs a parent, which
// says what its deadline is. This is done when time moves on and not at every removal, so that one
// entry far away from the others can come and go without raising and lowering the root each time.
void VolatileTree::lower_root() {
  if (root_.is_empty()) return;
  finger_level_ = kNoFinger;
  if (size_ == 0) {
    nodes_.remove(root_.id());
    root_ = Child();
    return;
  }
  while (nodes_[root_.id()].level < kTimeLevels - 1) {
    const Node& node = nodes_[root_.id()];
    const unsigned digit = node.first_full();
    const Child child = node.children[digit];
    if (!child.is_node() || !is_free(node, digit + 1, kFanout - digit - 1)) return;
    root_base_ = child_of(root(), digit).base;
    nodes_.remove(root_.id());
    root_ = child;
  }
}

void VolatileTree::push(PlacedColumn& slots, std::uint32_t bucket, Slot slot, Time deadline) {
  slots.set_position(slot, buckets_[bucket].size());
  buckets_[bucket].push(slot, deadline);
}

// Moves all slots of a bucket to another.
void VolatileTree::pour(PlacedColumn& slots, std::uint32_t from, std::uint32_t into) {
  for (const Slot slot : buckets_[from]) push(slots, into, slot, buckets_[from].earliest());
}

// The last slot takes the place of the one removed.
void VolatileTree::remove_at(PlacedColumn& slots, std::uint32_t bucket, std::size_t position) {
  const Slot last = buckets_[bucket].pop();
  if (position == buckets_[bucket].size()) return;
  buckets_[bucket].set(position, last);
  slots.set_position(last, position);
}

bool VolatileTree::is_free(const Node& node, unsigned first, unsigned span) const {
  const auto from = node.children.begin() + first;
  return std::all_of(from, from + span, [](Child child) { return child.is_empty(); });
}

// Writes the bucket into every range it covers, `digit` being one of them.
void VolatileTree::set(Node& node, unsigned digit, std::uint32_t bucket) {
  const unsigned span = 1u << buckets_[bucket].span_log();
  std::fill_n(node.children.begin() + (digit & ~(span - 1)), span, Child::of_bucket(bucket));
}

// Removes the bucket at `digit`.
void VolatileTree::unset(Node& node, unsigned digit) {
  const Child child = node.children[digit];
  const unsigned span = span_of(child);
  std::fill_n(node.children.begin() + (digit & ~(span - 1)), span, Child());
  VolatileBucket& bucket = buckets_[child.id()];
  bucket.empty();
  if (bucket.is_small()) spare_ = std::move(bucket);
  buckets_.remove(child.id());
}

// A new bucket that covers as many of the empty ranges around `digit` as a bucket may.
std::uint32_t VolatileTree::add_bucket(Node& node, unsigned digit) {
  unsigned span_log = 0;
  for (; span_log < kDigitBits; ++span_log) {
    const unsigned span = 1u << span_log;
    if (!is_free(node, (digit & ~(span - 1)) ^ span, span)) break;
  }
  spare_.set_span_log(span_log);
  const std::uint32_t bucket = buckets_.add(std::exchange(spare_, VolatileBucket()));
  set(node, digit, bucket);
  return bucket;
}

void VolatileTree::split(PlacedColumn& slots, std::uint32_t at, unsigned digit) {
  const Child full = nodes_[at].children[digit];
  if (buckets_[full.id()].span_log() > 0) {
    halve(slots, nodes_[at], digit);
    return;
  }
  Node node(nodes_[at].level + 1u);
  assert(node.level < kLevels);
  buckets_[full.id()].set_span_log(kDigitBits);
  set(node, 0, full.id());
  const std::uint32_t below = nodes_.add(node);
  nodes_[at].children[digit] = Child::of_node(below);
}

void VolatileTree::halve(PlacedColumn& slots, Node& node, unsigned digit) {
  const std::uint32_t id = node.children[digit].id();
  const VolatileBucket full = std::move(buckets_[id]);
  buckets_.remove(id);

  const unsigned half = 1u << (full.span_log() - 1);
  const unsigned first = digit & ~(2 * half - 1);
  const std::uint32_t halves[2] = {buckets_.add(VolatileBucket(full.span_log() - 1)),
                                   buckets_.add(VolatileBucket(full.span_log() - 1))};
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (i + kAhead < full.size()) slots.prefetch(full[i + kAhead]);
    const Time deadline = slots[full[i]];
    const bool is_upper = (key_of(full[i], deadline).digit(node) & half) != 0;
    push(slots, halves[is_upper], full[i], deadline);
  }
  for (const unsigned side : {0u, 1u}) {
    set(node, first + side * half, halves[side]);
    if (buckets_[halves[side]].size() == 0) unset(node, first + side * half);
  }
}

// Lets the bucket at `digit` take over the ranges beside it, as long as they are empty or hold a
// bucket of the same span and there is room for both.
void VolatileTree::join_neighbours(PlacedColumn& slots, Node& node, unsigned digit) {
  const std::uint32_t id = node.children[digit].id();
  VolatileBucket& bucket = buckets_[id];
  while (bucket.span_log() < kDigitBits) {
    const unsigned span = 1u << bucket.span_log();
    const unsigned beside = (digit & ~(span - 1)) ^ span;
    if (!is_free(node, beside, span)) {
      const Child other = node.children[beside];
      if (!other.is_bucket() || span_of(other) != span) return;
      if (count_of(other) + bucket.size() > kJoin) return;
      pour(slots, other.id(), id);
      unset(node, beside);
    }
    bucket.set_span_log(bucket.span_log() + 1);
    set(node, digit, id);
  }
}

// Moves all slots below the node into a bucket; the buckets and nodes they were in are gone, but
// not the node itself, which is left as it was. REQUIRES: they fit.
void VolatileTree::gather(PlacedColumn& slots, std::uint32_t at, std::uint32_t into) {
  for (unsigned digit = 0; digit < kFanout;) {
    const Child child = nodes_[at].children[digit];
    digit += span_of(child);
    if (child.is_node()) {
      gather(slots, child.id(), into);
      nodes_.remove(child.id());
    } else if (child.is_bucket()) {
      pour(slots, child.id(), into);
      buckets_.remove(child.id());
    }
  }
}

// Replaces the node at `digit`, if it has become small, by a bucket, or by nothing.
void VolatileTree::tidy_child(PlacedColumn& slots, std::uint32_t parent, unsigned digit) {
  const std::uint32_t at = nodes_[parent].children[digit].id();
  const std::size_t count = count_up_to(at, kJoin + 1);
  if (count > kJoin) return;
  finger_level_ = kNoFinger;
  nodes_[parent].children[digit] = Child();
  if (count > 0) {
    const std::uint32_t bucket = buckets_.add(VolatileBucket(0));
    gather(slots, at, bucket);
    nodes_[parent].children[digit] = Child::of_bucket(bucket);
  }
  nodes_.remove(at);
}

}  // namespace mayfly::internal
