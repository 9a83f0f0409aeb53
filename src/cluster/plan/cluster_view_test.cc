// SPDX-License-Identifier: Apache-2.0
// The view goes forward only, and knows the owner of every slot.

#include "cluster/plan/cluster_view.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

const std::string kNodeOne(40, '1');
const std::string kNodeTwo(40, '2');
const std::string kOld(16, 'a');
const std::string kNew(16, 'b');

ShardRecord led_by(const std::string& node, std::vector<SlotRange> ranges) {
  ShardRecord record;
  record.epoch = 1;
  record.primary = {node, kOld};
  record.slots = SlotSet(ranges);
  return record;
}

NodeRecord in_shard(const std::string& shard) {
  NodeRecord record;
  record.host = "10.0.0.1";
  record.port = 6379;
  record.shard = shard;
  record.state = NodeState::in;
  return record;
}

RegisterEntry entry(std::string key, std::string text, std::uint64_t version) {
  return {std::move(key), std::move(text), version};
}

RegisterEntry deletion(std::string key, std::uint64_t version) {
  return {std::move(key), std::nullopt, version};
}

// Two shards of a half each.
RegisterSnapshot two_shards() {
  RegisterSnapshot snapshot;
  snapshot.version = 10;
  snapshot.entries = {
      entry("config", to_text(ClusterRecord{.id = kNodeOne}), 10),
      entry("nodes/" + kNodeOne, to_text(in_shard("a")), 3),
      entry("nodes/" + kNodeTwo, to_text(in_shard("b")), 4),
      entry("shards/a", to_text(led_by(kNodeOne, {{0, 8191}})), 5),
      entry("shards/b", to_text(led_by(kNodeTwo, {{8192, 16383}})), 6),
  };
  return snapshot;
}

ClusterView view_of_two() { return *ClusterView::parse(two_shards()); }

std::string owner_of(const ClusterView& view, HashSlot slot) {
  const ClusterShard* const shard = view.owner(slot);
  return shard == nullptr ? "" : shard->id;
}

TEST(ClusterViewTest, KnowsTheOwnerOfEverySlot) {
  const ClusterView view = view_of_two();
  EXPECT_TRUE(view.config().has_value());
  EXPECT_EQ(owner_of(view, 0), "a");
  EXPECT_EQ(owner_of(view, 8191), "a");
  EXPECT_EQ(owner_of(view, 8192), "b");
  EXPECT_EQ(owner_of(view, 16383), "b");
  EXPECT_TRUE(view.uncovered().empty());
  EXPECT_TRUE(view.owned_twice().empty());
  EXPECT_EQ(view.version_of("shards/b"), 6u);
  EXPECT_EQ(view.version_of("shards/c"), 0u);
  EXPECT_EQ(view.version_of("config"), 10u);
}

// Whatever order answers come in: a state of the register has all changes up to its version.
TEST(ClusterViewTest, NoticesARegisterThatHasLostChanges) {
  ClusterView view = view_of_two();
  EXPECT_EQ(view.contradiction(two_shards()), "");
  ASSERT_TRUE(*view.apply(entry("shards/b", to_text(led_by(kNodeTwo, {{8192, 16000}})), 14)));
  RegisterSnapshot snapshot = two_shards();
  snapshot.version = 13;
  EXPECT_EQ(view.contradiction(snapshot), "") << "an answer that was overtaken";
  snapshot.version = 14;
  EXPECT_EQ(view.contradiction(snapshot), "shards/b");
  snapshot.entries[4].version = 15;
  snapshot.version = 15;
  EXPECT_EQ(view.contradiction(snapshot), "");
  snapshot.entries.pop_back();
  EXPECT_EQ(view.contradiction(snapshot), "") << "it may have been deleted";
}

TEST(ClusterViewTest, KnowsAShardThatHasAllSlots) {
  ClusterView view = view_of_two();
  EXPECT_EQ(view.only_owner(), ClusterView::kNobody);
  ASSERT_TRUE(*view.apply(entry("shards/b", to_text(led_by(kNodeTwo, {{0, 16383}})), 11)));
  EXPECT_EQ(view.only_owner(), 1) << "the newer record owns what two have";
  ASSERT_TRUE(*view.apply(entry("shards/b", to_text(led_by(kNodeTwo, {{0, 16382}})), 12)));
  ASSERT_TRUE(*view.apply(entry("shards/a", to_text(led_by(kNodeOne, {})), 12)));
  EXPECT_EQ(view.only_owner(), ClusterView::kNobody) << "nobody has the last one";
  EXPECT_EQ(ClusterView().only_owner(), ClusterView::kNobody);
}

TEST(ClusterViewTest, IgnoresWhatIsOlderThanKnown) {
  ClusterView view = view_of_two();
  EXPECT_FALSE(*view.apply(entry("shards/a", to_text(led_by(kNodeTwo, {})), 5)));
  EXPECT_FALSE(*view.apply(deletion("shards/a", 4)));
  EXPECT_EQ(owner_of(view, 0), "a");
  EXPECT_TRUE(*view.apply(entry("shards/a", to_text(led_by(kNodeOne, {{0, 8000}})), 11)));
  EXPECT_EQ(owner_of(view, 8191), "");
  EXPECT_EQ(view.uncovered().text(), "8001-8191");
}

