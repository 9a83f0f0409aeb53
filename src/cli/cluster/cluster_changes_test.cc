// SPDX-License-Identifier: Apache-2.0
// Commands that change a cluster: nodes that come and leave, other primaries, moves of slots.

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/cluster/clock_command.h"
#include "cli/cluster/failover_commands.h"
#include "cli/cluster/fake_cluster.h"
#include "cli/cluster/member_commands.h"
#include "cli/cluster/moves/move_commands.h"
#include "cli/cluster/moves/move_jobs.h"

namespace mayfly {
namespace {

class ClusterChangesTest : public testing::Test {
 protected:
  template <class Args>
  std::string run(Result<Exit> (*command)(const Args&, ClusterSession&), const Args& args) {
    const auto result = command(args, cluster_.session);
    return result ? "" : result.error().message;
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  }

  // The nodes finish every move that they see.
  void finish_moves(MoveState state = MoveState::done) {
    cluster_.records.on_wait = [this, state] {
      const ClusterView view = cluster_.records.view();
      for (const std::string& job : view.active_moves()) {
        MoveRecord move = view.moves().at(job).record;
        if (state == MoveState::done) {
          ShardRecord source = cluster_.shard(move.source);
          ShardRecord target = cluster_.shard(move.target);
          source.slots -= move.slots;
          target.slots |= move.slots;
          cluster_.put_shard(move.source, source);
          cluster_.put_shard(move.target, target);
        }
        move.state = state;
        move.error = state == MoveState::failed ? "out of memory" : "";
        cluster_.records.put(move_key(job), to_text(move));
      }
    };
  }
  // A replica that is told CLUSTER FAILOVER becomes the primary, and the primary a replica.
  void obey_failover() {
    cluster_.nodes.on_failover = [this](const std::string& node) {
      const std::string id = cluster_.records.view().node(node)->shard;
      ShardRecord record = cluster_.shard(id);
      ++record.epoch;
      std::swap(record.primary, record.insync[0]);
      cluster_.put_shard(id, record);
    };
  }
  // A node that is told to leave is taken out of the set.
  void obey_leaving() {
    cluster_.records.on_wait = [this] {
      const ClusterView view = cluster_.records.view();
      for (const ClusterShard& shard : view.shards()) {
        ShardRecord record = shard.record;
        std::erase_if(record.insync, [&](const NodeMemory& member) {
          return view.node(member.node)->state == NodeState::leaving;
        });
        if (!(record == shard.record)) cluster_.put_shard(shard.id, record);
      }
    };
  }
  std::size_t slots(const std::string& shard) { return cluster_.shard(shard).slots.count(); }

