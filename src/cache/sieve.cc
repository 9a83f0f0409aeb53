// SPDX-License-Identifier: Apache-2.0
#include "mayfly/internal/sieve.h"

namespace mayfly::internal {

void Sieve::add(Slot slot) {
  nodes_.claim(slot) = {kNone, newest_};
  if (newest_ != kNone) set_newer(newest_, slot);
  newest_ = slot;
  if (oldest_ == kNone) oldest_ = slot;
  ++size_;
}

void Sieve::remove(Slot slot) {
  const Slot newer_one = newer(slot);
  const Slot older_one = nodes_[slot].older;
  (newer_one != kNone ? nodes_.at(newer_one).older : newest_) = older_one;
  if (older_one != kNone) {
    set_newer(older_one, newer_one);
  } else {
    oldest_ = newer_one;
  }
  if (hand_ == slot) hand_ = newer_one;
  nodes_.drop(slot);
  --size_;
}

Slot Sieve::victim() {
  if (size_ == 0) return kNoSlot;
  if (hand_ == kNone) hand_ = oldest_;
  while ((nodes_[hand_].newer & kMarked) != 0) {
    nodes_.at(hand_).newer &= ~kMarked;
    hand_ = newer(hand_) != kNone ? newer(hand_) : oldest_;
  }
  return hand_;
}

void Sieve::set_newer(Slot slot, Slot newer) {
  Node& node = nodes_.at(slot);
  node.newer = (node.newer & kMarked) | newer;
}

std::string Sieve::check_invariants() const {
  std::size_t count = 0;
  bool met_hand = hand_ == kNone;
  Slot newer_one = kNone;
  for (Slot slot = newest_; slot != kNone; newer_one = slot, slot = nodes_[slot].older) {
    if (newer(slot) != newer_one) return "the order is not linked both ways";
    met_hand = met_hand || slot == hand_;
    if (++count > size_) return "the order has a loop";
  }
  if (newer_one != oldest_) return "the oldest is not at the end";
  if (!met_hand) return "the hand points outside";
  return count == size_ ? "" : "the order does not match the size";
}

}  // namespace mayfly::internal
