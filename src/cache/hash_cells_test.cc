// SPDX-License-Identifier: Apache-2.0
// HashCells: finds every slot that was inserted and not erased, whatever the hashes are like, and
// gives memory back. Examples, then random operations checked against a plain map.

#include "mayfly/internal/hash_cells.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace mayfly::internal {
namespace hash_cells_test {

constexpr std::size_t kCellBytes = 8;

class HashCellsTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(cells_.is_sound()); }

  Slot find(std::uint32_t hash, Slot slot) const {
    return cells_.find(hash, [&](Slot found) { return found == slot; });
  }

  HashCells cells_;
};

TEST_F(HashCellsTest, FindsNothingWhenItIsEmpty) {
  EXPECT_EQ(cells_.find(0, [](Slot) { return true; }), kNoSlot);
  EXPECT_EQ(cells_.find(~0u, [](Slot) { return true; }), kNoSlot);
  EXPECT_EQ(cells_.size(), 0u);
}

TEST_F(HashCellsTest, FindsWhatWasInsertedUnderItsHashOnly) {
  cells_.insert(5, 1);
  EXPECT_EQ(find(5, 1), 1u);
  EXPECT_EQ(find(6, 1), kNoSlot);
  EXPECT_EQ(find(5 + 16, 1), kNoSlot) << "the same cell, but another hash";
}

TEST_F(HashCellsTest, AsksAboutNoSlotWithAnotherHash) {
  for (Slot slot = 0; slot < 12; ++slot) cells_.insert(slot * 16, slot);  // all in one run
  std::set<Slot> asked;
  cells_.find(3 * 16, [&](Slot slot) { return !asked.insert(slot).second; });
  EXPECT_EQ(asked, std::set<Slot>{3});
}

TEST_F(HashCellsTest, FindsEverySlotWhenAllHashesAreEqual) {
  for (Slot slot = 0; slot < 500; ++slot) cells_.insert(0xFFFFFFFF, slot);
  for (Slot slot = 0; slot < 500; slot += 2) cells_.erase(0xFFFFFFFF, slot);
  for (Slot slot = 0; slot < 500; ++slot) {
    ASSERT_EQ(find(0xFFFFFFFF, slot), slot % 2 == 1 ? slot : kNoSlot);
  }
}

// The last cells run over into the first; what is moved back must not pass its own cell.
TEST_F(HashCellsTest, FindsEverySlotWhenARunGoesRoundTheEnd) {
  for (Slot slot = 0; slot < 5; ++slot) cells_.insert(14, slot);
  cells_.insert(0, 5);
  cells_.insert(1, 6);
  for (const Slot gone : {0u, 3u}) cells_.erase(14, gone);

  for (const Slot slot : {1u, 2u, 4u}) EXPECT_EQ(find(14, slot), slot);
  EXPECT_EQ(find(0, 5), 5u);
  EXPECT_EQ(find(1, 6), 6u);
}

