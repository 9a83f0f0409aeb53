// SPDX-License-Identifier: Apache-2.0
// Each problem is found, alone, with what to do about it.

#include "cluster/plan/cluster_problems.h"

#include <gtest/gtest.h>

#include "cluster/plan/placement.h"

namespace mayfly {
namespace {

// A sound cluster of three shards with a replica each; tests break something of it.
class ClusterProblemsTest : public testing::Test {
 protected:
  ClusterProblemsTest() {
    put("config", to_text(ClusterRecord{.id = std::string(40, 'c')}));
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string shard = shard_name(i);
      ShardRecord record;
      record.epoch = 1;
      record.primary = {id(i), kIncarnation};
      record.insync = {{id(i + 3), kIncarnation}};
      record.slots = even_slots(i, 3);
      put(shard_key(shard), to_text(record));
      for (const std::size_t node : {i, i + 3}) add_node(node, shard);
    }
  }

  static std::string id(std::size_t node) { return std::string(40, static_cast<char>('0' + node)); }

  void put(const std::string& key, const std::string& text) {
    ASSERT_TRUE(*view_.apply(RegisterEntry{key, text, ++version_}));
  }
  void erase(const std::string& key) {
    ASSERT_TRUE(*view_.apply(RegisterEntry{key, std::nullopt, ++version_}));
  }

  void add_node(std::size_t node, const std::string& shard) {
    NodeRecord record;
    record.host = "10.0.0." + std::to_string(node);
    record.port = 6379;
    record.shard = shard;
    record.state = shard.empty() ? NodeState::fresh : NodeState::in;
    put(node_key(id(node)), to_text(record));
    start(node, kIncarnation);
  }
  void start(std::size_t node, const std::string& incarnation) {
    LiveRecord live;
    live.incarnation = incarnation;
    live.version = "1";
    live.role = "primary";
    put(live_key(id(node)), to_text(live));
  }
  ShardRecord record(const std::string& shard) { return view_.shard(shard)->record; }

  // Exactly one problem, of that severity, that says this.
  void expect_only(Severity severity, const std::string& what, const std::string& advice = "") {
    const auto problems = find_problems(view_);
    ASSERT_EQ(problems.size(), 1u) << (problems.empty() ? "" : problems.back().what);
    EXPECT_EQ(problems[0].severity, severity) << problems[0].what;
    EXPECT_NE(problems[0].what.find(what), std::string::npos) << problems[0].what;
    EXPECT_NE(problems[0].advice.find(advice), std::string::npos) << problems[0].advice;
  }

  static inline const std::string kIncarnation{std::string(16, 'a')};
  static inline const std::string kLater{std::string(16, 'b')};

