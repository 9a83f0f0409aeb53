// SPDX-License-Identifier: Apache-2.0
// Table: finds every slot that was inserted and not erased, grows and shrinks by small steps, takes
// about 8 bytes a slot, and misses nothing in a scan. table_model_test.cc has random operations.

#include "keyspace/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mayfly {
namespace table_test {

// The hash of a slot: a good one, by its number.
constexpr auto spread = [](Slot slot) { return Random(slot).next(); };

class TableTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(table_.check_invariants(spread), ""); }

  void insert(Slot from, Slot to) {
    for (Slot slot = from; slot < to; ++slot) table_.insert(spread(slot), slot, spread);
  }

  void erase(Slot from, Slot to) {
    for (Slot slot = from; slot < to; ++slot) table_.erase(spread(slot), slot, spread);
  }

  Slot find(Slot slot) const {
    return table_.find(spread(slot), [&](Slot found) { return found == slot; });
  }

  double bytes_a_slot() const {
    return static_cast<double>(table_.bytes()) / static_cast<double>(table_.size());
  }

  Table table_;
};

TEST_F(TableTest, FindsNothingAndTakesNothingWhenItIsEmpty) {
  EXPECT_EQ(table_.find(0, [](Slot) { return true; }), kNoSlot);
  EXPECT_EQ(table_.find(~0ull, [](Slot) { return true; }), kNoSlot);
  EXPECT_EQ(table_.scan(0, [](Slot) { FAIL(); }), 0u);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.bytes(), 0u);
}