  FakeCluster cluster_;
};

// ---- add ----

TEST_F(ClusterChangesTest, ANodeBecomesAShardOfItsOwn) {
  cluster_.make(2);
  cluster_.start(9);
  const std::uint64_t config = cluster_.records.view().config()->version;
  ASSERT_EQ(run(run_add, AddArgs{FakeCluster::address(9), ""}), "");
  const ClusterView view = cluster_.records.view();
  ASSERT_NE(view.shard("c"), nullptr);
  EXPECT_TRUE(view.shard("c")->record.slots.empty());
  EXPECT_EQ(view.shard("c")->record.primary.node, FakeCluster::id(9));
  EXPECT_EQ(view.node(FakeCluster::id(9))->shard, "c");
  EXPECT_GT(view.config()->version, config) << "such changes are serialised by the config";
}

TEST_F(ClusterChangesTest, ANewShardGetsTheFunctionsOfAnother) {
  cluster_.make(2);
  cluster_.nodes.nodes[FakeCluster::address(1)].is_up = false;
  cluster_.nodes.nodes[FakeCluster::address(2)].functions = "LIBRARY";
  FakeNode& newcomer = cluster_.start(9);
  newcomer.takes_functions = false;
  EXPECT_TRUE(has(run(run_add, AddArgs{FakeCluster::address(9), ""}),
                  "does not take the functions of 10.0.0.2:6379: ERR too old"));
  EXPECT_EQ(cluster_.records.view().shard("c"), nullptr) << "nothing was changed";
  newcomer.takes_functions = true;
  ASSERT_EQ(run(run_add, AddArgs{FakeCluster::address(9), ""}), "");
  EXPECT_TRUE(std::ranges::count(cluster_.nodes.calls,
                                 "10.0.0.9:6379 FUNCTION RESTORE LIBRARY FLUSH") == 2);
  EXPECT_TRUE(has(cluster_.talk.notes, "1 library of functions copied to it"));
}

TEST_F(ClusterChangesTest, ANodeBecomesAReplica) {
  cluster_.make(2);
  cluster_.start(9);
  ASSERT_EQ(run(run_add, AddArgs{FakeCluster::address(9), "b"}), "");
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(view.node(FakeCluster::id(9))->shard, "b");
  EXPECT_EQ(view.node(FakeCluster::id(9))->state, NodeState::in);
  EXPECT_EQ(view.shards().size(), 2u);
}

TEST_F(ClusterChangesTest, AddTriesAgainIfTheNodeHasChangedItsRecord) {
  cluster_.make(1);
  cluster_.start(9);
  cluster_.records.before_commit = [&] { cluster_.start(9, "zone-b"); };
  ASSERT_EQ(run(run_add, AddArgs{FakeCluster::address(9), "a"}), "");
  EXPECT_EQ(cluster_.records.view().node(FakeCluster::id(9))->zone, "zone-b");
  EXPECT_EQ(cluster_.records.view().node(FakeCluster::id(9))->shard, "a");
}

TEST_F(ClusterChangesTest, AddRefusesWhatCannotBe) {
  EXPECT_TRUE(has(run(run_add, AddArgs{FakeCluster::address(9), ""}), "there is no cluster"));
  cluster_.make(1);
  EXPECT_TRUE(
      has(run(run_add, AddArgs{FakeCluster::address(1), ""}), "belongs to shard a already"));
  cluster_.start(9);
  EXPECT_TRUE(has(run(run_add, AddArgs{FakeCluster::address(9), "z"}), "'z' is no shard"));
  EXPECT_TRUE(has(run(run_add, AddArgs{"10.0.0.9", ""}), "HOST:PORT"));
  cluster_.nodes.nodes[FakeCluster::address(9)].clock_ahead = Millis(-900);
  EXPECT_TRUE(has(run(run_add, AddArgs{FakeCluster::address(9), ""}), "differ by 900 ms"));
  cluster_.nodes.nodes[FakeCluster::address(9)].clock_ahead = Millis(-150);
  cluster_.nodes.nodes[FakeCluster::address(1)].max_clock_difference = 100;
  EXPECT_TRUE(has(run(run_add, AddArgs{FakeCluster::address(9), ""}), "150 ms; at most 100"));
}

// ---- remove ----

TEST_F(ClusterChangesTest, AReplicaLeavesItsSetFirst) {
  cluster_.make(2);
  obey_leaving();
  ASSERT_EQ(run(run_remove, RemoveArgs{FakeCluster::address(3)}), "");
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(view.node(FakeCluster::id(3)), nullptr);
  EXPECT_TRUE(view.shard("a")->record.insync.empty());
  EXPECT_EQ(view.shards().size(), 2u);
}

TEST_F(ClusterChangesTest, AReplicaThatStaysInSyncIsNotRemoved) {
  cluster_.make(2);
  EXPECT_TRUE(has(run(run_remove, RemoveArgs{FakeCluster::address(3)}), "still in sync"));
  EXPECT_NE(cluster_.records.view().node(FakeCluster::id(3)), nullptr);
}

TEST_F(ClusterChangesTest, APrimaryHandsOverBeforeItLeaves) {
  cluster_.make(2);
  obey_failover();
  obey_leaving();
  ASSERT_EQ(run(run_remove, RemoveArgs{FakeCluster::id(1)}), "");
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(view.shard("a")->record.primary.node, FakeCluster::id(3));
  EXPECT_EQ(view.node(FakeCluster::id(1)), nullptr);
  EXPECT_TRUE(view.uncovered().empty());
}

TEST_F(ClusterChangesTest, TheLastNodeOfAShardGivesItsSlotsAwayFirst) {
  cluster_.make(3, false);
  finish_moves();
  ASSERT_EQ(run(run_remove, RemoveArgs{FakeCluster::address(2)}), "");
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(view.shard("b"), nullptr);
  EXPECT_TRUE(view.uncovered().empty());
  EXPECT_EQ(slots("a"), 8192u);
}

TEST_F(ClusterChangesTest, TheLastShardIsNotRemoved) {
  cluster_.make(1, false);
  EXPECT_TRUE(has(run(run_remove, RemoveArgs{FakeCluster::address(1)}), "no other shard"));
}

TEST_F(ClusterChangesTest, ANodeIsFoundByItsAddressOrId) {
  cluster_.make(1);
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(*find_node(view, FakeCluster::address(2)), FakeCluster::id(2));
  EXPECT_EQ(*find_node(view, FakeCluster::id(2)), FakeCluster::id(2));
  EXPECT_TRUE(has(find_node(view, "0000").error().message, "one of several"));
  EXPECT_TRUE(has(find_node(view, "10.0.0.7:1").error().message, "there are 10.0.0.1:6379"));
}

// ---- failover and recover ----

TEST_F(ClusterChangesTest, FailoverMakesTheReplicaThePrimary) {
  cluster_.make(2);
  obey_failover();
  ASSERT_EQ(run(run_failover, FailoverArgs{"a", ""}), "");
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(3));
  EXPECT_TRUE(has(cluster_.talk.out, "10.0.0.3:6379 is the primary of shard a"));
}

TEST_F(ClusterChangesTest, FailoverRefusesWhoIsNotInSync) {
  cluster_.make(2);
  EXPECT_TRUE(has(run(run_failover, FailoverArgs{"a", FakeCluster::address(4)}), "not in sync"));
  EXPECT_TRUE(has(run(run_failover, FailoverArgs{"a", FakeCluster::address(1)}), "already"));
  EXPECT_TRUE(has(run(run_failover, FailoverArgs{"z", ""}), "'z' is no shard"));
  ShardRecord record = cluster_.shard("b");
  record.insync.clear();
  cluster_.put_shard("b", record);
  EXPECT_TRUE(has(run(run_failover, FailoverArgs{"b", ""}), "no replica in sync"));
}

TEST_F(ClusterChangesTest, FailoverSaysIfNothingHappens) {
  cluster_.make(2);
  EXPECT_TRUE(has(run(run_failover, FailoverArgs{"a", ""}), "has not become the primary"));
}

TEST_F(ClusterChangesTest, RecoverTakesTheLatestDataAndOnlyIfLossIsAccepted) {
  cluster_.make(1);
  cluster_.start(5);
  cluster_.join(5, "a");
  cluster_.records.erase(live_key(FakeCluster::id(1)));  // dead
  for (const int node : {2, 5}) {
    cluster_.nodes.nodes[FakeCluster::address(node)].incarnation = std::string(16, 'b');
  }
  cluster_.announce(2, 1, 500);
  cluster_.announce(5, 1, 900);
  EXPECT_TRUE(has(run(run_recover, RecoverArgs{"a", false}), "--accept-loss"));
  EXPECT_TRUE(has(cluster_.talk.out, "10.0.0.5:6379 becomes the primary, with epoch 2"));
  EXPECT_EQ(cluster_.shard("a").epoch, 1u);
  ASSERT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
  const ShardRecord record = cluster_.shard("a");
  EXPECT_EQ(record.epoch, 2u);
  EXPECT_EQ(record.primary, (NodeMemory{FakeCluster::id(5), std::string(16, 'b')}));
  EXPECT_TRUE(record.insync.empty());
  EXPECT_EQ(record.slots, SlotSet::all());
}

TEST_F(ClusterChangesTest, RecoverPrefersAHigherEpochToAGreaterOffset) {
  cluster_.make(1);
  cluster_.start(5);
  cluster_.join(5, "a");
  cluster_.records.erase(live_key(FakeCluster::id(1)));
  for (const int node : {2, 5}) {
    cluster_.nodes.nodes[FakeCluster::address(node)].incarnation = std::string(16, 'b');
  }
  cluster_.announce(2, 3, 10);
  cluster_.announce(5, 2, 900);
  ASSERT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(2));
}

