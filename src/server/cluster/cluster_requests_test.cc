// SPDX-License-Identifier: Apache-2.0
// Requests about all keys, at a server that has keys of slots that have moved away and at a node of
// no shard; and requests for the expiry log.

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace cluster_requests_test {

using namespace std::chrono_literals;

class ClusterRequestsTest : public ClusterNodesFixture {};

TEST_F(ClusterRequestsTest, AReplicaShowsNoKeysOfSlotsThatHaveMovedAway) {
  start_shard(2);
  ask(0, "SET a 1");
  ask(0, "SET b 1");
  run(100ms);
  servers_->set_stopped(0, true);
  take_slots(SlotSet({{15000, 16383}}));
  run(50ms);
  EXPECT_EQ(servers_->run(1, "DBSIZE"), "") << "it waits for the primary";
  TestClient third(servers_->server(1), "127.0.0.1:9001");
  EXPECT_EQ(third.run("CLUSTER COUNTKEYSINSLOT 15495"), "(integer) 0");
  EXPECT_EQ(third.run("CLUSTER GETKEYSINSLOT 15495 10"), "[]");
  TestClient other(servers_->server(1), "127.0.0.1:9000");
  EXPECT_EQ(other.run("RANDOMKEY"), "");
  servers_->set_stopped(0, false);
  run(100ms);
  EXPECT_EQ(servers_->client(1).resume(), ":1\r\n");
  EXPECT_EQ(other.resume(), "$1\r\nb\r\n");
}

TEST_F(ClusterRequestsTest, AReplicaDoesNotWaitForeverToHideKeys) {
  start_shard(2);
  ask(0, "SET a 1");
  run(100ms);
  servers_->set_stopped(0, true);
  take_slots(SlotSet({{15000, 16383}}));
  run(50ms);
  records_.is_down = true;  // so it cannot take over
  EXPECT_EQ(servers_->run(1, "KEYS *"), "");
  run(6s);
  EXPECT_EQ(servers_->client(1).resume(),
            "-TRYAGAIN Keys of slots that have moved are not all removed or merged yet\r\n");
  records_.is_down = false;
  run(3s);
  ASSERT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "KEYS *"), "[]");
}

// As `mayfly cluster add` says: FLUSHALL empties it. redis-cli --cluster add-node sends functions.
TEST_F(ClusterRequestsTest, ANodeOfNoShardTakesWritesWithoutKeys) {
  start(1);
  EXPECT_EQ(ask(0, "FLUSHALL"), "OK");
  EXPECT_EQ(ask(0, "FUNCTION FLUSH"), "OK");
  EXPECT_EQ(ask(0, "SET a 1"), "(error) CLUSTERDOWN Hash slot not served");
  EXPECT_EQ(ask(0, "EVAL return(redis.call('set','a',1)) 0").substr(0, 16), "(error) READONLY");
  EXPECT_FALSE(servers_->client(0).link().closing());
}

TEST_F(ClusterRequestsTest, AReplicaTakesNoWritesWithoutKeys) {
  start_shard(2);
  EXPECT_EQ(ask(1, "FLUSHALL"), "(error) READONLY You can't write against a read only replica.");
}

// Before it has read the records it may belong to a shard that needs its data.
TEST_F(ClusterRequestsTest, ANodeThatHasNotReadTheRecordsTakesNoWrites) {
  records_.is_down = true;
  start(1);
  EXPECT_EQ(servers_->run(0, "FLUSHALL"),
            "(error) READONLY You can't write against a read only replica.");
}

// It would go on where it left off, without the data that it has lost meanwhile.
TEST_F(ClusterRequestsTest, AFormerReplicaThatWasEmptiedGetsAllDataWhenItComesBack) {
  start_shard(2);
  ask(0, "SET a 1");
  run(100ms);
  EXPECT_EQ(ask(1, "CLUSTER RESET"), "OK");
  run(2s);
  ASSERT_EQ(parts(1).cluster.node().machine(), nullptr);
  EXPECT_EQ(ask(1, "FLUSHALL"), "OK");
  EXPECT_EQ(parts(1).keyspace[0].stored(), 0u);
  EXPECT_EQ(ask(1, "CLUSTER REPLICATE " + id(0)), "OK");
  run(3s);
  EXPECT_EQ(record().insync.size(), 1u);
  EXPECT_EQ(servers_->digest(0), servers_->digest(1));
  EXPECT_EQ(parts(1).keyspace[0].stored(), 1u);
}

TEST_F(ClusterRequestsTest, AScriptThatIsNotForClustersIsRefused) {
  start_shard(1);
  TestClient& client = servers_->client(0);
  EXPECT_EQ(client.run({"EVAL", "#!lua flags=no-cluster\nreturn 1", "0"}),
            "(error) ERR Can not run script on cluster, 'no-cluster' flag is set.");
  EXPECT_EQ(client.run({"EVAL", "#!lua\nreturn 1", "0"}), "(integer) 1");
}

// Each primary has a log of its own: requests for it go to no slot.
TEST_F(ClusterRequestsTest, EachPrimaryAnswersForItsOwnExpiryLog) {
  Config logs = config();
  logs.expiry_log = true;
  start(2, logs);
  ask(0, "CLUSTER ADDSLOTSRANGE 0 8000");
  ask(1, "CLUSTER ADDSLOTSRANGE 8001 16383");
  run(500ms);
  EXPECT_EQ(ask(0, "SET b 1 PX 10"), "OK");
  EXPECT_EQ(ask(1, "SET a 1 PX 10"), "OK");
  run(500ms);
  for (const int node : {0, 1}) {
    EXPECT_EQ(ask(node, "GET " + std::string(node == 0 ? "b" : "a")), "(nil)");
    EXPECT_EQ(ask(node, "XLEN __expired__"), "(integer) 1");
    EXPECT_EQ(ask(node, "XGROUP CREATE __expired__ g 0"), "OK");
    const std::string read = ask(node, "XREADGROUP GROUP g me STREAMS __expired__ >");
    EXPECT_NE(read.find(node == 0 ? "\"b\"" : "\"a\""), read.npos) << read;
    EXPECT_EQ(ask(node, "XACK __expired__ g 1-1"), "(integer) 0");
    EXPECT_TRUE(ask(node, "XREAD STREAMS __expired__ 0").starts_with("["));
    EXPECT_TRUE(ask(node, "DEL __expired__").starts_with("(error) "));
  }
  ask(0, "MULTI");
  EXPECT_EQ(ask(0, "XLEN __expired__"), "QUEUED");
  EXPECT_EQ(ask(0, "SET b 2"), "QUEUED");
  EXPECT_EQ(ask(0, "EXEC"), "[(integer) 1, OK]");
}

}  // namespace cluster_requests_test
}  // namespace mayfly