TEST_F(TableTest, FindsWhatWasInsertedAndNothingElse) {
  insert(0, 10'000);
  EXPECT_EQ(table_.size(), 10'000u);
  for (Slot slot = 0; slot < 10'000; ++slot) ASSERT_EQ(find(slot), slot);
  for (Slot slot = 10'000; slot < 20'000; ++slot) ASSERT_EQ(find(slot), kNoSlot);
}

TEST_F(TableTest, AsksAboutFewSlotsThatAreNotTheOneSought) {
  insert(0, 10'000);
  int asked = 0;
  for (Slot slot = 10'000; slot < 20'000; ++slot) {
    table_.find(spread(slot), [&](Slot) { return ++asked < 0; });
  }
  EXPECT_LT(asked, 1'000) << "a bucket of ten and a tag of 8 bits: one in 25";
}

TEST_F(TableTest, DoesNotFindWhatWasErased) {
  insert(0, 1'000);
  erase(0, 500);
  for (Slot slot = 0; slot < 1'000; ++slot) ASSERT_EQ(find(slot), slot < 500 ? kNoSlot : slot);
}

// Nothing can tell them apart, and no split helps.
TEST_F(TableTest, FindsEverySlotWhenAllHashesAreEqual) {
  const auto same = [](Slot) { return std::uint64_t{0xFFFF'FFFF'FFFF'FFFF}; };
  Table table;
  for (Slot slot = 0; slot < 500; ++slot) table.insert(same(slot), slot, same);
  EXPECT_EQ(table.check_invariants(same), "");
  for (Slot slot = 0; slot < 500; slot += 2) table.erase(same(slot), slot, same);
  EXPECT_EQ(table.check_invariants(same), "");
  for (Slot slot = 0; slot < 500; ++slot) {
    const Slot found = table.find(same(slot), [&](Slot s) { return s == slot; });
    ASSERT_EQ(found, slot % 2 == 1 ? slot : kNoSlot);
  }
}

// An owner may have freed what it erases, and may not have stored yet what it inserts.
TEST_F(TableTest, AsksOnlyForHashesOfOtherSlotsThatAreThere) {
  std::set<Slot> present;
  const auto strict = [&](Slot slot) {
    EXPECT_TRUE(present.contains(slot)) << slot;
    return spread(slot);
  };
  for (Slot slot = 0; slot < 2'000; ++slot) {
    table_.insert(spread(slot), slot, strict);
    present.insert(slot);
  }
  for (Slot slot = 0; slot < 2'000; ++slot) {
    present.erase(slot);
    table_.erase(spread(slot), slot, strict);
  }
}

TEST_F(TableTest, TakesAboutEightBytesASlotAtEverySize) {
  insert(0, 1'000);
  for (Slot slot = 1'000; slot < 300'000; ++slot) {
    insert(slot, slot + 1);
    ASSERT_LE(bytes_a_slot(), slot < 10'000 ? 9.6 : 8.2) << slot;
  }
}

TEST_F(TableTest, GivesMemoryBackWhenSlotsGo) {
  insert(0, 300'000);
  erase(2'000, 300'000);
  EXPECT_LE(bytes_a_slot(), 10.5);
  EXPECT_EQ(table_.size(), 2'000u);
  for (Slot slot = 0; slot < 2'000; ++slot) ASSERT_EQ(find(slot), slot);
  erase(0, 2'000);
  EXPECT_LE(table_.bytes(), 200u);
}

// A step moves two buckets at the most, however large the table is: so hardly any hashes are asked
// for, and nothing is allocated but a part of a chunk.
TEST_F(TableTest, GrowsAndShrinksByStepsThatDoNotDependOnItsSize) {
  int asked = 0;
  const auto counted = [&](Slot slot) { return ++asked, spread(slot); };
  int most = 0;
  std::size_t bytes = 0;
  for (Slot slot = 0; slot < 200'000; ++slot) {
    asked = 0;
    table_.insert(spread(slot), slot, counted);
    most = std::max(most, asked);
    ASSERT_LE(table_.bytes(), bytes + 24'000) << "the list of chunks is 8 bytes for each 8 KiB";
    bytes = table_.bytes();
  }
  EXPECT_LT(most, 100);
  for (Slot slot = 0; slot < 200'000; ++slot) {
    asked = 0;
    table_.erase(spread(slot), slot, counted);
    most = std::max(most, asked);
  }
  EXPECT_LT(most, 150);
}

TEST_F(TableTest, DoesNotResizeToAndFroForOneSlot) {
  int asked = 0;
  const auto counted = [&](Slot slot) { return ++asked, spread(slot); };
  for (Slot slot = 0; slot < 3'000; ++slot) {
    table_.insert(spread(slot), slot, spread);
    for (int i = 0; i < 12; ++i) {
      table_.erase(spread(slot), slot, counted);
      table_.insert(spread(slot), slot, counted);
    }
  }
  EXPECT_LT(asked, 3'000 * 12 / 2);
}

TEST_F(TableTest, IsLikeNewAfterClearAndAfterItWasMovedFrom) {
  insert(0, 1'000);
  Table other = std::move(table_);
  EXPECT_EQ(other.check_invariants(spread), "");
  EXPECT_EQ(other.size(), 1'000u);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(find(7), kNoSlot);
  insert(0, 100);
  table_.clear();
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.bytes(), 0u);
  insert(0, 100);
  EXPECT_EQ(find(7), 7u);
}

TEST_F(TableTest, ScansEachSlotOnceWhenNothingChanges) {
  for (const Slot size : {1u, 8u, 9u, 100u, 1'000u, 10'007u}) {
    insert(static_cast<Slot>(table_.size()), size);
    std::map<Slot, int> seen;
    std::uint64_t cursor = 0;
    Slot steps = 0;
    do {
      cursor = table_.scan(cursor, [&](Slot slot) { ++seen[slot]; });
      ASSERT_LT(cursor, size) << "cursors are small numbers";
      ASSERT_LE(++steps, size);
    } while (cursor != 0);
    ASSERT_EQ(seen.size(), size);
    for (const auto& [slot, times] : seen) ASSERT_EQ(times, 1);
  }
}

TEST_F(TableTest, MovesFewSlotsIfRoomWasReserved) {
  int moved = 0;
  const auto count_moved = [&](Slot slot) {
    ++moved;
    return spread(slot);
  };
  table_.reserve(20'000);
  for (Slot slot = 0; slot < 20'000; ++slot) table_.insert(spread(slot), slot, count_moved);
  EXPECT_LT(moved, 5'000);
  EXPECT_LT(bytes_a_slot(), 8.1);
  for (Slot slot = 0; slot < 20'000; ++slot) ASSERT_EQ(find(slot), slot);
  table_.fit(spread);
  EXPECT_EQ(table_.size(), 20'000u);
}

TEST_F(TableTest, GivesBackReservedRoomThatWasNotNeeded) {
  table_.reserve(1'000'000);
  insert(0, 1'000);
  EXPECT_EQ(table_.check_invariants(spread), "");
  table_.fit(spread);
  EXPECT_LT(bytes_a_slot(), 12);
  for (Slot slot = 0; slot < 1'000; ++slot) ASSERT_EQ(find(slot), slot);

  Table empty;
  empty.reserve(1'000'000);
  empty.fit(spread);
  EXPECT_EQ(empty.bytes(), 0u);
}

TEST_F(TableTest, EndsAScanFromAnyCursor) {
  insert(0, 1'000);
  Random random(3);
  for (int i = 0; i < 1'000; ++i) {
    std::uint64_t cursor = random.next();
    int steps = 0;
    do cursor = table_.scan(cursor, [](Slot) {});
    while (cursor != 0 && ++steps < 1'000);
    ASSERT_EQ(cursor, 0u);
  }
}

// 100,000 draws of 500 slots: 200 each, with a standard deviation of 14.
TEST_F(TableTest, PicksEachSlotAsOftenAsAnyOther) {
  insert(0, 5'000);
  erase(500, 5'000);
  Random random(11);
  std::vector<int> picked(500);
  for (int i = 0; i < 100'000; ++i) ++picked.at(table_.pick(random));
  EXPECT_GT(*std::ranges::min_element(picked), 130);
  EXPECT_LT(*std::ranges::max_element(picked), 270);
}

}  // namespace table_test
}  // namespace mayfly