TEST_F(ClusterChangesTest, RecoverKnowsWhatAReplicaHasInMemory) {
  cluster_.make(1);
  cluster_.start(5).followed_offset = 901;
  cluster_.join(5, "a");
  cluster_.records.erase(live_key(FakeCluster::id(1)));
  cluster_.nodes.nodes[FakeCluster::address(2)].incarnation = std::string(16, 'b');
  cluster_.announce(2, 1, 900);
  ASSERT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(5));
}

TEST_F(ClusterChangesTest, RecoverOfAMemberInSyncLosesNothing) {
  cluster_.make(1);
  cluster_.records.erase(live_key(FakeCluster::id(1)));
  ASSERT_EQ(run(run_recover, RecoverArgs{"a", false}), "");
  EXPECT_TRUE(has(cluster_.talk.out, "Nothing that was safe is lost"));
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(2));
}

TEST_F(ClusterChangesTest, RecoverRefusesAShardThatLivesOrHasNobody) {
  cluster_.make(1);
  EXPECT_TRUE(has(run(run_recover, RecoverArgs{"a", true}), "nothing to recover"));
  for (const int node : {1, 2}) cluster_.records.erase(live_key(FakeCluster::id(node)));
  EXPECT_TRUE(has(run(run_recover, RecoverArgs{"a", true}), "no node of shard a is alive"));
}

