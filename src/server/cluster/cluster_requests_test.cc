// SPDX-License-Identifier: Apache-2.0
// Requests about all keys at a server that has keys of slots that have moved away.

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
            "-TRYAGAIN Keys of slots that have moved are not all removed or merged yet\r\n");
  records_.is_down = false;
  run(3s);
  ASSERT_TRUE(serves(1));
  EXPECT_EQ(ask(1, "KEYS *"), "[]");
}

}  // namespace cluster_requests_test
}  // namespace mayfly
