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

// The signal is accepted at first, and the save fails later.
TEST_F(ShutdownTest, ASignalThatFailsLaterIsARefusalToo) {
  cluster_.run(0, "SET k v");
  Shutdown& shutdown = cluster_.server(0).parts().persistence.shutdown();
  cluster_[0].fake_disk().fail_next(FakeDisk::Op::create);
  shutdown.take_signal("TERM", {.saves = true});
  EXPECT_TRUE(shutdown.is_waiting());
  for (int i = 0; i < 10; ++i) cluster_.turn();
  EXPECT_FALSE(is_down());
  EXPECT_FALSE(shutdown.is_waiting());
  EXPECT_NE(cluster_[0].lines.back().find("A second signal stops it anyway"), std::string::npos);
  cluster_.run(0, "SET k w");  // the replica has not got it
  shutdown.take_signal("TERM", {.saves = true});
  EXPECT_TRUE(is_down());
}

// The saved offset must be the replicas' offset.
TEST_F(ShutdownTest, NoPingIsSentMeanwhile) {
  turn_of_primary();
  cluster_.run(0, "SET k v");
  const std::uint64_t end = cluster_.server(0).parts().replication.stream().log().end();
  cluster_.run(0, "CONFIG SET shutdown-timeout 100");
  cluster_.run(0, "SHUTDOWN");
  cluster_.server(0).parts().config.repl_ping_replica_period = 1;
  cluster_.advance(Millis(20'000));
  turn_of_primary();
  constexpr std::uint64_t kGetAck = 37;  // REPLCONF GETACK *
  EXPECT_EQ(cluster_.server(0).parts().replication.stream().log().end(), end + kGetAck);
  cluster_.run(0, "SHUTDOWN ABORT");
  turn_of_primary();
  cluster_.advance(Millis(1000));
  turn_of_primary();
  EXPECT_GT(cluster_.server(0).parts().replication.stream().log().end(), end + kGetAck);
}

TEST_F(ShutdownTest, AnotherTimeoutActsAtOnce) {
  cluster_.run(0, "SET k v");
  cluster_.run(0, "CONFIG SET shutdown-timeout 1000");
  cluster_.run(0, "SHUTDOWN");
  TestClient& admin = cluster_[0].connect("127.0.0.1:5010");
  admin.run("CONFIG SET shutdown-timeout 5");
  cluster_.advance(Millis(5000));
  turn_of_primary();
  EXPECT_TRUE(is_down());
}

TEST_F(ShutdownTest, WhoWaitsForItIsShown) {
  cluster_.run(0, "SET k v");
  cluster_.run(0, "SHUTDOWN");
  cluster_.advance(Millis(2500));
  TestClient& admin = cluster_[0].connect("127.0.0.1:5010");
  EXPECT_NE(admin.send("INFO clients\r\n").find("blocked_clients:1\r"), std::string::npos);
  EXPECT_NE(admin.send("INFO server\r\n").find("shutdown_in_milliseconds:7500\r"),
            std::string::npos);
  EXPECT_NE(admin.send("CLIENT LIST\r\n").find("flags=b "), std::string::npos);
  admin.run("SHUTDOWN ABORT");
  EXPECT_NE(admin.send("INFO clients\r\n").find("blocked_clients:0\r"), std::string::npos);
  EXPECT_EQ(admin.send("INFO server\r\n").find("shutdown_in_milliseconds"), std::string::npos);
  EXPECT_EQ(admin.send("CLIENT LIST\r\n").find("flags=b "), std::string::npos);
}

// ---- A replica with an append-only file ----

class LoggedReplicaTest : public testing::Test {
 protected:
  static Config logged_config() {
    Config config = ClusterFixture::cluster_config();
    config.appendonly = true;
    config.appendfsync = "always";
    return config;
  }

  // Server 1 has old data in its log, and then follows server 0.
  void synchronise() {
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(cluster_.server(i).parts().persistence.start());
    cluster_.run(1, "SET old 1");
    for (int i = 0; i < 500; ++i) cluster_.run(0, "SET key" + std::to_string(i) + " v");
    cluster_.run(0, {"FUNCTION", "LOAD",
                     "#!lua name=lib\nredis.register_function('f', function() return 1 end)"});
    cluster_.turn();
    cluster_[1].holds_children = true;  // its children do not end
    cluster_.follow(1, 0);
    for (int i = 0; i < 100 && !cluster_.is_up(1); ++i) {
      cluster_.turn();
      cluster_.advance(Millis(100));
    }
    ASSERT_TRUE(cluster_.is_up(1));
    cluster_.run(0, "SET after 1");
    for (int i = 0; i < 10; ++i) cluster_.turn();
  }

  // Whether it starts again, from its disk, with what server 0 has.
  void expect_kept() {
    const std::string digest = cluster_.digest(0);
    ServerFixture again(logged_config(), nullptr, &cluster_[1].fake_disk());
    ASSERT_TRUE(again.server().parts().persistence.start());
    again.sweep();
    ASSERT_FALSE(again.server().parts().persistence.fatal());
    const ServerParts& parts = again.server().parts();
    EXPECT_EQ(digest_of(parts.reclaimer.context(), parts.keyspace).text(), digest);
    EXPECT_EQ(again.connect().run("FCALL f 0"), "(integer) 1");
  }

  ClusterFixture cluster_{2, logged_config()};
};

TEST_F(LoggedReplicaTest, TheFileThatItReceivesIsTheBaseOfItsLog) {
  synchronise();
  EXPECT_TRUE(cluster_.server(1).parts().persistence.aof().log()->is_in_force());
  EXPECT_FALSE(cluster_.server(1).parts().background.is_busy()) << "no child is needed";
  cluster_[1].fake_disk().power_cut();  // not even an orderly stop
  expect_kept();
}

TEST_F(LoggedReplicaTest, AStopRightAfterTheSynchronisationLosesNothing) {
  cluster_.server(1).parts().config.aof_use_rdb_preamble = false;  // the file cannot be the base
  synchronise();
  EXPECT_FALSE(cluster_.server(1).parts().persistence.aof().log()->is_in_force());
  cluster_.run(1, "SHUTDOWN NOSAVE");
  EXPECT_TRUE(cluster_[1].is_shut_down);
  expect_kept();
}

TEST_F(LoggedReplicaTest, IfTheFileCannotBeTheBaseAChildWritesOne) {
  // After the first manifest and the file of the role.
  cluster_[1].fake_disk().fail_next(FakeDisk::Op::rename, 1, 2);
  synchronise();
  EXPECT_FALSE(cluster_.server(1).parts().persistence.aof().log()->is_in_force());
  EXPECT_TRUE(cluster_.server(1).parts().background.is_doing(Job::rewrite));
  cluster_[1].holds_children = false;
  for (int i = 0; i < 10; ++i) cluster_.turn();
  EXPECT_TRUE(cluster_.server(1).parts().persistence.aof().log()->is_in_force());
  expect_kept();
}

}  // namespace shutdown_test
}  // namespace mayfly