TEST_F(ClusterChangesTest, RecoverLosesAgainstATakeover) {
  cluster_.make(1);
  cluster_.records.erase(live_key(FakeCluster::id(1)));
  cluster_.records.before_commit = [&] {
    ShardRecord record = cluster_.shard("a");
    ++record.epoch;
    cluster_.put_shard("a", record);
  };
  EXPECT_TRUE(has(run(run_recover, RecoverArgs{"a", true}), "changed meanwhile"));
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(1));
}

// The replica has left the set, and the primary was restarted without its data.
TEST_F(ClusterChangesTest, RecoverTakesDataInMemoryRatherThanNone) {
  cluster_.make(1);
  ShardRecord record = cluster_.shard("a");
  record.insync.clear();
  cluster_.put_shard("a", record);
  cluster_.nodes.nodes[FakeCluster::address(1)].incarnation = std::string(16, 'b');
  cluster_.announce(1, 0, 0);
  cluster_.announce(2, 0, 0, 1);
  EXPECT_TRUE(has(run(run_recover, RecoverArgs{"a", false}), "--accept-loss"));
  ASSERT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(2));
}

// The snapshot of the primary is of the same epoch, and older.
TEST_F(ClusterChangesTest, RecoverTakesTheGreaterOffsetOfWhatIsInMemory) {
  cluster_.make(1);
  ShardRecord record = cluster_.shard("a");
  record.insync.clear();
  cluster_.put_shard("a", record);
  cluster_.nodes.nodes[FakeCluster::address(1)].incarnation = std::string(16, 'b');
  cluster_.announce(1, 1, 900);
  cluster_.announce(2, 0, 0, 1);
  LiveRecord live = *cluster_.records.view().live(FakeCluster::id(2));
  live.settled = cluster_.records.version;
  live.end = 901;
  cluster_.records.put(live_key(FakeCluster::id(2)), to_text(live));
  ASSERT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
  EXPECT_EQ(cluster_.shard("a").primary.node, FakeCluster::id(2));
}

