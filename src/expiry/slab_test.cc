// SPDX-License-Identifier: Apache-2.0
// Slab: values stay where they are, numbers stay dense, and what is erased is destroyed at once.
// Examples, then random operations checked against a plain map.

#include "mayfly/internal/slab.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <stdexcept>
#include <string>

namespace mayfly::internal {
namespace slab_test {

// Counts the instances that are alive, and owns memory, so that a sanitizer sees what is forgotten.
struct Counted {
  explicit Counted(int of)
      : text(std::to_string(of) + " is a number too long to be kept in place") {
    ++alive;
  }
  Counted(const Counted&) = delete;
  ~Counted() { --alive; }

  std::string text;
  static inline int alive = 0;
};

class SlabTest : public testing::Test {
 protected:
  void fill(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) slab_.emplace(static_cast<int>(i));
  }

  std::size_t walk() const {
    std::size_t seen = 0;
    for (Slot slot = slab_.next(0); slot != kNoSlot; slot = slab_.next(slot + 1)) ++seen;
    return seen;
  }

  Slab<Counted> slab_;
};

TEST_F(SlabTest, NumbersValuesDenselyFromZero) {
  for (Slot slot = 0; slot < 1'000; ++slot) EXPECT_EQ(slab_.emplace(1), slot);
  EXPECT_EQ(slab_.size(), 1'000u);
  EXPECT_GE(slab_.extent(), 1'000u);
  EXPECT_LE(slab_.extent(), 1'000u + kChunkSlots);
}

TEST_F(SlabTest, ValuesDoNotMoveWhenOthersComeAndGo) {
  const Slot slot = slab_.emplace(7);
  const Counted* const place = &slab_[slot];
  fill(10'000);
  for (Slot other = 1; other < 10'000; other += 2) slab_.erase(other);

  EXPECT_EQ(&slab_[slot], place);
  EXPECT_EQ(slab_[slot].text.substr(0, 2), "7 ");
}

TEST_F(SlabTest, UsesTheNumbersOfErasedValuesAgain) {
  fill(5'000);
  const std::size_t extent = slab_.extent();
  for (int round = 0; round < 10; ++round) {
    for (Slot slot = 0; slot < 5'000; slot += 3) slab_.erase(slot);
    while (slab_.size() < 5'000) EXPECT_LT(slab_.emplace(round), extent);
  }
  EXPECT_EQ(slab_.extent(), extent);
}

TEST_F(SlabTest, UsesTheNumbersAgainAfterAllAreErased) {
  fill(3'000);
  const std::size_t extent = slab_.extent();
  for (Slot slot = 0; slot < 3'000; ++slot) slab_.erase(slot);
  fill(3'000);
  EXPECT_EQ(slab_.extent(), extent);
}

TEST_F(SlabTest, DestroysAValueWhenItIsErased) {
  const int before = Counted::alive;
  fill(600);
  EXPECT_EQ(Counted::alive, before + 600);
  for (Slot slot = 0; slot < 599; ++slot) slab_.erase(slot);
  EXPECT_EQ(Counted::alive, before + 1);
}

TEST_F(SlabTest, DestroysAllValuesWhenItIsClearedOrGoes) {
  const int before = Counted::alive;
  fill(600);
  slab_.clear();
  EXPECT_EQ(Counted::alive, before);
  {
    Slab<Counted> other;
    for (int i = 0; i < 300; ++i) other.emplace(i);
  }
  EXPECT_EQ(Counted::alive, before);
}

TEST_F(SlabTest, IsLikeNewAfterClear) {
  fill(600);
  slab_.clear();
  EXPECT_EQ(slab_.size(), 0u);
  EXPECT_EQ(slab_.extent(), 0u);
  EXPECT_EQ(slab_.next(0), kNoSlot);
  EXPECT_EQ(slab_.emplace(1), 0u);
}

TEST_F(SlabTest, WalksOverValuesInUseOnly) {
  fill(2'000);
  for (Slot slot = 0; slot < 1'500; ++slot) slab_.erase(slot);
  EXPECT_EQ(slab_.next(0), 1'500u);
  EXPECT_EQ(walk(), 500u);
  EXPECT_EQ(slab_.next(2'000), kNoSlot);
  EXPECT_EQ(slab_.next(kSlotLimit), kNoSlot);
}

TEST_F(SlabTest, KnowsWhichSlotsAreInUse) {
  fill(3);
  slab_.erase(1);
  EXPECT_TRUE(slab_.is_used(0));
  EXPECT_FALSE(slab_.is_used(1));
  EXPECT_FALSE(slab_.is_used(3));
  EXPECT_FALSE(slab_.is_used(1'000'000));
}

// A value that cannot be made must leave no slot behind that is destroyed later.
struct Refusing {
  explicit Refusing(bool refuse) {
    if (refuse) throw std::runtime_error("no");
  }
  std::string owned = "something that the destructor must find whole, if there is one to destroy";
};

TEST(SlabOfThrowing, KeepsNoSlotForAValueThatCouldNotBeMade) {
  Slab<Refusing> slab;
  slab.emplace(false);
  EXPECT_THROW(slab.emplace(true), std::runtime_error);
  EXPECT_EQ(slab.size(), 1u);
  EXPECT_EQ(slab.next(1), kNoSlot);
  EXPECT_EQ(slab.emplace(false), 1u);
}

struct alignas(64) Wide {
  int number;
};

TEST(SlabOfAligned, KeepsTheAlignmentOfItsValues) {
  Slab<Wide> slab;
  for (int i = 0; i < 300; ++i) {
    const Slot slot = slab.emplace(Wide{i});
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(&slab[slot]) % 64, 0u);
  }
}

void check_against(const Slab<int>& slab, const std::map<Slot, int>& model, std::size_t most) {
  RC_ASSERT(slab.size() == model.size());
  auto expected = model.begin();
  for (Slot slot = slab.next(0); slot != kNoSlot; slot = slab.next(slot + 1), ++expected) {
    RC_ASSERT(expected != model.end());
    RC_ASSERT(slot == expected->first);
    RC_ASSERT(slab[slot] == expected->second);
    RC_ASSERT(slab.is_used(slot));
  }
  RC_ASSERT(expected == model.end());
  RC_ASSERT(slab.extent() < most + kChunkSlots);
}

TEST(SlabModel, AgreesWithAPlainMap) {
  EXPECT_TRUE(rc::check([] {
    Slab<int> slab;
    std::map<Slot, int> model;
    std::size_t most = 1;  // values at once: the slab need never be larger
    const int rounds = *rc::gen::inRange(1, 12);
    for (int round = 0; round < rounds; ++round) {
      for (int i = *rc::gen::inRange(0, 900); i > 0; --i) {
        const Slot slot = slab.emplace(i);
        RC_ASSERT(model.emplace(slot, i).second);
      }
      most = std::max(most, model.size());
      const auto stride = *rc::gen::inRange<Slot>(1, 5);
      const auto until = *rc::gen::inRange<Slot>(0, 1'500);
      for (Slot slot = 0; slot < until; slot += stride) {
        if (model.erase(slot) == 1) slab.erase(slot);
      }
      if (*rc::gen::inRange(0, 20) == 0) {
        slab.clear();
        model.clear();
      }
      check_against(slab, model, most);
    }
  }));
}

}  // namespace slab_test
}  // namespace mayfly::internal
