// SPDX-License-Identifier: Apache-2.0
// Changes of the tree: making room and joining nodes on the way down.

#include "keyspace/members/score_order.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

namespace mayfly {

// Moves entries inside and between nodes. All arrays of a node move alike.
class ScoreOrder::Changes {
 public:
  // Calls `change` with each array of both nodes, which may be the same.
  template <class Change>
  static void columns(Leaf& a, Leaf& b, Change change) {
    change(a.slots.data(), b.slots.data());
    change(a.scores.data(), b.scores.data());
  }
  template <class Change>
  static void columns(Inner& a, Inner& b, Change change) {
    change(a.slots.data(), b.slots.data());
    change(a.scores.data(), b.scores.data());
    change(a.sizes.data(), b.sizes.data());
    change(a.children.data(), b.children.data());
  }

  // Makes a gap of `count` entries at `at`. What is in it is not defined.
  template <class Node>
  static void open(Node& node, std::size_t at, std::size_t count) {
    assert(node.count + count <= Node::kMost);
    columns(node, node, [&](auto* from, auto* to) {
      std::copy_backward(from + at, from + node.count, to + node.count + count);
    });
    node.count += static_cast<std::uint32_t>(count);
  }

  template <class Node>
  static void close(Node& node, std::size_t at, std::size_t count) {
    columns(node, node, [&](auto* from, auto* to) {
      std::copy(from + at + count, from + node.count, to + at);
    });
    node.count -= static_cast<std::uint32_t>(count);
  }

  // Moves `count` entries from the end of `left` to the beginning of `right`.
  template <class Node>
  static void move_right(Node& left, Node& right, std::size_t count) {
    open(right, 0, count);
    columns(left, right,
            [&](auto* from, auto* to) { std::copy_n(from + left.count - count, count, to); });
    left.count -= static_cast<std::uint32_t>(count);
  }

  // Moves `count` entries from the beginning of `right` to the end of `left`.
  template <class Node>
  static void move_left(Node& left, Node& right, std::size_t count) {
    assert(left.count + count <= Node::kMost);
    columns(right, left, [&](auto* from, auto* to) { std::copy_n(from, count, to + left.count); });
    left.count += static_cast<std::uint32_t>(count);
    close(right, 0, count);
  }

  static std::size_t size_of(const Leaf& leaf) { return leaf.count; }
  static std::size_t size_of(const Inner& inner) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < inner.count; ++i) size += inner.sizes[i];
    return size;
  }

  // Writes what a parent knows about its child.
  template <class Node>
  static void describe(Inner& parent, std::size_t i) {
    const Node& child = child_of<Node>(parent, i);
    parent.scores[i] = child.scores[0];
    parent.slots[i] = child.slots[0];
    parent.sizes[i] = static_cast<std::uint32_t>(size_of(child));
  }

  template <class Node>
  static Node& child_of(const Inner& parent, std::size_t i) {
    return *static_cast<Node*>(parent.children[i]);
  }

  // Makes room in a full child. Neighbours share evenly if one of them has some room; else the
  // child is split. `at_end`: entries come in ascending order, so the left part stays full.
  template <class Node>
  static void make_room(ScoreOrder& order, Inner& parent, std::size_t i, bool at_end) {
    constexpr std::size_t kRoom = Node::kMost / 6;  // worth moving
    const auto has_room = [&](std::size_t j) {
      return child_of<Node>(parent, j).count + kRoom <= Node::kMost;
    };
    if (i > 0 && has_room(i - 1)) return share<Node>(parent, i - 1);
    if (i + 1 < parent.count && has_room(i + 1)) return share<Node>(parent, i);
    auto* const added = new Node;
    order.count_node(*added, 1);
    open(parent, i + 1, 1);
    parent.children[i + 1] = added;
    Node& full = child_of<Node>(parent, i);
    move_right(full, *added, at_end ? 1 : Node::kMost / 2);
    describe<Node>(parent, i);
    describe<Node>(parent, i + 1);
  }

  // Gives child `i` and the next one equally many entries.
  template <class Node>
  static void share(Inner& parent, std::size_t i) {
    Node& left = child_of<Node>(parent, i);
    Node& right = child_of<Node>(parent, i + 1);
    const std::size_t half = (left.count + right.count) / 2;
    if (left.count > half) {
      move_right(left, right, left.count - half);
    } else {
      move_left(left, right, half - left.count);
    }
    describe<Node>(parent, i);
    describe<Node>(parent, i + 1);
  }

  // Joins a child of few entries with a neighbour, or takes entries from it.
  template <class Node>
  static void refill(ScoreOrder& order, Inner& parent, std::size_t i) {
    const std::size_t first = i > 0 ? i - 1 : i;
    Node& left = child_of<Node>(parent, first);
    Node& right = child_of<Node>(parent, first + 1);
    if (left.count + right.count > Node::kMost * 7 / 8) return share<Node>(parent, first);
    move_left(left, right, right.count);
    order.count_node(right, -1);
    delete &right;
    close(parent, first + 1, 1);
    describe<Node>(parent, first);
  }

  // Calls `change` with the type of the nodes at this level.
  template <class Change>
  static void at_level(unsigned level, Change change) {
    if (level == 0) {
      change(static_cast<Leaf*>(nullptr));
    } else {
      change(static_cast<Inner*>(nullptr));
    }
  }
};