// ---- reset-clock ----

TEST_F(ClusterChangesTest, ResetClockPutsTheTimeOfThePrimary) {
  cluster_.make(1);
  ShardRecord record = cluster_.shard("a");
  record.since = cluster_.clock.now() + std::chrono::hours(24);
  cluster_.put_shard("a", record);
  cluster_.nodes.nodes[FakeCluster::address(1)].clock_ahead = Millis(-300);
  ASSERT_EQ(run(run_reset_clock, ResetClockArgs{"a"}), "");
  record.since = cluster_.clock.now() - Millis(300);
  EXPECT_EQ(cluster_.shard("a"), record) << "nothing else is changed";
  EXPECT_TRUE(has(cluster_.talk.out, "began 86400300 ms from now"));
  ASSERT_EQ(run(run_reset_clock, ResetClockArgs{"a"}), "");
  EXPECT_TRUE(has(cluster_.talk.out, "nothing to reset"));

  record.since = cluster_.clock.now() + Millis(1000);
  cluster_.put_shard("a", record);
  cluster_.nodes.nodes[FakeCluster::address(1)].max_clock_difference = 1500;
  ASSERT_EQ(run(run_reset_clock, ResetClockArgs{"a"}), "");
  EXPECT_EQ(cluster_.shard("a"), record) << "the nodes would take that over";
  cluster_.nodes.nodes[FakeCluster::address(1)].max_clock_difference = 500;
  ASSERT_EQ(run(run_reset_clock, ResetClockArgs{"a"}), "");
  EXPECT_NE(cluster_.shard("a"), record);
}

TEST_F(ClusterChangesTest, ResetClockChangesNothingUnlessYes) {
  cluster_.make(1);
  ShardRecord record = cluster_.shard("a");
  record.since = cluster_.clock.now() + std::chrono::hours(24);
  cluster_.put_shard("a", record);
  cluster_.talk.says_yes = false;
  EXPECT_NE(run(run_reset_clock, ResetClockArgs{"a"}), "");
  EXPECT_EQ(cluster_.shard("a"), record);
}

// A time that is right is kept by a recovery, a wrong one is not.
TEST_F(ClusterChangesTest, RecoverTakesOverNoWrongTime) {
  for (const Millis ahead : {Millis(400), Millis(3'600'000)}) {
    cluster_.make(1);
    ShardRecord record = cluster_.shard("a");
    record.since = cluster_.clock.now() + ahead;
    cluster_.put_shard("a", record);
    cluster_.records.erase(live_key(FakeCluster::id(1)));
    ASSERT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
    const Millis kept = cluster_.shard("a").since - cluster_.clock.now();
    EXPECT_EQ(kept, ahead == Millis(400) ? ahead : Millis(0));
  }
}

// ---- reshard, rebalance, cancel ----

TEST_F(ClusterChangesTest, ReshardWritesAMoveAndWaitsForIt) {
  cluster_.make(2);
  finish_moves();
  ReshardArgs args{"a", "b", 1000, {}};
  ASSERT_EQ(run(run_reshard, args), "");
  EXPECT_EQ(slots("a"), 7192u);
  EXPECT_EQ(slots("b"), 9192u);
  EXPECT_TRUE(has(cluster_.talk.out, "1000 slots moved"));
}

TEST_F(ClusterChangesTest, ReshardTakesTheRangesThatItIsGiven) {
  cluster_.make(2);
  finish_moves();
  ASSERT_EQ(run(run_reshard, ReshardArgs{"a", "b", 0, {"0-9", "100"}}), "");
  EXPECT_FALSE(cluster_.shard("a").slots.contains(HashSlot{100}));
  EXPECT_TRUE(cluster_.shard("b").slots.contains(HashSlot{9}));
  EXPECT_EQ(slots("a"), 8192u - 11);
}

