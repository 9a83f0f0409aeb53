// SPDX-License-Identifier: Apache-2.0
// Requests about all keys: at a server that has keys of slots that have moved away, and at a node of
// no shard.

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
            "-TRYAGAIN Keys of slots that have moved away are not removed yet\r\n");
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

}  // namespace cluster_requests_test
}  // namespace mayfly