void ScoreOrder::insert(Entry entry, NameOfSlot name_of) {
  const std::string_view name = name_of(entry.slot);
  insert_after(entry, [&](Entry other) {
    if (other.score != entry.score) return other.score < entry.score;
    return name_of(other.slot) < name;
  });
}

// REQUIRES: it comes after all others.
void ScoreOrder::append(Entry entry) {
  insert_after(entry, [](Entry) { return true; });
}

// Inserts an entry after all those for which `is_before` holds.
template <class IsBefore>
void ScoreOrder::insert_after(Entry entry, IsBefore is_before) {
  if (root_ == nullptr) {
    root_ = new Leaf;
    ++leaves_;
  }
  const std::size_t root_count =
      height_ == 0 ? static_cast<Leaf*>(root_)->count : static_cast<Inner*>(root_)->count;
  if (root_count == (height_ == 0 ? kLeafMost : kInnerMost)) add_level();

  void* node = root_;
  bool at_end = true;  // of the whole order, as far as is known
  for (unsigned level = height_; level > 0; --level) {
    Inner& inner = *static_cast<Inner*>(node);
    const auto child_for = [&] { return std::max<std::size_t>(search(inner, is_before), 1) - 1; };
    std::size_t i = child_for();
    Changes::at_level(level - 1, [&]<class Node>(Node*) {
      const Node& child = Changes::child_of<Node>(inner, i);
      if (child.count < Node::kMost) return;
      const bool is_last =
          at_end && i + 1 == inner.count && is_before(child.entry(child.count - 1));
      Changes::make_room<Node>(*this, inner, i, is_last);
      i = child_for();
    });
    at_end = at_end && i + 1 == inner.count;
    ++inner.sizes[i];
    if (i == 0 && !is_before(inner.entry(0))) {
      inner.scores[0] = entry.score;
      inner.slots[0] = entry.slot;
    }
    node = inner.children[i];
  }
  Leaf& leaf = *static_cast<Leaf*>(node);
  const std::size_t at = search(leaf, is_before);
  Changes::open(leaf, at, 1);
  leaf.scores[at] = entry.score;
  leaf.slots[at] = entry.slot;
  ++size_;
}

void ScoreOrder::swap(ScoreOrder& other) {
  std::swap(root_, other.root_);
  std::swap(height_, other.height_);
  std::swap(size_, other.size_);
  std::swap(leaves_, other.leaves_);
  std::swap(inners_, other.inners_);
}

// A new root above a full one; the way down splits that one.
void ScoreOrder::add_level() {
  auto* const root = new Inner;
  ++inners_;
  root->count = 1;
  root->children[0] = root_;
  Changes::at_level(height_, [&]<class Node>(Node*) { Changes::describe<Node>(*root, 0); });
  root_ = root;
  ++height_;
}

void ScoreOrder::erase(Entry entry, NameOfSlot name_of) {
  const std::string_view name = name_of(entry.slot);
  const auto is_not_after = [&](Entry other) {
    if (other.slot == entry.slot) return true;
    if (other.score != entry.score) return other.score < entry.score;
    return name_of(other.slot) < name;
  };
  struct Step {
    Inner* inner;
    std::size_t child;
  };
  std::array<Step, 16> way;  // fewer levels than that hold 2^32 slots
  std::size_t steps = 0;
  void* node = root_;
  for (unsigned level = height_; level > 0; --level) {
    Inner& inner = *static_cast<Inner*>(node);
    const auto child_for = [&] { return search(inner, is_not_after) - 1; };
    std::size_t i = child_for();
    Changes::at_level(level - 1, [&]<class Node>(Node*) {
      const std::size_t count = Changes::child_of<Node>(inner, i).count;
      if (count > Node::kMost * 3 / 8 || inner.count == 1) return;
      Changes::refill<Node>(*this, inner, i);
      i = child_for();
    });
    --inner.sizes[i];
    way[steps++] = {&inner, i};
    node = inner.children[i];
  }
  Leaf& leaf = *static_cast<Leaf*>(node);
  const std::size_t at = search(leaf, is_not_after) - 1;
  assert(leaf.slots[at] == entry.slot);
  Changes::close(leaf, at, 1);
  --size_;

  // The nodes above know the first entry of the leaf.
  for (bool is_first = at == 0; is_first && steps > 0 && leaf.count > 0; --steps) {
    const Step& step = way[steps - 1];
    step.inner->scores[step.child] = leaf.scores[0];
    step.inner->slots[step.child] = leaf.slots[0];
    is_first = step.child == 0;
  }
  drop_empty_levels();
}