  ClusterView view_;
  std::uint64_t version_ = 0;
};

TEST_F(ClusterProblemsTest, ASoundClusterHasNone) { EXPECT_TRUE(find_problems(view_).empty()); }

TEST_F(ClusterProblemsTest, WithoutRecordsThereIsNoCluster) {
  view_ = ClusterView();
  expect_only(Severity::fault, "no cluster yet", "init");
}

TEST_F(ClusterProblemsTest, AnInitThatWasNotFinished) {
  erase("config");
  expect_only(Severity::fault, "not finished", "init");
}

TEST_F(ClusterProblemsTest, SlotsOfNobody) {
  ShardRecord changed = record("a");
  changed.slots -= SlotSet({{0, 99}});
  put("shards/a", to_text(changed));
  expect_only(Severity::fault, "100 slots belong to no shard: 0-99");
}

TEST_F(ClusterProblemsTest, SlotsOfSeveral) {
  ShardRecord changed = record("a");
  changed.slots |= SlotSet({{16'000, 16'000}});
  put("shards/a", to_text(changed));
  expect_only(Severity::fault, "1 slots belong to several shards: 16000");
}

TEST_F(ClusterProblemsTest, AShardWithoutAReplicaInSync) {
  ShardRecord changed = record("b");
  changed.insync.clear();
  put("shards/b", to_text(changed));
  expect_only(Severity::risk, "shard b would not survive the loss of 10.0.0.1:6379",
              "log of its replicas");
  erase(node_key(id(4)));
  erase(live_key(id(4)));
  expect_only(Severity::risk, "shard b would not", "add HOST:PORT --replica-of b");
}

TEST_F(ClusterProblemsTest, FewerReplicasThanWanted) {
  put("config", to_text(ClusterRecord{.id = std::string(40, 'c'), .replicas = 2}));
  EXPECT_EQ(find_problems(view_).size(), 3u);
  EXPECT_NE(find_problems(view_)[0].what.find("1 of 2 replicas"), std::string::npos);
}

TEST_F(ClusterProblemsTest, ADeadPrimaryWithAnHeir) {
  erase(live_key(id(0)));
  expect_only(Severity::fault, "shard a: its primary 10.0.0.0:6379 is not alive; a replica");
}

TEST_F(ClusterProblemsTest, AShardThatWaitsForADeadNode) {
  erase(live_key(id(0)));
  start(3, kLater);
  expect_only(Severity::fault, "the shard waits for 10.0.0.0:6379",
              "start 10.0.0.0:6379 again. Only if that is impossible: mayfly cluster recover a (it "
              "shows what would be lost");
  for (const ClusterProblem& problem : find_problems(view_)) {
    EXPECT_EQ(problem.advice.find("--accept-loss"), std::string::npos) << "a dry run first";
  }
}

TEST_F(ClusterProblemsTest, AShardWhoseMemoriesAreAllGone) {
  start(0, kLater);
  start(3, kLater);
  expect_only(Severity::fault, "so has every replica", "takes over by itself");
}

TEST_F(ClusterProblemsTest, AShardThatWaitsForAReplicaThatHasTheData) {
  ShardRecord shrunk = record("a");
  shrunk.insync.clear();
  put("shards/a", to_text(shrunk));
  LiveRecord live;
  live.incarnation = kIncarnation;
  live.held = 1;
  put(live_key(id(3)), to_text(live));
  start(0, kLater);
  expect_only(Severity::fault, "but 10.0.0.3:6379 lives with data of it",
              "cluster recover a shows");
  live.held = 0;
  put(live_key(id(3)), to_text(live));
  expect_only(Severity::fault, "so has every replica", "takes over by itself");
}

TEST_F(ClusterProblemsTest, NodesThatAnswerAreNotDead) {
  erase(live_key(id(0)));
  erase(live_key(id(3)));
  const NodeAnswers answers = {{id(0), NodeAnswer::answers}, {id(3), NodeAnswer::silent}};
  std::string all;
  for (const ClusterProblem& problem : find_problems(view_, {.answers = answers})) {
    all += problem.what + ": " + problem.advice + "\n";
  }
  EXPECT_NE(all.find("10.0.0.0:6379 runs, but etcd has forgotten it"), std::string::npos) << all;
  EXPECT_EQ(all.find("10.0.0.0:6379 is not alive"), std::string::npos) << all;
  EXPECT_NE(all.find("start 10.0.0.3:6379 again (it may be stopped: kill -CONT"), all.npos) << all;
}

TEST_F(ClusterProblemsTest, ADeadReplica) {
  erase(live_key(id(3)));
  expect_only(Severity::risk, "10.0.0.3:6379 is not alive");
}

TEST_F(ClusterProblemsTest, ANodeThatBelongsToNobody) {
  add_node(7, "");
  expect_only(Severity::info, "10.0.0.7:6379 is registered", "cluster add 10.0.0.7:6379");
}

TEST_F(ClusterProblemsTest, ANodeOfAShardThatIsNotThere) {
  add_node(7, "z");
  expect_only(Severity::fault, "belongs to shard z");
}

TEST_F(ClusterProblemsTest, AMoveThatFailed) {
  MoveRecord move;
  move.source = "a";
  move.target = "b";
  move.slots = SlotSet({{0, 1}});
  move.state = MoveState::failed;
  move.error = "out of memory";
  put("moves/7", to_text(move));
  expect_only(Severity::risk, "failed: out of memory", "cancel 7");
}

TEST_F(ClusterProblemsTest, AMoveThatIsRefusedForAMinute) {
  MoveRecord move;
  move.source = "a";
  move.target = "b";
  move.slots = SlotSet({{0, 1}});
  move.error = "the target: BUSY another move";
  move.busy_since = Time(Millis(1'000'000));
  put("moves/7", to_text(move));
  EXPECT_TRUE(find_problems(view_, {.now = Time(Millis(1'059'999))}).empty());
  const auto problems = find_problems(view_, {.now = Time(Millis(1'060'000))});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].severity, Severity::risk);
  EXPECT_NE(problems[0].what.find("for more than a minute: the target: BUSY"), std::string::npos);
  EXPECT_NE(problems[0].advice.find("cluster cancel 7"), std::string::npos);
  move.busy_since = {};
  put("moves/7", to_text(move));
  EXPECT_TRUE(find_problems(view_, {.now = Time(Millis(9'000'000))}).empty());
}

TEST_F(ClusterProblemsTest, ABrokenRecord) {
  put("shards/d", "format 1\nepoch x\n");
  expect_only(Severity::fault, "the record shards/d");
}

TEST_F(ClusterProblemsTest, TheWorstComesFirst) {
  add_node(7, "");
  erase(live_key(id(3)));
  erase(live_key(id(1)));
  const auto problems = find_problems(view_);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].severity, Severity::fault);
  EXPECT_EQ(problems[2].severity, Severity::info);
}

}  // namespace
}  // namespace mayfly