TEST_F(ClusterChangesTest, ReshardRefusesWhatMakesNoSense) {
  cluster_.make(2);
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 0, {}}), "either --slots"));
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 5, {"1"}}), "either --slots"));
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "a", 5, {}}), "the same shard"));
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "z", 5, {}}), "'z' is no shard"));
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 9000, {}}), "only 8192 slots"));
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 0, {"9-1"}}), "no range of slots"));
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 0, {"16000"}}), "does not have"));
}

TEST_F(ClusterChangesTest, SlotsThatMoveDoNotMoveTwice) {
  cluster_.make(3);
  ASSERT_TRUE(start_moves(cluster_.session, {{"a", "b", SlotSet({{0, 9}})}}).ok());
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "c", 0, {"5"}}), "moving already, to shard b"));
  EXPECT_TRUE(has(run(run_rebalance, RebalanceArgs{}), "a move is under way"));
}

// Seen with real servers: the answer came late, and the slots had moved by then.
TEST_F(ClusterChangesTest, AMoveThatIsOverBeforeItsAnswerComesIsNoError) {
  cluster_.make(2);
  finish_moves();
  cluster_.records.loses_answer = true;
  cluster_.records.after_loss = cluster_.records.on_wait;
  EXPECT_EQ(run(run_reshard, ReshardArgs{"a", "b", 10, {}}), "");
  EXPECT_EQ(slots("a"), 8182u);
}

TEST_F(ClusterChangesTest, LostAnswersToOtherChangesAreNoErrors) {
  cluster_.make(1);
  cluster_.start(9);
  const auto touch = [&] {
    cluster_.records.put("config", to_text(cluster_.records.view().config()->record));
  };
  cluster_.records.loses_answer = true;
  cluster_.records.after_loss = touch;
  EXPECT_EQ(run(run_add, AddArgs{FakeCluster::address(9), ""}), "");
  EXPECT_EQ(cluster_.records.view().shards().size(), 2u);

  cluster_.records.erase(live_key(FakeCluster::id(1)));
  cluster_.records.loses_answer = true;
  cluster_.records.after_loss = [&] {
    ShardRecord record = cluster_.shard("a");
    record.insync = {{FakeCluster::id(1), std::string(16, 'e')}};
    cluster_.put_shard("a", record);
  };
  EXPECT_EQ(run(run_recover, RecoverArgs{"a", true}), "");
  EXPECT_EQ(cluster_.shard("a").epoch, 2u);
}

TEST_F(ClusterChangesTest, AMoveThatFailsIsAnError) {
  cluster_.make(2);
  finish_moves(MoveState::failed);
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 10, {}}), "failed: out of memory"));
}

TEST_F(ClusterChangesTest, AnInterruptLeavesTheMoveAlone) {
  cluster_.make(2);
  cluster_.talk.is_interrupted = true;
  EXPECT_TRUE(has(run(run_reshard, ReshardArgs{"a", "b", 10, {}}), "the moves go on"));
  EXPECT_EQ(cluster_.records.view().active_moves().size(), 1u);
}

TEST_F(ClusterChangesTest, RebalanceGivesANewShardItsShare) {
  cluster_.make(2);
  cluster_.start(9);
  cluster_.session.is_sure = true;
  ASSERT_EQ(run(run_add, AddArgs{FakeCluster::address(9), ""}), "");
  finish_moves();
  ASSERT_EQ(run(run_rebalance, RebalanceArgs{}), "");
  EXPECT_NEAR(static_cast<double>(slots("c")), 5461, 1);
  ASSERT_EQ(run(run_rebalance, RebalanceArgs{}), "");
  EXPECT_TRUE(has(cluster_.talk.out, "nothing to move"));
  ASSERT_EQ(run(run_rebalance, RebalanceArgs{{"c=2"}, "slots"}), "");
  EXPECT_EQ(slots("c"), 8192u);
}