TEST(ClusterViewTest, TakesBothHalvesOfAMoveInAnyOrder) {
  const auto smaller = entry("shards/a", to_text(led_by(kNodeOne, {{0, 99}})), 12);
  const auto larger = entry("shards/b", to_text(led_by(kNodeTwo, {{100, 16383}})), 12);
  for (const bool is_larger_first : {false, true}) {
    ClusterView view = view_of_two();
    ASSERT_TRUE(*view.apply(is_larger_first ? larger : smaller));
    if (is_larger_first) {
      EXPECT_EQ(owner_of(view, 100), "b") << "the newer record owns what two have";
      EXPECT_EQ(view.owned_twice().text(), "100-8191");
    }
    ASSERT_TRUE(*view.apply(is_larger_first ? smaller : larger));
    EXPECT_EQ(owner_of(view, 100), "b");
    EXPECT_EQ(owner_of(view, 99), "a");
    EXPECT_TRUE(view.owned_twice().empty());
  }
}

TEST(ClusterViewTest, DropsWhatASnapshotDoesNotHave) {
  ClusterView view = view_of_two();
  RegisterSnapshot later = two_shards();
  later.version = 20;
  later.entries.pop_back();
  EXPECT_TRUE(*view.replace(later));
  EXPECT_EQ(view.shard("b"), nullptr);
  EXPECT_EQ(owner_of(view, 8192), "");
  EXPECT_FALSE(*view.replace(later));
}

TEST(ClusterViewTest, AnOldSnapshotTakesNothingBack) {
  ClusterView view = view_of_two();
  ASSERT_TRUE(*view.apply(entry("shards/c", to_text(led_by(kNodeTwo, {})), 15)));
  ASSERT_TRUE(*view.apply(deletion("nodes/" + kNodeTwo, 16)));
  EXPECT_FALSE(*view.replace(two_shards()));  // of version 10
  EXPECT_NE(view.shard("c"), nullptr);
  EXPECT_EQ(view.node(kNodeTwo), nullptr);
  EXPECT_EQ(view.version(), 16u);
}

TEST(ClusterViewTest, KeepsTheOthersIfARecordDoesNotParse) {
  RegisterSnapshot snapshot = two_shards();
  snapshot.entries.push_back(entry("shards/c", "format 1\nepoch minus\n", 9));
  auto view = ClusterView::parse(snapshot);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->shards().size(), 2u);
  ASSERT_EQ(view->broken().size(), 1u);
  EXPECT_EQ(view->broken().begin()->first, "shards/c");

  // A record that breaks later: what was known stays.
  ASSERT_TRUE(*view->apply(entry("shards/a", "nonsense", 12)));
  EXPECT_EQ(owner_of(*view, 0), "a");
  EXPECT_TRUE(view->broken().contains("shards/a"));
  EXPECT_FALSE(*view->apply(entry("shards/a", to_text(led_by(kNodeOne, {})), 11))) << "older";
  ASSERT_TRUE(*view->apply(entry("shards/a", to_text(led_by(kNodeOne, {{0, 8191}})), 13)));
  EXPECT_FALSE(view->broken().contains("shards/a"));
}

TEST(ClusterViewTest, RefusesAHigherFormat) {
  RegisterSnapshot snapshot = two_shards();
  snapshot.entries.push_back(entry("shards/c", "format 2\nepoch 1\n", 9));
  const auto view = ClusterView::parse(snapshot);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::unsupported);
  EXPECT_NE(view.error().message.find("shards/c"), std::string::npos);

  ClusterView known = view_of_two();
  EXPECT_FALSE(known.apply(snapshot.entries.back()).ok());
  EXPECT_EQ(owner_of(known, 0), "a") << "still usable";
}

TEST(ClusterViewTest, IgnoresKindsThatItDoesNotKnow) {
  ClusterView view = view_of_two();
  EXPECT_TRUE(view.apply(entry("plans/x", "format 9\n", 30)).ok());
  EXPECT_TRUE(view.broken().empty());
}

TEST(ClusterViewTest, KnowsTheNodesOfAShard) {
  ClusterView view = view_of_two();
  ASSERT_TRUE(*view.apply(entry("nodes/" + kNodeTwo, to_text(in_shard("a")), 11)));
  EXPECT_EQ(view.members(*view.shard("a")), (std::vector<std::string>{kNodeOne, kNodeTwo}));
  EXPECT_EQ(view.members(*view.shard("b")), std::vector<std::string>{kNodeTwo}) << "it leads it";
  EXPECT_EQ(view.led_by(kNodeTwo)->id, "b");
}

TEST(ClusterViewTest, AMemoryIsAliveOnlyAsItsIncarnation) {
  ClusterView view = view_of_two();
  EXPECT_FALSE(view.is_alive({kNodeOne, kOld}));
  LiveRecord live;
  live.incarnation = kOld;
  live.version = "1";
  live.role = "primary";
  ASSERT_TRUE(*view.apply(entry("live/" + kNodeOne, to_text(live), 21)));
  EXPECT_TRUE(view.is_alive({kNodeOne, kOld}));
  EXPECT_FALSE(view.is_alive({kNodeOne, kNew}));
}

TEST(ClusterViewTest, ListsMovesThatAreNotOver) {
  ClusterView view = view_of_two();
  MoveRecord move;
  move.source = "a";
  move.target = "b";
  move.slots = SlotSet({{0, 1}});
  ASSERT_TRUE(*view.apply(entry("moves/1", to_text(move), 21)));
  move.state = MoveState::cancelled;
  ASSERT_TRUE(*view.apply(entry("moves/2", to_text(move), 22)));
  EXPECT_EQ(view.active_moves(), std::vector<std::string>{"1"});
}

}  // namespace
}  // namespace mayfly