TEST_F(HashCellsTest, GrowsInStepWithItsSize) {
  for (Slot slot = 0; slot < 100'000; ++slot) cells_.insert(HashCells::spread(slot), slot);
  EXPECT_GE(cells_.bytes() * 3 / 4, 100'000 * kCellBytes);
  EXPECT_LE(cells_.bytes(), 100'000 * 22);
}

TEST_F(HashCellsTest, ShrinksWhenSlotsGo) {
  for (Slot slot = 0; slot < 100'000; ++slot) cells_.insert(HashCells::spread(slot), slot);
  for (Slot slot = 100; slot < 100'000; ++slot) cells_.erase(HashCells::spread(slot), slot);

  EXPECT_LE(cells_.bytes(), 100 * 8 * kCellBytes * 2);
  EXPECT_EQ(cells_.size(), 100u);
  for (Slot slot = 0; slot < 100; ++slot) ASSERT_EQ(find(HashCells::spread(slot), slot), slot);
}

// Neither border may be so near the other that one slot, coming and going, rebuilds the table.
TEST_F(HashCellsTest, DoesNotResizeToAndFroForOneSlot) {
  for (Slot slot = 0; slot < 5'000; ++slot) {
    cells_.insert(HashCells::spread(slot), slot);
    const std::size_t bytes = cells_.bytes();
    cells_.erase(HashCells::spread(slot), slot);
    ASSERT_EQ(cells_.bytes(), bytes);
    cells_.insert(HashCells::spread(slot), slot);
  }
}

TEST_F(HashCellsTest, IsLikeNewAfterClear) {
  for (Slot slot = 0; slot < 1'000; ++slot) cells_.insert(slot, slot);
  cells_.clear();
  EXPECT_EQ(cells_.size(), 0u);
  EXPECT_EQ(cells_.bytes(), HashCells().bytes());
  EXPECT_EQ(find(7, 7), kNoSlot);
}

// The longest run of neighbouring cells in a table of 2^16 that 2^15 hashes name: the cost of the
// worst look-up. Chance gives some 50.
std::size_t longest_run(const std::function<std::uint64_t(std::uint64_t)>& key) {
  std::vector<int> load(std::size_t{1} << 16);
  for (std::uint64_t i = 0; i < load.size() / 2; ++i) {
    ++load[HashCells::spread(key(i)) & (load.size() - 1)];
  }
  std::size_t longest = 0;
  std::size_t run = 0;
  int carried = 0;
  for (const int here : load) {
    carried = std::max(0, carried + here - 1);
    run = here > 0 || carried > 0 ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

TEST(HashCellsSpread, KeepsRunsShortForKeysThatDifferInFewBits) {
  for (const int shift : {0, 3, 8, 12, 16, 24, 32, 40, 48}) {
    EXPECT_LT(longest_run([&](std::uint64_t i) { return i << shift; }), 400u) << shift;
  }
}

TEST(HashCellsSpread, KeepsRunsShortForNegativeNumbersAndMultiples) {
  EXPECT_LT(longest_run([](std::uint64_t i) { return ~i; }), 400u);
  EXPECT_LT(longest_run([](std::uint64_t i) { return i * 1'000; }), 400u);
  EXPECT_LT(longest_run([](std::uint64_t i) { return i << 48 | i; }), 400u);
}

// ShardedCache takes the shard from the highest bits and the cell from the lowest.
TEST(HashCellsSpread, FillsTheHighestBitsEvenly) {
  for (const int shift : {0, 12, 32, 48}) {
    std::vector<int> shards(64);
    for (std::uint64_t i = 0; i < 64'000; ++i) ++shards[HashCells::spread(i << shift) >> 26];
    EXPECT_GT(*std::ranges::min_element(shards), 500) << shift;
    EXPECT_LT(*std::ranges::max_element(shards), 2'000) << shift;
  }
}

TEST(HashCellsModel, AgreesWithAPlainMap) {
  EXPECT_TRUE(rc::check([] {
    HashCells cells;
    std::map<Slot, std::uint32_t> model;
    // Few different hashes make long runs; those near the top make them go round the end.
    const auto hashes = *rc::gen::element<std::uint32_t>(1, 3, 20, 1'000);
    const auto base = *rc::gen::element<std::uint32_t>(0, 14, 0xFFFFFFF8, 1u << 31);
    const int steps = *rc::gen::inRange(1, 600);
    for (int step = 0; step < steps; ++step) {
      const auto slot = *rc::gen::inRange<Slot>(0, 150);
      if (const auto there = model.find(slot); there != model.end()) {
        cells.erase(there->second, slot);
        model.erase(there);
      } else {
        const std::uint32_t hash = base + *rc::gen::inRange<std::uint32_t>(0, hashes);
        cells.insert(hash, slot);
        model.emplace(slot, hash);
      }
      RC_ASSERT(cells.is_sound());
    }
    RC_ASSERT(cells.size() == model.size());
    for (const auto& [slot, hash] : model) {
      RC_ASSERT(cells.find(hash, [&, wanted = slot](Slot s) { return s == wanted; }) == slot);
    }
    for (std::uint32_t i = 0; i < hashes; ++i) {
      std::set<Slot> found;
      cells.find(base + i, [&](Slot slot) { return !found.insert(slot).second; });
      for (const Slot slot : found) RC_ASSERT(model.at(slot) == base + i);
    }
  }));
}

// Numbers whose hashes begin with the same 16 bits under one seed are all over the place under
// another, so that who does not know the seed can't choose them.
TEST(HashSeedTest, ChosenKeysFallApartUnderAnotherSeed) {
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t key = 0; chosen.size() < 100; ++key) {
    if (HashCells::spread(key, 1) % 65'536 == 7) chosen.push_back(key);
  }
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t seed = HashCells::random_seed();
    std::set<std::uint32_t> cells;
    for (const std::uint64_t key : chosen) cells.insert(HashCells::spread(key, seed) % 65'536);
    EXPECT_GT(cells.size(), 80u) << seed;
  }
  EXPECT_NE(HashCells::random_seed(), HashCells::random_seed());
}

}  // namespace hash_cells_test
}  // namespace mayfly::internal
