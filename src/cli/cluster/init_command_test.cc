// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster init`, with nodes and records of the test's own.

#include "cli/cluster/init_command.h"

#include <gtest/gtest.h>

#include "cli/cluster/fake_cluster.h"

namespace mayfly {
namespace {

class InitCommandTest : public testing::Test {
 protected:
  InitArgs args(int nodes, int replicas = 1) {
    InitArgs args;
    args.replicas = replicas;
    for (int i = 1; i <= nodes; ++i) args.nodes.push_back(FakeCluster::address(i));
    return args;
  }
  std::string refusal(const InitArgs& args) {
    const auto result = run_init(args, cluster_.session);
    return result ? "" : result.error().message;
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  }

  FakeCluster cluster_;
};

TEST_F(InitCommandTest, MakesShardsWithAllSlotsAndAConfig) {
  for (int i = 1; i <= 6; ++i) cluster_.start(i);
  ASSERT_EQ(refusal(args(6)), "");
  const ClusterView view = cluster_.records.view();
  ASSERT_TRUE(view.config().has_value());
  EXPECT_EQ(view.config()->record.id.size(), 40u);
  EXPECT_EQ(view.config()->record.lease, Millis(2000));
  ASSERT_EQ(view.shards().size(), 3u);
  EXPECT_TRUE(view.uncovered().empty());
  for (const ClusterShard& shard : view.shards()) {
    EXPECT_EQ(shard.record.epoch, 1u);
    EXPECT_TRUE(shard.record.insync.empty()) << "replicas join by themselves";
    EXPECT_TRUE(view.is_alive(shard.record.primary));
    EXPECT_EQ(view.members(shard).size(), 2u);
    EXPECT_EQ(shard.record.since, view.config()->record.created);
  }
  for (const auto& [id, node] : view.nodes()) EXPECT_EQ(node.record.state, NodeState::in);
  EXPECT_EQ(cluster_.talk.questions.size(), 1u);
  EXPECT_EQ(cluster_.records.commits, 1);
}

TEST_F(InitCommandTest, AnswerNoChangesNothing) {
  cluster_.start(1);
  cluster_.talk.says_yes = false;
  EXPECT_TRUE(has(refusal(args(1, 0)), "nothing was changed"));
  EXPECT_EQ(cluster_.records.commits, 0);
}

TEST_F(InitCommandTest, DoesNotAskIfSure) {
  cluster_.start(1);
  cluster_.session.is_sure = true;
  EXPECT_EQ(refusal(args(1, 0)), "");
  EXPECT_TRUE(cluster_.talk.questions.empty());
}

TEST_F(InitCommandTest, RefusesNodesThatCannotComeIn) {
  for (int i = 1; i <= 2; ++i) cluster_.start(i);
  FakeNode& node = cluster_.nodes.nodes[FakeCluster::address(2)];

  node.keys = 3;
  EXPECT_TRUE(has(refusal(args(2)), "10.0.0.2:6379 has 3 keys"));
  node.keys = 0;

  node.name = "other";
  EXPECT_TRUE(has(refusal(args(2)), "belongs to cluster 'other'"));
  node.name = "main";

  node.clock_ahead = Millis(700);
  EXPECT_TRUE(has(refusal(args(2)), "differ by 700 ms"));
  node.max_clock_difference = 600;
  EXPECT_TRUE(has(refusal(args(2)), "at most 500 are allowed")) << "what all of them allow";
  node.clock_ahead = Millis(-400);
  EXPECT_EQ(refusal(args(3)), "10.0.0.3:6379: no server at 10.0.0.3:6379");

  node.is_plain = true;
  EXPECT_TRUE(has(refusal(args(2)), "cluster-enabled yes"));
  node.is_plain = false;

  node.incarnation = std::string(16, 'b');
  EXPECT_TRUE(has(refusal(args(2)), "not announced itself"));
  node.id = FakeCluster::id(9);
  EXPECT_TRUE(has(refusal(args(2)), "is not registered in this etcd"));

  InitArgs twice;
  twice.nodes = {FakeCluster::address(1), FakeCluster::address(1)};
  EXPECT_TRUE(has(refusal(twice), "named twice"));
  EXPECT_TRUE(has(refusal(args(1)), "too few"));
  EXPECT_EQ(cluster_.records.commits, 0);
}

TEST_F(InitCommandTest, RefusesASecondCluster) {
  cluster_.make(1);
  EXPECT_TRUE(has(refusal(args(2)), "there is a cluster 'main' with 2 nodes already"));
}

TEST_F(InitCommandTest, ManyNodesTakeSeveralTransactionsAndTheConfigIsLast) {
  for (int i = 1; i <= 200; ++i) cluster_.start(i);
  ASSERT_EQ(refusal(args(200)), "");
  EXPECT_EQ(cluster_.records.commits, 3);
  EXPECT_LE(cluster_.records.most_puts, 128u);
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(view.shards().size(), 100u);
  for (const ClusterShard& shard : view.shards()) EXPECT_LE(shard.version, view.config()->version);
}

TEST_F(InitCommandTest, AnInitThatWasNotFinishedIsDoneAgain) {
  for (int i = 1; i <= 2; ++i) cluster_.start(i);
  ShardRecord old;
  old.epoch = 1;
  old.primary = {FakeCluster::id(9), std::string(16, 'f')};
  old.slots = SlotSet::all();
  cluster_.put_shard("a", old);
  cluster_.put_shard("b", old);
  cluster_.join(1, "b");
  ASSERT_EQ(refusal(args(2)), "");
  const ClusterView view = cluster_.records.view();
  EXPECT_EQ(view.shards().size(), 1u);
  EXPECT_TRUE(view.owned_twice().empty());
}

TEST_F(InitCommandTest, SaysIfSomebodyElseWasFaster) {
  cluster_.start(1);
  cluster_.records.before_commit = [&] {
    cluster_.records.put("config", to_text(ClusterRecord{.id = std::string(40, 'd')}));
  };
  EXPECT_TRUE(has(refusal(args(1, 0)), "changed meanwhile"));
  EXPECT_FALSE(cluster_.records.has("shards/a"));
}

TEST_F(InitCommandTest, ALostAnswerIsNoFailure) {
  cluster_.start(1);
  cluster_.records.loses_answer = true;
  EXPECT_EQ(refusal(args(1, 0)), "");
  EXPECT_EQ(cluster_.records.commits, 2);
}

TEST_F(InitCommandTest, ALostAnswerIsNoFailureThoughAPrimaryHasBegunSince) {
  cluster_.start(1);
  cluster_.start(2);
  cluster_.records.loses_answer = true;
  cluster_.records.after_loss = [&] {
    ShardRecord record = cluster_.shard("a");
    record.insync = {{FakeCluster::id(2), std::string(16, 'a')}};
    cluster_.put_shard("a", record);
  };
  EXPECT_EQ(refusal(args(2, 1)), "");
  EXPECT_EQ(cluster_.shard("a").insync.size(), 1u);
}

TEST_F(InitCommandTest, WaitsForEtcdThatComesBack) {
  cluster_.start(1);
  cluster_.records.down_until = cluster_.clock.now() + Millis(3000);
  EXPECT_EQ(refusal(args(1, 0)), "") << "of reading";
  EXPECT_TRUE(cluster_.records.has("config"));
}

TEST_F(InitCommandTest, RepeatsATransactionUntilEtcdIsBack) {
  cluster_.start(1);
  cluster_.records.before_commit = [&] {
    cluster_.records.down_until = cluster_.clock.now() + Millis(3000);
  };
  EXPECT_EQ(refusal(args(1, 0)), "");
  EXPECT_GT(cluster_.records.commits, 5);
  EXPECT_TRUE(cluster_.records.has("config"));
}

TEST_F(InitCommandTest, GivesUpWhenEtcdStaysAway) {
  cluster_.start(1);
  const Time begin = cluster_.clock.now();
  cluster_.records.down_until = begin + Millis(3'600'000);
  EXPECT_TRUE(has(refusal(args(1, 0)), "etcd cannot be reached"));
  EXPECT_LE(cluster_.clock.now() - begin, Millis(10'000));
}

TEST_F(InitCommandTest, SaysWhichShardsDoNotServeInTime) {
  cluster_.start(1).is_serving = false;
  EXPECT_EQ(refusal(args(1, 0)), "");
  EXPECT_TRUE(has(cluster_.talk.notes, "do not serve yet: a"));
}

TEST_F(InitCommandTest, PrintsThePlanAsJson) {
  cluster_.start(1);
  cluster_.session.is_json = true;
  ASSERT_EQ(refusal(args(1, 0)), "");
  EXPECT_TRUE(cluster_.talk.out.starts_with("{")) << cluster_.talk.out;
  EXPECT_TRUE(has(cluster_.talk.out, "\"slots\": \"0-16383\""));
}

}  // namespace
}  // namespace mayfly