TEST_F(ClusterChangesTest, RebalanceByKeysAsksTheNodes) {
  cluster_.make(2);  // slot 0 has 100 keys, all others none: it can only stay
  ASSERT_EQ(run(run_rebalance, RebalanceArgs{{}, "keys"}), "");
  EXPECT_TRUE(has(cluster_.talk.out, "nothing to move"));
  EXPECT_GT(cluster_.nodes.calls.size(), 16'000u);
}

TEST_F(ClusterChangesTest, RebalanceRefusesWrongWeights) {
  cluster_.make(2);
  for (const char* word : {"a", "a=", "a=x", "a=-1", "=2"}) {
    EXPECT_NE(run(run_rebalance, RebalanceArgs{{word}, "slots"}), "") << word;
  }
  EXPECT_TRUE(has(run(run_rebalance, RebalanceArgs{{"z=1"}, "slots"}), "'z' is no shard"));
}

TEST_F(ClusterChangesTest, CancelStopsMoves) {
  cluster_.make(2);
  const auto jobs = *start_moves(
      cluster_.session, {{"a", "b", SlotSet({{0, 9}})}, {"b", "a", SlotSet({{16'000, 16'000}})}});
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_LT(jobs[0], jobs[1]);
  ASSERT_EQ(run(run_cancel, CancelArgs{{jobs[0]}}), "");
  EXPECT_EQ(cluster_.records.view().active_moves(), std::vector<std::string>{jobs[1]});
  ASSERT_EQ(run(run_cancel, CancelArgs{}), "");
  EXPECT_TRUE(cluster_.records.view().active_moves().empty());
  EXPECT_TRUE(has(run(run_cancel, CancelArgs{{"77"}}), "there is no move 77"));
}

TEST_F(ClusterChangesTest, ItIsTooLateToCancelACommit) {
  cluster_.make(2);
  const auto jobs = *start_moves(cluster_.session, {{"a", "b", SlotSet({{0, 9}})}});
  MoveRecord move = cluster_.records.view().moves().at(jobs[0]).record;
  move.state = MoveState::commit;
  cluster_.records.put(move_key(jobs[0]), to_text(move));
  EXPECT_TRUE(has(run(run_cancel, CancelArgs{}), "too late"));
}

TEST_F(ClusterChangesTest, RecordsOfOldMovesGo) {
  cluster_.make(2);
  finish_moves();
  ASSERT_EQ(run(run_reshard, ReshardArgs{"a", "b", 1, {}}), "");
  EXPECT_EQ(cluster_.records.view().moves().size(), 1u);
  cluster_.clock.advance(Millis(7'200'000));
  ASSERT_EQ(run(run_reshard, ReshardArgs{"a", "b", 1, {}}), "");
  EXPECT_EQ(cluster_.records.view().moves().size(), 1u);
}

// ---- When etcd does not answer ----

TEST_F(ClusterChangesTest, WithoutEtcdNothingIsClaimed) {
  cluster_.make(2);
  cluster_.records.loses_request = true;
  EXPECT_TRUE(has(run(run_cancel, CancelArgs{}), ""));
  const auto started = start_moves(cluster_.session, {{"a", "b", SlotSet({{0, 9}})}});
  ASSERT_FALSE(started.ok());
  EXPECT_TRUE(has(started.error().message, "not known whether the change was made"));
  cluster_.records.error = "no etcd";
  EXPECT_EQ(run(run_reshard, ReshardArgs{"a", "b", 10, {}}), "no etcd");
}

TEST(NodeAddressTest, IsAHostAndAPort) {
  EXPECT_EQ(parse_node_address("a:1")->text(), "a:1");
  EXPECT_EQ(parse_node_address("[::1]:6379")->host, "::1");
  EXPECT_EQ(parse_node_address("[::1]:6379")->text(), "[::1]:6379");
  for (const char* wrong : {"", "a", ":1", "a:", "a:0", "a:65536", "a:1x", "::1:5", "[]:1"}) {
    EXPECT_FALSE(parse_node_address(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace mayfly