void ScoreOrder::drop_empty_levels() {
  while (height_ > 0 && static_cast<Inner*>(root_)->count == 1) {
    auto* const old = static_cast<Inner*>(root_);
    root_ = old->children[0];
    delete old;
    --inners_;
    --height_;
  }
  if (size_ > 0) return;
  assert(height_ == 0);
  delete static_cast<Leaf*>(root_);
  root_ = nullptr;
  --leaves_;
}

ScoreOrder::Place ScoreOrder::place_of(std::size_t rank) const {
  assert(rank < size_);
  const void* node = root_;
  for (unsigned level = height_; level > 0; --level) {
    const Inner& inner = *static_cast<const Inner*>(node);
    std::size_t i = 0;
    for (; rank >= inner.sizes[i]; ++i) rank -= inner.sizes[i];
    node = inner.children[i];
  }
  return {static_cast<const Leaf*>(node), rank};
}

ScoreOrder::Entry ScoreOrder::at(std::size_t rank) const {
  const Place place = place_of(rank);
  return place.leaf->entry(place.index);
}

std::size_t ScoreOrder::free_some(std::size_t limit) {
  while (root_ != nullptr && limit > 0) {
    void* node = root_;
    Inner* parent = nullptr;
    unsigned level = height_;
    for (; level > 0 && static_cast<Inner*>(node)->count > 0; --level) {
      parent = static_cast<Inner*>(node);
      node = parent->children[parent->count - 1];
    }
    if (level == 0) {
      auto* const leaf = static_cast<Leaf*>(node);
      size_ -= leaf->count;
      limit -= std::min<std::size_t>(limit, std::max<std::size_t>(leaf->count, 1));
      delete leaf;
    } else {
      delete static_cast<Inner*>(node);
    }
    if (parent == nullptr) {
      root_ = nullptr;
    } else {
      --parent->count;
    }
  }
  return size_;
}

// A walk over all nodes that collects the entries.
class ScoreOrder::Check {
 public:
  // Returns what is wrong below a node.
  std::string node(const Leaf& leaf, unsigned) {
    if (leaf.count == 0 || leaf.count > kLeafMost) return "a leaf with a wrong count";
    ++leaves;
    for (std::size_t i = 0; i < leaf.count; ++i) entries.push_back(leaf.entry(i));
    return "";
  }
  std::string node(const Inner& inner, unsigned level) {
    if (inner.count == 0 || inner.count > kInnerMost) return "an inner node with a wrong count";
    ++inners;
    std::string wrong;
    for (std::size_t i = 0; i < inner.count && wrong.empty(); ++i) {
      const std::size_t before = entries.size();
      Changes::at_level(level - 1, [&]<class Node>(Node*) {
        wrong = node(Changes::child_of<Node>(inner, i), level - 1);
      });
      if (!wrong.empty()) break;
      if (entries.size() - before != inner.sizes[i]) wrong = "a wrong size of a child";
      if (entries[before].slot != inner.slots[i]) wrong = "a wrong first entry of a child";
      if (entries[before].score != inner.scores[i]) wrong = "a wrong first score of a child";
    }
    return wrong;
  }

  std::vector<Entry> entries;
  std::size_t leaves = 0;
  std::size_t inners = 0;
};

std::string ScoreOrder::check_invariants(NameOfSlot name_of) const {
  if (root_ == nullptr) return size_ == 0 && leaves_ + inners_ == 0 ? "" : "a size without nodes";
  Check check;
  std::string wrong;
  Changes::at_level(height_, [&]<class Node>(Node*) {
    wrong = check.node(*static_cast<const Node*>(root_), height_);
  });
  if (!wrong.empty()) return wrong;
  if (check.entries.size() != size_) return "a wrong size";
  if (check.leaves != leaves_ || check.inners != inners_) return "a wrong number of nodes";
  if (size_ > 1000 && size_ < leaves_ * kLeafMost / 8) return "too sparse";
  for (std::size_t i = 1; i < size_; ++i) {
    const Entry a = check.entries[i - 1];
    const Entry b = check.entries[i];
    const bool is_less = a.score != b.score ? a.score < b.score : name_of(a.slot) < name_of(b.slot);
    if (!is_less) return "entries out of order";
  }
  return "";
}

}  // namespace mayfly
