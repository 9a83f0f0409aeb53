// SPDX-License-Identifier: Apache-2.0
// The transactions of CLUSTER MEET, ADDSLOTS, REPLICATE, FORGET and RESET, each alone: what they
// compare, what they write, and what they refuse.

#include "server/cluster/cluster_changes.h"

#include <gtest/gtest.h>

#include "cluster/fake_register.h"

namespace mayfly {
namespace cluster_changes_test {

std::string node_id(char digit) { return std::string(40, digit); }
NodeMemory memory(char digit) { return {node_id(digit), std::string(16, digit)}; }

class ClusterChangesTest : public testing::Test {
 protected:
  using Changed = Result<std::optional<RegisterCommit>>;

  void put(const std::string& key, const std::string& text) { records_.apply({{}, {{key, text}}}); }
  // A node that has registered itself.
  void add_node(char digit, const std::string& shard = "", NodeState state = NodeState::fresh) {
    NodeRecord node;
    node.host = "10.0.0.1";
    node.port = 6000 + digit;
    node.shard = shard;
    node.state = state;
    put(node_key(node_id(digit)), to_text(node));
  }
  void add_shard(const std::string& id, char primary, const SlotSet& slots,
                 std::vector<NodeMemory> insync = {}) {
    ShardRecord record;
    record.epoch = 3;
    record.primary = memory(primary);
    record.slots = slots;
    record.insync = std::move(insync);
    put(shard_key(id), to_text(record));
    put(std::string(kConfigKey), to_text(config_));
  }
  void add_live(char digit) {
    LiveRecord live;
    live.incarnation = memory(digit).incarnation;
    put(live_key(node_id(digit)), to_text(live));
  }

  ClusterView view() const { return *ClusterView::parse(records_.read()); }
  NodeRecord node(char digit) const {
    const ClusterView now = view();
    const NodeRecord* const found = now.node(node_id(digit));
    EXPECT_NE(found, nullptr);
    return found == nullptr ? NodeRecord{} : *found;
  }
  ShardRecord shard(const std::string& id) const { return view().shard(id)->record; }
  SlotsFor slots_for(char primary, const SlotSet& slots) const {
    return {.primary = memory(primary), .slots = slots, .config = config_};
  }

  // Commits it; "": done, or there was nothing to do. Every record that is put must be compared, or
  // a change of somebody else would be lost.
  std::string commit(const Changed& changed) {
    if (!changed) return changed.error().message;
    if (!changed->has_value()) return "nothing";
    for (const auto& put : (*changed)->puts) {
      const auto is_it = [&](const auto& compare) { return compare.key == put.key; };
      EXPECT_TRUE(std::ranges::any_of((*changed)->compares, is_it)) << put.key;
    }
    return records_.apply(**changed).outcome == CommitOutcome::done ? "" : "refused";
  }

