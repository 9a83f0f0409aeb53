// SPDX-License-Identifier: Apache-2.0
// SlotLists: many doubly linked lists of slots in one column, with a deadline in each node.
//
//   node of a slot:   | deadline, 8 bytes | next, 4 | before, 4 |          16 bytes
//
// A list is known by a number and by a head that its owner keeps. The first node of a list holds
// the list's number, marked, where others hold the slot before them; so that unlinking needs no
// search.

#pragma once

#include <cstddef>

#include "mayfly/internal/slot_column.h"
#include "mayfly/time.h"

namespace mayfly::internal {

class SlotLists {
 public:
  struct Node {
    Time deadline = kNever;
    Slot next = kNoSlot;
    std::uint32_t before = kNoSlot;
  };
  static_assert(sizeof(Node) == 16);

  void attach(const SlotTable& table) { nodes_.attach(table); }
  void reserve(std::size_t count) { nodes_.reserve(count); }
  std::size_t extent() const { return nodes_.extent(); }

  // Both REQUIRE: slot < extent(). A slot in no list has the deadline kNever.
  Time deadline(Slot slot) const { return nodes_[slot].deadline; }
  Slot next(Slot slot) const { return nodes_[slot].next; }

  // Takes a slot into use; it is in no list yet.
  void add(Slot slot, Time deadline) { nodes_.claim(slot).deadline = deadline; }

  // Puts a slot that is in no list at the front of the one that starts at `head`.
  void link(Slot slot, std::uint32_t list, Slot& head) {
    Node& node = nodes_.at(slot);
    node.next = head;
    node.before = kFirst | list;
    if (head != kNoSlot) nodes_.at(head).before = slot;
    head = slot;
  }

  void set_deadline(Slot slot, Time deadline) { nodes_.at(slot).deadline = deadline; }

  // Takes the slot out of its list. `head_of(list)` gives the head of a list by its number, to be
  // changed; it is asked only if the slot is first. Returns the list's number then, else kNoSlot.
  template <class HeadOf>
  std::uint32_t unlink(Slot slot, HeadOf head_of) {
    const Node node = nodes_[slot];
    if (node.next != kNoSlot) nodes_.at(node.next).before = node.before;
    if ((node.before & kFirst) == 0) {
      nodes_.at(node.before).next = node.next;
      return kNoSlot;
    }
    const std::uint32_t list = node.before & ~kFirst;
    head_of(list) = node.next;
    return list;
  }

  // For taking slots off the front of a list one after the other, following next(): makes `head`
  // the first one in the end.
  void make_first(std::uint32_t list, Slot head) {
    if (head != kNoSlot) nodes_.at(head).before = kFirst | list;
  }

  // Forgets an unlinked slot.
  void drop(Slot slot) { nodes_.drop(slot); }

  // Whether the list numbered `list`, from `head` on, is linked both ways. For tests.
  bool is_sound(std::uint32_t list, Slot head) const {
    std::uint32_t before = kFirst | list;
    for (Slot slot = head; slot != kNoSlot; slot = nodes_[slot].next) {
      if (nodes_[slot].before != before) return false;
      before = slot;
    }
    return true;
  }

  void prefetch(Slot slot) const { nodes_.prefetch(slot); }

 private:
  static constexpr std::uint32_t kFirst = kSlotLimit;  // marks a list's number in `before`

  SlotColumn<Node> nodes_;
};

}  // namespace mayfly::internal
