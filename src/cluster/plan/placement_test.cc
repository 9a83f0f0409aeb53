// SPDX-License-Identifier: Apache-2.0
// Placement spreads nodes over zones: examples, then any nodes.

#include "cluster/plan/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

namespace mayfly {
namespace {

std::vector<PlacementNode> in_zones(const std::vector<std::string>& zones) {
  std::vector<PlacementNode> nodes;
  for (const std::string& zone : zones) {
    const std::string number = std::to_string(nodes.size());
    nodes.push_back({"id" + number, "10.0.0." + number, zone});
  }
  return nodes;
}

std::vector<std::size_t> nodes_of(const PlacedShard& shard) {
  std::vector<std::size_t> all = shard.replicas;
  all.push_back(shard.primary);
  return all;
}

TEST(PlacementTest, DealsOutSlotsAsRedisCliDoes) {
  EXPECT_EQ(even_slots(0, 3).text(), "0-5460");
  EXPECT_EQ(even_slots(1, 3).text(), "5461-10922");
  EXPECT_EQ(even_slots(2, 3).text(), "10923-16383");
  EXPECT_EQ(even_slots(0, 1), SlotSet::all());
}

TEST(PlacementTest, NamesShardsByLetters) {
  EXPECT_EQ(shard_name(0), "a");
  EXPECT_EQ(shard_name(25), "z");
  EXPECT_EQ(shard_name(26), "aa");
  EXPECT_EQ(shard_name(26 * 27), "aaa");
}

TEST(PlacementTest, RefusesTooFewNodes) {
  EXPECT_FALSE(place_shards(in_zones({"x"}), 1).ok());
  EXPECT_FALSE(place_shards({}, 0).ok());
  EXPECT_TRUE(place_shards(in_zones({"x"}), 0).ok());
}

TEST(PlacementTest, APrimaryAndItsReplicaAreInDifferentZones) {
  const auto nodes = in_zones({"x", "x", "y", "y", "z", "z"});
  const auto shards = *place_shards(nodes, 1);
  ASSERT_EQ(shards.size(), 3u);
  std::set<std::string> zones;
  for (const PlacedShard& shard : shards) {
    ASSERT_EQ(shard.replicas.size(), 1u);
    EXPECT_NE(nodes[shard.primary].zone, nodes[shard.replicas[0]].zone);
    zones.insert(nodes[shard.primary].zone);
  }
  EXPECT_EQ(zones.size(), 3u) << "a primary in each zone";
}

TEST(PlacementTest, WithoutZonesAHostIsOne) {
  std::vector<PlacementNode> nodes;
  for (const char* host : {"one", "one", "two", "two"}) {
    nodes.push_back({"id" + std::to_string(nodes.size()), host, ""});
  }
  for (const PlacedShard& shard : *place_shards(nodes, 1)) {
    EXPECT_NE(nodes[shard.primary].host, nodes[shard.replicas[0]].host);
  }
}

TEST(PlacementTest, NodesThatAreLeftOverBecomeReplicas) {
  const auto shards = *place_shards(in_zones({"x", "y", "z", "x", "y"}), 1);
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[0].replicas.size() + shards[1].replicas.size(), 3u);
}

// Every node has one place, every slot one owner, and a zone comes to a shard no more often than
// its size makes it.
TEST(PlacementTest, SpreadsAnyNodes) {
  EXPECT_TRUE(rc::check([] {
    const int replicas = *rc::gen::inRange(0, 4);
    const int count = *rc::gen::inRange(replicas + 1, 40);
    const auto zones = *rc::gen::container<std::vector<std::string>>(
        static_cast<std::size_t>(count), rc::gen::element<std::string>("p", "q", "r", "s"));
    const auto nodes = in_zones(zones);
    const auto shards = *place_shards(nodes, replicas);
    RC_ASSERT(shards.size() == nodes.size() / static_cast<std::size_t>(replicas + 1));

    std::map<std::string, std::size_t> sizes;
    for (const std::string& zone : zones) ++sizes[zone];
    std::set<std::size_t> placed;
    std::map<std::string, int> primaries;
    SlotSet slots;
    for (const PlacedShard& shard : shards) {
      RC_ASSERT(shard.replicas.size() >= static_cast<std::size_t>(replicas));
      RC_ASSERT(!slots.overlaps(shard.slots));
      slots |= shard.slots;
      std::map<std::string, std::size_t> here;
      for (const std::size_t node : nodes_of(shard)) {
        RC_ASSERT(placed.insert(node).second);
        ++here[nodes[node].zone];
      }
      for (const auto& [zone, times] : here) {
        RC_ASSERT(times <= (sizes[zone] + shards.size() - 1) / shards.size());
      }
      ++primaries[nodes[shard.primary].zone];
    }
    RC_ASSERT(slots == SlotSet::all());
    RC_ASSERT(placed.size() == nodes.size());
  }));
}

}  // namespace
}  // namespace mayfly