  FakeRecords records_;
  ClusterRecord config_{.id = node_id('f')};
};

TEST_F(ClusterChangesTest, MeetTakesAFreshNodeIn) {
  add_node('a');
  EXPECT_EQ(commit(join_node(view(), node_id('a'))), "");
  EXPECT_EQ(node('a').state, NodeState::in);
  EXPECT_EQ(node('a').port, 6000 + 'a') << "the rest stays";
  EXPECT_EQ(commit(join_node(view(), node_id('a'))), "nothing");
  EXPECT_EQ(commit(join_node(view(), node_id('b'))), "ERR Unknown node " + node_id('b'));
}

TEST_F(ClusterChangesTest, MeetIsRefusedIfTheNodeHasChangedSince) {
  add_node('a');
  const Changed changed = join_node(view(), node_id('a'));
  add_node('a');
  EXPECT_EQ(commit(changed), "refused");
}

TEST_F(ClusterChangesTest, SlotsMakeAShardAndTheCluster) {
  add_node('a');
  const SlotSet slots({{0, 100}});
  EXPECT_EQ(commit(add_slots(view(), slots_for('a', slots), Time(Millis(77)))), "");
  EXPECT_EQ(view().config()->record.id, config_.id);
  EXPECT_EQ(node('a').shard, "a");
  EXPECT_EQ(node('a').state, NodeState::in);
  EXPECT_EQ(shard("a").primary, memory('a'));
  EXPECT_EQ(shard("a").epoch, 1u);
  EXPECT_EQ(shard("a").slots, slots);
  EXPECT_EQ(shard("a").since, Time(Millis(77)));
}

TEST_F(ClusterChangesTest, MoreSlotsGoToTheSameShard) {
  add_node('a', "x", NodeState::in);
  add_shard("x", 'a', SlotSet({{0, 9}}), {memory('b')});
  EXPECT_EQ(commit(add_slots(view(), slots_for('a', SlotSet({{20, 29}})), Time{})), "");
  EXPECT_EQ(shard("x").slots.text(), "0-9 20-29");
  EXPECT_EQ(shard("x").epoch, 3u);
  EXPECT_EQ(shard("x").insync.size(), 1u);
}

TEST_F(ClusterChangesTest, SlotsThatCannotBeGivenAreRefused) {
  const SlotSet slots({{5, 5}});
  EXPECT_EQ(commit(add_slots(view(), slots_for('b', slots), Time{})),
            "ERR this node is not registered yet");
  add_node('a', "x", NodeState::in);
  add_node('b', "x", NodeState::in);
  add_shard("x", 'a', slots);
  EXPECT_EQ(commit(add_slots(view(), slots_for('a', slots), Time{})), "ERR Slot 5 is already busy");
  EXPECT_EQ(commit(add_slots(view(), slots_for('b', SlotSet({{6, 6}})), Time{})),
            "ERR this node is a replica: slots are given to primaries");
}

// An attempt whose answer was lost is made again.
TEST_F(ClusterChangesTest, SlotsThatAnEarlierAttemptHasGivenAreNotRefused) {
  add_node('a');
  add_node('b');
  SlotsFor wanted = slots_for('a', SlotSet({{0, 100}}));
  EXPECT_EQ(commit(add_slots(view(), wanted, Time{})), "");
  EXPECT_EQ(commit(add_slots(view(), wanted, Time{})), "ERR Slot 0 is already busy");
  wanted.is_repetition = true;
  EXPECT_EQ(commit(add_slots(view(), wanted, Time{})), "nothing");
  SlotsFor others = slots_for('b', SlotSet({{0, 100}}));
  others.is_repetition = true;
  EXPECT_EQ(commit(add_slots(view(), others, Time{})), "ERR Slot 0 is already busy");
}

// Two nodes take the same slots at once: both have looked at the same records.
TEST_F(ClusterChangesTest, SlotsAreGivenOnlyOnce) {
  add_node('a');
  add_node('b');
  const SlotSet slots({{0, 100}});
  const Changed first = add_slots(view(), slots_for('a', slots), Time{});
  const Changed second = add_slots(view(), slots_for('b', slots), Time{});
  EXPECT_EQ(commit(first), "");
  EXPECT_EQ(commit(second), "refused");
}

TEST_F(ClusterChangesTest, ANodeReplicatesAPrimary) {
  add_node('a', "x", NodeState::in);
  add_node('b');
  add_shard("x", 'a', SlotSet({{0, 9}}));
  EXPECT_EQ(commit(join_shard(view(), node_id('b'), node_id('a'))), "");
  EXPECT_EQ(node('b').shard, "x");
  EXPECT_EQ(node('b').state, NodeState::in);
  EXPECT_EQ(commit(join_shard(view(), node_id('b'), node_id('a'))), "nothing");
}

TEST_F(ClusterChangesTest, ReplicateRefusesWhatMakesNoSense) {
  add_node('a', "x", NodeState::in);
  add_node('b', "x", NodeState::in);
  add_node('c', "y", NodeState::in);
  add_shard("x", 'a', SlotSet({{0, 9}}));
  add_shard("y", 'c', SlotSet({{10, 19}}));
  const auto refusal = [this](char replica, char primary) {
    return commit(join_shard(view(), node_id(replica), node_id(primary)));
  };
  EXPECT_EQ(refusal('d', 'a'), "ERR this node is not registered yet");
  EXPECT_EQ(refusal('b', 'd'), "ERR Unknown node " + node_id('d'));
  EXPECT_EQ(refusal('a', 'a'), "ERR Can't replicate myself");
  EXPECT_EQ(refusal('c', 'b'), "ERR I can only replicate a master, not a replica.");
  EXPECT_EQ(refusal('c', 'a'),
            "ERR To set a master the node must be empty and without assigned slots: it leads "
            "shard y");
}

TEST_F(ClusterChangesTest, AForgottenNodeIsGone) {
  add_node('a', "x", NodeState::in);
  add_node('b', "x", NodeState::in);
  add_shard("x", 'a', SlotSet({{0, 9}}));
  EXPECT_EQ(commit(forget_node(view(), node_id('b'))), "");
  EXPECT_EQ(view().node(node_id('b')), nullptr);
  EXPECT_EQ(commit(forget_node(view(), node_id('b'))), "ERR Unknown node " + node_id('b'));
}

// Its process must learn that it belongs to no shard: it leaves the set then. And it can come back.
TEST_F(ClusterChangesTest, AForgottenNodeKeepsAFreshRecordWhileItLives) {
  add_node('a', "x", NodeState::in);
  add_node('b', "x", NodeState::in);
  add_shard("x", 'a', SlotSet({{0, 9}}), {memory('b')});
  add_live('b');
  EXPECT_EQ(commit(forget_node(view(), node_id('b'))), "");
  EXPECT_EQ(node('b').state, NodeState::fresh);
  EXPECT_EQ(node('b').shard, "");
  EXPECT_EQ(commit(forget_node(view(), node_id('b'))), "nothing");
  add_node('c', "", NodeState::in);  // by MEET
  add_live('c');
  EXPECT_EQ(commit(forget_node(view(), node_id('c'))), "");
  EXPECT_EQ(node('c').state, NodeState::fresh);
}

TEST_F(ClusterChangesTest, APrimaryIsForgottenWithItsShardOnceThatHasNoSlots) {
  add_node('a', "x", NodeState::in);
  add_shard("x", 'a', SlotSet({{0, 9}}));
  EXPECT_EQ(commit(forget_node(view(), node_id('a'))),
            "ERR this node leads shard x, which has 10 slots (move them first: mayfly cluster "
            "reshard)");
  add_shard("x", 'a', SlotSet());
  const Changed changed = forget_node(view(), node_id('a'));
  EXPECT_EQ(commit(changed), "");
  EXPECT_EQ(view().shard("x"), nullptr);
  EXPECT_EQ(view().node(node_id('a')), nullptr);
}

// A node that has missed the removal would take the new shard for an older state of the old one.
TEST_F(ClusterChangesTest, TheNameOfAShardIsNotGivenAgain) {
  for (const char digit : {'1', '2', '3'}) {
    add_node(digit);
    EXPECT_EQ(commit(add_slots(
                  view(), slots_for(digit, SlotSet({{HashSlot(digit), HashSlot(digit)}})), Time())),
              "");
  }
  EXPECT_EQ(node('3').shard, "c");
  ShardRecord empty = shard("c");
  empty.slots = {};
  put(shard_key("c"), to_text(empty));
  EXPECT_EQ(commit(forget_node(view(), node_id('3'))), "");
  ASSERT_EQ(view().shard("c"), nullptr);
  add_node('4');
  EXPECT_EQ(commit(add_slots(view(), slots_for('4', SlotSet({{9, 9}})), Time())), "");
  EXPECT_EQ(node('4').shard, "d");
}

TEST_F(ClusterChangesTest, AShardThatGetsSlotsMeanwhileIsNotForgotten) {
  add_node('a', "x", NodeState::in);
  add_shard("x", 'a', SlotSet());
  const Changed changed = forget_node(view(), node_id('a'));
  add_shard("x", 'a', SlotSet({{0, 9}}));
  EXPECT_EQ(commit(changed), "refused");
}

}  // namespace cluster_changes_test
}  // namespace mayfly
