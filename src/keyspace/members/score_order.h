// SPDX-License-Identifier: Apache-2.0
// ScoreOrder: slots in the order of their scores, and of their names where scores are equal. A B+
// tree with counts.
//
//   inner   | first entry of child 0, its size, child 0 | ... 31 of them ... |
//                           |
//   leaf    | score 8, slot 4 | ... 63 of them ... |
//
// A search compares scores that lie side by side; the name of a slot is asked for only where scores
// are equal. An inner node knows how many entries are below each child, so a rank is the sum of
// what is left of the way down.
//
// Insertion makes room on the way down: a full node gives entries to a neighbour, and is split only
// if both neighbours are nearly full. So nodes are some 80 % full. Entries that come in ascending
// order leave full nodes behind.
//
//   insert, erase, count_before, at   O(log n)
//   visit                             O(log n + visited)
//   memory                            15.6 bytes an entry, 12.6 if they came in order

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "mayfly/slot.h"

namespace mayfly {

// A reference to a function object of the owner that returns the name of a slot. Valid during a
// call.
class NameOfSlot {
 public:
  template <class NameOf>
  requires(!std::is_same_v<NameOf, NameOfSlot>)
      NameOfSlot(const NameOf& name_of)  // not explicit: callers write a lambda
      : owner_(&name_of), call_([](const void* owner, Slot slot) -> std::string_view {
          return (*static_cast<const NameOf*>(owner))(slot);
        }) {}

  std::string_view operator()(Slot slot) const { return call_(owner_, slot); }

 private:
  const void* owner_;
  std::string_view (*call_)(const void*, Slot);
};

class ScoreOrder {
 public:
  struct Entry {
    double score;
    Slot slot;
  };

  ScoreOrder() = default;
  ~ScoreOrder() { clear(); }
  ScoreOrder(const ScoreOrder&) = delete;
  ScoreOrder& operator=(const ScoreOrder&) = delete;

  std::size_t size() const { return size_; }

  // REQUIRES: the slot is not in the order; the score is a number.
  void insert(Entry entry, NameOfSlot name_of);

  // REQUIRES: the slot is in the order, with this score.
  void erase(Entry entry, NameOfSlot name_of);

  // Removes all entries for which `keep(entry)` is false. O(n), much faster than erasing a large
  // part of them one by one: no name is read.
  template <class Keep>
  void keep_if(Keep keep);

  // How many entries there are before the first for which `is_before(entry)` is false. REQUIRES: it
  // is false for all entries after that one.
  template <class IsBefore>
  std::size_t count_before(IsBefore is_before) const;

  // REQUIRES: rank < size().
  Entry at(std::size_t rank) const;

  // Calls `visit(entry)` for `count` entries from rank `first` on, until it returns false.
  // Backward, the one after `first` is first - 1. REQUIRES: so many there are, and no change
  // meanwhile.
  template <class Visit>
  void visit(std::size_t first, std::size_t count, bool backward, Visit visit) const {
    this->visit(first, count, backward, visit, [](Entry, std::size_t) {});
  }

  // The same. Before each visit, `announce(entry, distance)` is called for entries that come some
  // visits later, at distances of kSoon and kLater: for prefetching. They may be beyond `count`.
  static constexpr std::size_t kSoon = 5;
  static constexpr std::size_t kLater = 10;
  template <class Visit, class Announce>
  void visit(std::size_t first, std::size_t count, bool backward, Visit visit,
             Announce announce) const;

  // Frees at most about `limit` entries and returns how many are left, to free a large order in
  // slices. After the first call only size() and this may be called.
  std::size_t free_some(std::size_t limit);

  // What it has allocated.
  std::size_t bytes() const { return leaves_ * sizeof(Leaf) + inners_ * sizeof(Inner); }

  // Empty if the structure is valid, else what is wrong with it. For tests.
  std::string check_invariants(NameOfSlot name_of) const;

 private:
  // Sizes that fill an allocation of 768 bytes.
  static constexpr std::size_t kLeafMost = 63;
  static constexpr std::size_t kInnerMost = 31;

