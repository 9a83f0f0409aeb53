// SPDX-License-Identifier: Apache-2.0
// Rebalancing: examples, then random shards, of which the result must be balanced, complete and
// reached with the fewest slots.

#include "cluster/plan/rebalance.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "cluster/plan/placement.h"
#include "mayfly/random.h"

namespace mayfly {
namespace {

using Shards = std::vector<RebalanceShard>;

std::size_t slots_moved(const MovePlan& plan) {
  std::size_t moved = 0;
  for (const PlannedMove& move : plan) moved += move.slots.count();
  return moved;
}

// The shards after the plan. Each move must have all of its slots.
Shards after(Shards shards, const MovePlan& plan) {
  const auto find = [&](const std::string& id) -> RebalanceShard& {
    return *std::ranges::find(shards, id, &RebalanceShard::id);
  };
  for (const PlannedMove& move : plan) {
    RC_ASSERT(!move.slots.empty());
    RC_ASSERT(move.source != move.target);
    RC_ASSERT(find(move.source).slots.contains(move.slots));
    find(move.source).slots -= move.slots;
    find(move.target).slots |= move.slots;
  }
  return shards;
}

bool are_complete(const Shards& shards) {
  SlotSet all;
  std::size_t count = 0;
  for (const RebalanceShard& shard : shards) {
    all |= shard.slots;
    count += shard.slots.count();
  }
  return all == SlotSet::all() && count == kHashSlots;
}

// Shards with slots in ranges of random lengths, and whole weights, of which some are zero.
Shards random_shards() {
  const auto count = *rc::gen::inRange<std::size_t>(1, 9);
  Shards shards;
  for (std::size_t i = 0; i < count; ++i) {
    shards.push_back({shard_name(i), {}, static_cast<double>(*rc::gen::inRange(0, 4))});
  }
  shards[0].weight += 1;
  int slot = 0;
  while (slot < kHashSlots) {
    const int end = std::min(kHashSlots, slot + *rc::gen::inRange(1, 4000));
    const auto owner = *rc::gen::inRange<std::size_t>(0, count);
    for (; slot < end; ++slot) shards[owner].slots.add(static_cast<HashSlot>(slot));
  }
  return shards;
}

double weight_of(const Shards& shards) {
  double sum = 0;
  for (const RebalanceShard& shard : shards) sum += shard.weight;
  return sum;
}

// The least number that any balanced result needs: each shard has its share rounded down or up, and
// a choice which of them are rounded up saves at most one slot for each that has more.
std::size_t least_moves(const Shards& shards) {
  std::size_t floors = 0;
  std::size_t beyond = 0;
  std::size_t saving = 0;
  for (const RebalanceShard& shard : shards) {
    const double share = kHashSlots * shard.weight / weight_of(shards);
    const auto whole = static_cast<std::size_t>(std::floor(share + 1e-9));
    floors += whole;
    if (shard.slots.count() <= whole) continue;
    beyond += shard.slots.count() - whole;
    if (share - std::floor(share + 1e-9) > 1e-9) ++saving;
  }
  return beyond - std::min(saving, kHashSlots - floors);
}

TEST(RebalanceTest, MovesNothingThatIsBalanced) {
  Shards shards;
  for (std::size_t i = 0; i < 3; ++i) shards.push_back({shard_name(i), even_slots(i, 3), 1});
  EXPECT_TRUE(rebalance_by_slots(shards)->empty());
}

TEST(RebalanceTest, ANewShardGetsItsShareFromAll) {
  const Shards shards = {{"a", even_slots(0, 2), 1}, {"b", even_slots(1, 2), 1}, {"c", {}, 2}};
  const MovePlan plan = *rebalance_by_slots(shards);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(slots_moved(plan), 8192u);
  EXPECT_EQ(plan[0].target, "c");
  EXPECT_EQ(plan[0].slots.ranges().size(), 1u);
}

TEST(RebalanceTest, RefusesWeightsThatMakeNoSense) {
  EXPECT_FALSE(rebalance_by_slots({{"a", SlotSet::all(), 0}}).ok());
  EXPECT_FALSE(rebalance_by_slots({{"a", SlotSet::all(), -1}}).ok());
  EXPECT_FALSE(rebalance_by_slots({{"a", SlotSet::all(), NAN}}).ok());
}

TEST(RebalanceTest, IsBalancedWithTheFewestSlots) {
  EXPECT_TRUE(rc::check([] {
    const Shards shards = random_shards();
    const MovePlan plan = *rebalance_by_slots(shards);
    const Shards result = after(shards, plan);
    RC_ASSERT(are_complete(result));
    for (const RebalanceShard& shard : result) {
      const double share = kHashSlots * shard.weight / weight_of(shards);
      RC_ASSERT(std::abs(static_cast<double>(shard.slots.count()) - share) < 1);
    }
    RC_ASSERT(slots_moved(plan) == least_moves(shards));
    RC_ASSERT(plan.size() < shards.size());
    RC_ASSERT(rebalance_by_slots(result)->empty());
  }));
}

// Each shard ends within its share and what the smallest slot that it could give or get has.
TEST(RebalanceTest, BalancesKeys) {
  EXPECT_TRUE(rc::check([] {
    const Shards shards = random_shards();
    const auto most = *rc::gen::element<std::uint64_t>(1, 10, 1000);
    SlotKeys keys;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (std::uint64_t& count : keys) count = random.below(most + 1);
    const MovePlan plan = *rebalance_by_keys(shards, keys);
    const Shards result = after(shards, plan);
    RC_ASSERT(are_complete(result));

    const auto total = static_cast<double>(std::accumulate(keys.begin(), keys.end(), 0ULL));
    const auto surplus = [&](const RebalanceShard& shard) {
      double has = 0;
      shard.slots.each([&](HashSlot slot) { has += static_cast<double>(keys[slot]); });
      return has - total * shard.weight / weight_of(shards);
    };
    // More than its share by 2 % and the fullest slot: only if nobody can take a slot.
    const double slack = 0.02 * total + static_cast<double>(most);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const double before = std::abs(surplus(shards[i]));
      RC_ASSERT(std::abs(surplus(result[i])) <= std::max(before, 1.0));
      RC_ASSERT(std::abs(surplus(result[i])) <= slack * static_cast<double>(shards.size()));
    }
  }));
}

TEST(RebalanceTest, MovesTheFullestSlotsByKeys) {
  SlotKeys keys{};
  keys[0] = 100;
  keys[1] = 60;
  for (std::size_t slot = 2; slot < 42; ++slot) keys[slot] = 1;
  const Shards shards = {{"a", SlotSet({{0, 8191}}), 1}, {"b", SlotSet({{8192, 16383}}), 1}};
  const MovePlan plan = *rebalance_by_keys(shards, keys);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].slots.text(), "0");
}

