// SPDX-License-Identifier: Apache-2.0
// Sieve: evicts what was not read since the hand last passed. Examples from the paper's rules, then
// random operations checked against a list with flags, which follows the paper word by word.

#include "mayfly/internal/sieve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace mayfly::internal {
namespace sieve_test {

class SieveTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(sieve_.check_invariants(), ""); }

  Slot evict() {
    const Slot victim = sieve_.victim();
    if (victim != kNoSlot) sieve_.remove(victim);
    return victim;
  }

  void add(Slot first, Slot last) {
    for (Slot slot = first; slot <= last; ++slot) sieve_.add(slot);
  }

  Sieve sieve_;
};

TEST_F(SieveTest, HasNoVictimWhenItIsEmpty) {
  EXPECT_EQ(sieve_.victim(), kNoSlot);
  sieve_.add(0);
  sieve_.remove(0);
  EXPECT_EQ(sieve_.victim(), kNoSlot);
}

TEST_F(SieveTest, EvictsInOrderOfArrivalWhenNothingIsRead) {
  add(1, 4);
  for (Slot slot = 1; slot <= 4; ++slot) EXPECT_EQ(evict(), slot);
  EXPECT_EQ(evict(), kNoSlot);
}

TEST_F(SieveTest, PassesOverWhatWasRead) {
  add(1, 3);
  sieve_.touch(1);
  EXPECT_EQ(evict(), 2u);
  EXPECT_EQ(evict(), 3u);
  EXPECT_EQ(evict(), 1u) << "its mark was removed when the hand passed";
}

TEST_F(SieveTest, EvictsTheOldestWhenAllWereRead) {
  add(1, 3);
  for (Slot slot = 1; slot <= 3; ++slot) sieve_.touch(slot);
  EXPECT_EQ(evict(), 1u);
}

// What sets SIEVE apart from CLOCK: new ones come at the head, not where the hand is.
TEST_F(SieveTest, GoesOnFromTheHandAndLeavesNewOnesForLater) {
  add(1, 5);
  sieve_.touch(1);
  EXPECT_EQ(evict(), 2u);
  sieve_.add(6);
  EXPECT_EQ(evict(), 3u);
  EXPECT_EQ(evict(), 4u);
  EXPECT_EQ(evict(), 5u);
  EXPECT_EQ(evict(), 6u);
  EXPECT_EQ(evict(), 1u);
}

TEST_F(SieveTest, NamesTheSameVictimUntilItIsRemoved) {
  add(1, 3);
  sieve_.touch(1);
  EXPECT_EQ(sieve_.victim(), 2u);
  EXPECT_EQ(sieve_.victim(), 2u);
}

TEST_F(SieveTest, GoesOnWhereItStoodWhenTheOneUnderTheHandIsRemoved) {
  add(1, 5);
  sieve_.touch(1);
  EXPECT_EQ(evict(), 2u);  // the hand is at 3 now
  sieve_.remove(3);
  EXPECT_EQ(evict(), 4u);
}

TEST_F(SieveTest, ForgetsTheMarkOfASlotThatIsUsedAgain) {
  add(1, 2);
  sieve_.touch(1);
  sieve_.remove(1);
  sieve_.add(1);
  EXPECT_EQ(evict(), 2u);
  sieve_.add(3);
  EXPECT_EQ(evict(), 1u);
}

TEST_F(SieveTest, TouchesAlikeForManyReadersAndForOne) {
  add(1, 3);
  sieve_.touch_shared(1);
  sieve_.touch_shared(1);
  EXPECT_EQ(evict(), 2u);
}

TEST_F(SieveTest, IsEmptyAfterClear) {
  add(1, 100);
  sieve_.clear();
  EXPECT_EQ(sieve_.victim(), kNoSlot);
  add(5, 6);
  EXPECT_EQ(evict(), 5u);
}

// The algorithm of the paper on an array, oldest first.
class PlainSieve {
 public:
  struct Item {
    Slot slot;
    bool visited;
  };

  std::size_t place(Slot slot) const {
    std::size_t i = 0;
    while (i < items_.size() && items_[i].slot != slot) ++i;
    return i;
  }
  bool has(Slot slot) const { return place(slot) < items_.size(); }

  void add(Slot slot) {
    // The hand that has passed the newest is to start at the oldest: where it stands is no item.
    if (hand_ == items_.size()) hand_ = 0;
    items_.push_back({slot, false});
  }
  void touch(Slot slot) { items_[place(slot)].visited = true; }
  void remove(Slot slot) {
    const std::size_t at = place(slot);
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
    if (at < hand_) --hand_;
    if (hand_ == items_.size()) hand_ = 0;
  }
  Slot victim() {
    if (items_.empty()) return kNoSlot;
    if (hand_ >= items_.size()) hand_ = 0;
    while (items_[hand_].visited) {
      items_[hand_].visited = false;
      hand_ = (hand_ + 1) % items_.size();
    }
    return items_[hand_].slot;
  }

 private:
  std::vector<Item> items_;
  std::size_t hand_ = 0;
};

TEST(SieveModel, AgreesWithThePaperOnAnArray) {
  enum class Op { add_or_remove, touch, victim, evict };
  EXPECT_TRUE(rc::check([] {
    Sieve sieve;
    PlainSieve model;
    const auto slots = *rc::gen::element<Slot>(3, 10, 60);
    const int steps = *rc::gen::inRange(1, 500);
    for (int step = 0; step < steps; ++step) {
      const auto slot = *rc::gen::inRange<Slot>(0, slots);
      const auto op = *rc::gen::weightedElement<Op>(
          {{4, Op::add_or_remove}, {4, Op::touch}, {1, Op::victim}, {2, Op::evict}});
      if (op == Op::add_or_remove) {
        model.has(slot) ? sieve.remove(slot) : sieve.add(slot);
        model.has(slot) ? model.remove(slot) : model.add(slot);
      } else if (op == Op::touch) {
        if (!model.has(slot)) continue;
        sieve.touch(slot);
        model.touch(slot);
      } else {
        const Slot victim = model.victim();
        RC_ASSERT(sieve.victim() == victim);
        if (op == Op::evict && victim != kNoSlot) {
          sieve.remove(victim);
          model.remove(victim);
        }
      }
      RC_ASSERT(sieve.check_invariants() == "");
    }
  }));
}

}  // namespace sieve_test
}  // namespace mayfly::internal
