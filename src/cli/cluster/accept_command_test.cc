// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster accept` accepts an etcd only while no node runs, in a record that each node takes
// once.

#include "cli/cluster/accept_command.h"

#include <gtest/gtest.h>

#include "cli/cluster/fake_cluster.h"

namespace mayfly {
namespace {

class AcceptTest : public testing::Test {
 protected:
  AcceptTest() {
    cluster_.make(2);
    cluster_.records.id = 77;
    cluster_.session.is_sure = true;
    stop_all(Code::not_found);
  }

  void stop_all(Code fault) {
    for (auto& [address, node] : cluster_.nodes.nodes) {
      node.is_up = false;
      node.fault = fault;
    }
  }
  FakeNode& node(int number) { return cluster_.nodes.nodes[FakeCluster::address(number)]; }
  std::string refusal() {
    const auto exit = run_accept(args_, cluster_.session);
    return exit ? "" : exit.error().message;
  }
  RegisterRecord record() {
    return *parse_register_record(*cluster_.records.entries.at("register").value);
  }
  bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

  FakeCluster cluster_;
  AcceptArgs args_;
};

TEST_F(AcceptTest, ItRecordsTheIdAndTheRevision) {
  const std::uint64_t version = cluster_.records.version;
  ASSERT_EQ(refusal(), "");
  EXPECT_EQ(record(), (RegisterRecord{77, version, cluster_.clock.now()}));
  EXPECT_TRUE(has(cluster_.talk.out, "start all nodes"));
}

TEST_F(AcceptTest, ANodeThatRunsRefusesIt) {
  node(3).is_up = true;
  EXPECT_TRUE(has(refusal(), "these nodes run: 10.0.0.3:6379"));
  EXPECT_FALSE(cluster_.records.has("register"));
  EXPECT_TRUE(cluster_.records.has(live_key(FakeCluster::id(1))));
}

TEST_F(AcceptTest, ANodeThatWantsAPasswordRuns) {
  node(3).fault = Code::denied;
  args_.ignores_silent = true;
  EXPECT_TRUE(has(refusal(), "these nodes run: 10.0.0.3:6379"));
}

TEST_F(AcceptTest, ASilentNodeMayRun) {
  node(2).fault = Code::busy;
  EXPECT_TRUE(has(refusal(), "do not respond, so they may run: 10.0.0.2:6379"));
  EXPECT_FALSE(cluster_.records.has("register"));
  args_.ignores_silent = true;
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(cluster_.records.has("register"));
}

TEST_F(AcceptTest, ItAsksFirst) {
  cluster_.session.is_sure = false;
  cluster_.talk.says_yes = false;
  EXPECT_TRUE(has(refusal(), "nothing was changed"));
  EXPECT_FALSE(cluster_.records.has("register"));
}

TEST_F(AcceptTest, RestoredRecordsOfProcessesAreForgotten) {
  ASSERT_EQ(refusal(), "");
  EXPECT_TRUE(cluster_.records.view().lives().empty());
  EXPECT_EQ(cluster_.records.view().nodes().size(), 4u);
}

// One that the snapshot does not name may have led since.
TEST_F(AcceptTest, AllNodesOfAShardAreNamedSoThatRecoveryWaitsForThem) {
  const ClusterView before = cluster_.records.view();
  for (ClusterShard shard : before.shards()) {
    shard.record.insync.clear();
    cluster_.records.put(shard_key(shard.id), to_text(shard.record));
  }
  ASSERT_EQ(refusal(), "");
  const ClusterView after = cluster_.records.view();
  for (const ClusterShard& shard : after.shards()) {
    ASSERT_EQ(after.members(shard).size(), 2u);
    ASSERT_EQ(shard.record.insync.size(), 1u);
    EXPECT_NE(shard.record.insync[0].node, shard.record.primary.node);
    EXPECT_EQ(shard.record.insync[0].incarnation, std::string(16, '0'));
    EXPECT_EQ(shard.record.epoch, before.shard(shard.id)->record.epoch);
    EXPECT_EQ(shard.record.primary, before.shard(shard.id)->record.primary);
  }
}

TEST_F(AcceptTest, EachAcceptanceIsLaterThanTheOneBefore) {
  const RegisterRecord before{5, 1, cluster_.clock.now() + Millis(3'600'000)};
  cluster_.records.put("register", to_text(before));
  ASSERT_EQ(refusal(), "");
  EXPECT_EQ(record().accepted, before.accepted + Millis(1));
  EXPECT_EQ(record().id, 77u);
}

TEST_F(AcceptTest, AnEmptyEtcdIsNotAccepted) {
  cluster_.records.entries.clear();
  EXPECT_TRUE(has(refusal(), "there is no cluster 'main'"));
}

}  // namespace
}  // namespace mayfly