TEST(RebalanceTest, DoesNotGiveMoreKeysThanThereAreTooMany) {
  SlotKeys keys{};
  keys[0] = 110;
  keys[1] = 90;
  const Shards shards = {{"a", SlotSet({{0, 8191}}), 1}, {"b", SlotSet({{8192, 16383}}), 1}};
  const MovePlan plan = *rebalance_by_keys(shards, keys);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].slots.text(), "1");
}

TEST(RebalanceTest, DrainsAShardWithoutMovingOthers) {
  EXPECT_TRUE(rc::check([] {
    Shards shards = random_shards();
    RC_PRE(shards.size() > 1);
    for (RebalanceShard& shard : shards) shard.weight = 1;
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, shards.size());
    const MovePlan plan = *drain_shard(shards, shards[at].id);
    for (const PlannedMove& move : plan) RC_ASSERT(move.source == shards[at].id);
    const Shards result = after(shards, plan);
    RC_ASSERT(are_complete(result));
    RC_ASSERT(result[at].slots.empty());
  }));
}

TEST(RebalanceTest, DrainsNothingWithoutAnotherShard) {
  EXPECT_FALSE(drain_shard({{"a", SlotSet::all(), 1}}, "a").ok());
}

TEST(RebalanceTest, ChoosesSmallRangesFirstAndThenNeighbours) {
  const SlotSet source({{10, 12}, {100, 199}});
  EXPECT_EQ(choose_slots(source, {}, 4).text(), "10-12 199");
  EXPECT_EQ(choose_slots(source, SlotSet({{50, 99}}), 5).text(), "10-12 100-101");
  EXPECT_EQ(choose_slots(source, SlotSet({{200, 300}}), 5).text(), "10-12 198-199");
  EXPECT_EQ(choose_slots(source, {}, 1000), source);
}

}  // namespace
}  // namespace mayfly