  struct Leaf {
    static constexpr std::size_t kMost = kLeafMost;
    std::uint32_t count = 0;
    std::array<Slot, kMost> slots;
    std::array<double, kMost> scores;

    Entry entry(std::size_t i) const { return {scores[i], slots[i]}; }
  };
  struct Inner {
    static constexpr std::size_t kMost = kInnerMost;
    std::uint32_t count = 0;
    std::array<Slot, kMost> slots;     // the first entry below each child
    std::array<double, kMost> scores;  // and its score
    std::array<std::uint32_t, kMost> sizes;
    std::array<void*, kMost> children;  // of the level below: inner nodes or leaves

    Entry entry(std::size_t i) const { return {scores[i], slots[i]}; }
  };
  static_assert(sizeof(Leaf) <= 768 && sizeof(Inner) <= 768);
  class Changes;
  class Check;

  // Where an entry is.
  struct Place {
    const Leaf* leaf;
    std::size_t index;
  };
  Place place_of(std::size_t rank) const;

  void count_node(const Leaf&, int change) { leaves_ += static_cast<std::size_t>(change); }
  void count_node(const Inner&, int change) { inners_ += static_cast<std::size_t>(change); }
  template <class IsBefore>
  void insert_after(Entry entry, IsBefore is_before);
  void append(Entry entry);
  void add_level();
  void clear() { free_some(size_ + 1); }
  void swap(ScoreOrder& other);
  void drop_empty_levels();

  // The number of entries of the node, from the left, for which `is_before` holds.
  template <class Node, class IsBefore>
  static std::size_t search(const Node& node, IsBefore is_before);

  void* root_ = nullptr;
  unsigned height_ = 0;  // levels of inner nodes
  std::size_t size_ = 0;
  std::size_t leaves_ = 0;
  std::size_t inners_ = 0;
};

template <class Node, class IsBefore>
std::size_t ScoreOrder::search(const Node& node, IsBefore is_before) {
  std::size_t low = 0;
  std::size_t count = node.count;
  while (count > 0) {
    const std::size_t half = count / 2;
    const bool is_right = is_before(node.entry(low + half));
    low = is_right ? low + half + 1 : low;
    count = is_right ? count - half - 1 : half;
  }
  return low;
}

template <class Keep>
void ScoreOrder::keep_if(Keep keep) {
  ScoreOrder kept;
  visit(0, size_, false, [&](Entry entry) {
    if (keep(entry)) kept.append(entry);
    return true;
  });
  swap(kept);
}

template <class IsBefore>
std::size_t ScoreOrder::count_before(IsBefore is_before) const {
  if (size_ == 0) return 0;
  std::size_t before = 0;
  const void* node = root_;
  for (unsigned level = height_; level > 0; --level) {
    const Inner& inner = *static_cast<const Inner*>(node);
    const std::size_t firsts = search(inner, is_before);
    if (firsts == 0) return before;  // the least entry of this subtree is not before
    for (std::size_t i = 0; i + 1 < firsts; ++i) before += inner.sizes[i];
    node = inner.children[firsts - 1];
  }
  return before + search(*static_cast<const Leaf*>(node), is_before);
}

template <class Visit, class Announce>
void ScoreOrder::visit(std::size_t first, std::size_t count, bool backward, Visit visit,
                       Announce announce) const {
  while (count > 0) {
    Place place = place_of(first);
    for (;;) {
      for (const std::size_t distance : {kSoon, kLater}) {
        const std::size_t later = backward ? place.index - distance : place.index + distance;
        if (later < place.leaf->count) announce(place.leaf->entry(later), distance);
      }
      if (!visit(place.leaf->entry(place.index))) return;
      if (--count == 0) return;
      first = backward ? first - 1 : first + 1;
      if (backward ? place.index == 0 : place.index + 1 == place.leaf->count) break;
      place.index = backward ? place.index - 1 : place.index + 1;
    }
  }
}

}  // namespace mayfly
