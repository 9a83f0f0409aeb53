// SPDX-License-Identifier: Apache-2.0
// Commands that change the cluster, and wait for the register.

#include "server/cluster/cluster_admin.h"

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace cluster_admin_test {

using namespace std::chrono_literals;

class ClusterAdminTest : public ClusterNodesFixture {};

TEST_F(ClusterAdminTest, MeetWaitsForANodeThatHasJustStarted) {
  start(2, config(), 1);
  EXPECT_EQ(servers_->run(0, "CLUSTER MEET 127.0.0.1 7001"), "");
  run(3s);
  EXPECT_EQ(servers_->client(0).messages(), "");
  begin(1);
  run(300ms);
  EXPECT_EQ(servers_->client(0).messages(), "OK");
  EXPECT_EQ(parse_node_record(*records_.find(node_key(id(1)))->value)->state, NodeState::in);
}

TEST_F(ClusterAdminTest, MeetOfANodeThatDoesNotComeIsRefused) {
  start(1);
  EXPECT_EQ(servers_->run(0, "CLUSTER MEET 127.0.0.1 7001"), "");
  run(11s);
  EXPECT_EQ(servers_->client(0).messages(),
            "(error) ERR no node is registered at 127.0.0.1:7001 (start it with cluster-enabled "
            "yes and the same cluster-etcd and cluster-name)");
}

// Their replies come later, and would be out of order there.
TEST_F(ClusterAdminTest, WhatWaitsForTheRegisterIsNotForTransactionsAndScripts) {
  start_shard(1);
  for (const std::string line : {"MEET 127.0.0.1 7000", "ADDSLOTS 1", "ADDSLOTSRANGE 1 2",
                                 "FORGET x", "REPLICATE x", "RESET", "FAILOVER TAKEOVER",
                                 "MIGRATESLOTS SLOTSRANGE 1 2 NODE x", "CANCELSLOTMIGRATIONS"}) {
    ask(0, "MULTI");
    EXPECT_TRUE(ask(0, "CLUSTER " + line).ends_with("not allowed inside a transaction")) << line;
    EXPECT_TRUE(ask(0, "EXEC").starts_with("(error) EXECABORT"));
    std::string words = "'cluster'";
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words += ",'" + line.substr(at, end - at) + "'";
      at = end + 1;
    }
    EXPECT_NE(ask(0, "EVAL return(redis.call(" + words + ")) 0").find("not allowed from script"),
              std::string::npos)
        << line;
  }
}

TEST_F(ClusterAdminTest, ResetTakesAReplicaOutAndKeepsItRegistered) {
  start_shard(2);
  EXPECT_EQ(ask(1, "CLUSTER RESET"), "OK");
  run(2s);
  const NodeRecord node = *parse_node_record(*records_.find(node_key(id(1)))->value);
  EXPECT_EQ(node.state, NodeState::fresh);
  EXPECT_EQ(node.shard, "");
  EXPECT_EQ(node.port, servers_->port(1));
  EXPECT_TRUE(record().insync.empty());
}

TEST_F(ClusterAdminTest, SlotsDoNotMoveToANodeOfNoShard) {
  start(2);
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  EXPECT_EQ(ask(0, "CLUSTER MEET 127.0.0.1 7001"), "OK");
  EXPECT_EQ(ask(0, "CLUSTER MIGRATESLOTS SLOTSRANGE 1 2 NODE " + id(1)),
            "(error) ERR Target node has no shard yet (mayfly cluster add 127.0.0.1:7001)");
}

// redis-cli --cluster del-node: FORGET at all others, then RESET at the node itself.
TEST_F(ClusterAdminTest, AForgottenNodeThatLivesCanBeResetAndComeBack) {
  start_shard(2);
  EXPECT_EQ(ask(0, "CLUSTER FORGET " + id(1)), "OK");
  EXPECT_EQ(ask(1, "CLUSTER RESET"), "OK");
  run(2s);
  EXPECT_TRUE(record().insync.empty());
  EXPECT_EQ(ask(0, "CLUSTER MEET 127.0.0.1 7001"), "OK");
  EXPECT_EQ(ask(1, "FLUSHALL"), "OK");
  EXPECT_EQ(ask(1, "CLUSTER REPLICATE " + id(0)), "OK");
  run(3s);
  EXPECT_EQ(record().insync.size(), 1u);
}

// As `mayfly cluster remove` does.
TEST_F(ClusterAdminTest, ANodeWhoseRecordIsDeletedRegistersAgain) {
  start(2);
  const std::string key = node_key(id(1));
  records_.apply({{{key, records_.find(key)->version}}, {{key, std::nullopt}}});
  run(300ms);
  ASSERT_TRUE(records_.find(key) && records_.find(key)->value);
  EXPECT_EQ(parse_node_record(*records_.find(key)->value)->state, NodeState::fresh);
  EXPECT_EQ(ask(0, "CLUSTER MEET 127.0.0.1 7001"), "OK");
}

TEST_F(ClusterAdminTest, WhatANodeAnnouncesChangesWithItsConfiguration) {
  start_shard(2);
  EXPECT_EQ(ask(0, "CONFIG SET cluster-announce-ip 10.0.0.9"), "OK");
  EXPECT_EQ(ask(0, "CONFIG SET cluster-announce-hostname one.example"), "OK");
  run(300ms);
  const auto node = [this] { return *parse_node_record(*records_.find(node_key(id(0)))->value); };
  EXPECT_EQ(node().host, "10.0.0.9");
  EXPECT_EQ(node().hostname, "one.example");
  EXPECT_EQ(node().shard, "a") << "the rest stays";
  EXPECT_EQ(ask(0, "CONFIG SET cluster-announce-ip 127.0.0.1"), "OK");
  run(3s);
  EXPECT_EQ(node().host, "127.0.0.1");
  EXPECT_EQ(record().insync.size(), 1u);
}

TEST_F(ClusterAdminTest, ResetOfAPrimaryWithKeysOrSlotsIsRefused) {
  start_shard(1);
  ask(0, "SET a 1");
  EXPECT_EQ(ask(0, "CLUSTER RESET HARD"),
            "(error) ERR CLUSTER RESET can't be called with master nodes containing keys");
  ask(0, "DEL a");
  EXPECT_EQ(ask(0, "CLUSTER RESET HARD"),
            "(error) ERR this node leads shard a, which has 16384 slots (move them first: mayfly "
            "cluster reshard)");
  EXPECT_EQ(ask(0, "CLUSTER RESET NOW"), "(error) ERR syntax error");
  EXPECT_TRUE(serves(0));
}

}  // namespace cluster_admin_test
}  // namespace mayfly
