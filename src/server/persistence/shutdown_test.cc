// SPDX-License-Identifier: Apache-2.0
// SHUTDOWN waits for replicas, as long as it may.

#include "server/persistence/shutdown.h"

#include <gtest/gtest.h>

#include "server/core/pauses.h"
#include "server/core/server_call.h"
#include "server/persistence/persistence.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace shutdown_test {

class ShutdownTest : public testing::Test {
 protected:
  ShutdownTest() {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(cluster_.server(i).parts().persistence.start());
    cluster_.follow(1, 0);
    EXPECT_TRUE(cluster_.run_until_quiet());
  }

  bool is_down() { return cluster_[0].is_shut_down; }

  // The primary alone: what it sends does not arrive.
  void turn_of_primary() {
    cluster_.server(0).begin_turn();
    cluster_.server(0).before_sleep();
  }

  ClusterFixture cluster_{2};
};

TEST_F(ShutdownTest, ItEndsWhenTheReplicaHasEverything) {
  cluster_.run(0, "SET k v");
  EXPECT_EQ(cluster_.run(0, "SHUTDOWN"), "");
  EXPECT_FALSE(is_down());
  turn_of_primary();
  EXPECT_FALSE(is_down());
  for (int i = 0; i < 10 && !is_down(); ++i) cluster_.turn();
  EXPECT_TRUE(is_down());
  EXPECT_EQ(cluster_.run(1, "GET k"), "\"v\"");
}

TEST_F(ShutdownTest, NowDoesNotWait) {
  cluster_.run(0, "SET k v");
  cluster_.run(0, "SHUTDOWN NOW");
  EXPECT_TRUE(is_down());
}

TEST_F(ShutdownTest, ItEndsAtTheTimeoutWhetherTheReplicaHasEverythingOrNot) {
  cluster_.run(0, "SET k v");
  cluster_.run(0, "SHUTDOWN");
  cluster_.advance(Millis(9'999));
  turn_of_primary();
  EXPECT_FALSE(is_down());
  cluster_.advance(Millis(1));
  turn_of_primary();
  EXPECT_TRUE(is_down());
}

TEST_F(ShutdownTest, WritesWaitMeanwhileAndAfterAnAbortTheyGoOn) {
  cluster_.run(0, "SET k v");
  cluster_.run(0, "SHUTDOWN");
  TestClient& other = cluster_[0].connect("127.0.0.1:5009");
  EXPECT_EQ(other.run("SET k w"), "");
  TestClient& admin = cluster_[0].connect("127.0.0.1:5010");
  EXPECT_EQ(admin.run("SHUTDOWN ABORT"), "OK");
  EXPECT_EQ(cluster_.client(0).messages(), "(error) ERR Errors trying to SHUTDOWN. Check logs.");
  EXPECT_EQ(other.resume(), "+OK\r\n");
  EXPECT_EQ(admin.run("SHUTDOWN ABORT"), "(error) ERR No shutdown in progress.");
  for (int i = 0; i < 10; ++i) cluster_.turn();
  EXPECT_FALSE(is_down());
}

TEST_F(ShutdownTest, IfItCannotSaveTheServerGoesOnAndTheClientHearsOfIt) {
  cluster_.run(0, "SET k v");
  cluster_[0].fake_disk().fail_next(FakeDisk::Op::create);
  EXPECT_EQ(cluster_.run(0, "SHUTDOWN SAVE"), "");
  for (int i = 0; i < 10; ++i) cluster_.turn();
  EXPECT_FALSE(is_down());
  EXPECT_EQ(cluster_.client(0).messages(), "(error) ERR Errors trying to SHUTDOWN. Check logs.");
  EXPECT_FALSE(cluster_.server(0).parts().pauses.any());
}

}  // namespace shutdown_test
}  // namespace mayfly
