// SPDX-License-Identifier: Apache-2.0
// Clients that wait for keys while the server is paused, refuses writes, loads data, or changes its
// role; and what replicas and the append-only file get.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/blocking/blocked_clients.h"
#include "server/blocking/key_waiters.h"
#include "server/core/clients.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence_fixture.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace blocked_states_test {

using namespace std::chrono_literals;

constexpr std::string_view kRoleChanged =
    "(error) UNBLOCKED force unblock from blocking operation, instance state changed "
    "(master -> replica?)";

bool is_waiting(TestClient& client) { return client.client().blocked.has_value(); }

class BlockedStatesTest : public testing::Test, public ServerFixture {
 protected:
  TestClient& writer = connect("127.0.0.1:5001");
  TestClient& a = connect("127.0.0.1:5002");
  TestClient& b = connect("127.0.0.1:5003");

  Millis turn() {
    server().begin_turn();
    return server().before_sleep();
  }
  void transact(std::initializer_list<std::string> requests) {
    writer.run("MULTI");
    for (const std::string& request : requests) writer.run(request);
    writer.run("EXEC");
  }
};

// ---- Pauses ----

TEST_F(BlockedStatesTest, NobodyIsServedDuringAPause) {
  a.run("BZPOPMIN z 0");
  transact({"ZADD z 1 x", "CLIENT PAUSE 100 WRITE"});
  turn();
  EXPECT_EQ(a.messages(), "");
  EXPECT_EQ(writer.run("ZCARD z"), "(integer) 1");
  advance(100ms);
  turn();
  EXPECT_EQ(a.messages(), R"(["z", "x", "1"])");
}

TEST_F(BlockedStatesTest, TheEndOfAPauseServesThoseWhoCameFirst) {
  a.run("BZPOPMIN z 0");
  transact({"ZADD z 1 x", "CLIENT PAUSE 100 WRITE"});
  advance(100ms);
  EXPECT_EQ(b.run("BZPOPMIN z 0"), "");
  EXPECT_EQ(a.messages(), R"(["z", "x", "1"])");
  EXPECT_TRUE(is_waiting(b));
  transact({"ZADD z 1 x", "CLIENT PAUSE 100 ALL"});
  EXPECT_TRUE(is_waiting(b));
  writer.run("CLIENT UNPAUSE");
  EXPECT_EQ(b.messages(), R"(["z", "x", "1"])");
}

TEST_F(BlockedStatesTest, AWaitEndsOnTimeDuringAPause) {
  a.run("BZPOPMIN z 1");
  transact({"ZADD z 1 x", "CLIENT PAUSE 100000 ALL"});
  advance(1s);
  turn();
  EXPECT_EQ(a.messages(), "(nil)");
  writer.run("CLIENT UNPAUSE");
  EXPECT_EQ(writer.run("ZCARD z"), "(integer) 1");
}

// ---- Refused writes ----

TEST_F(BlockedStatesTest, AWokenRequestIsRefusedAsANewOneWouldBe) {
  a.run("BZPOPMIN z 0");
  transact({"ZADD z 1 x", "CONFIG SET min-replicas-to-write 1"});
  EXPECT_EQ(a.messages(), "(error) NOREPLICAS Not enough good replicas to write.");
  EXPECT_FALSE(is_waiting(a));
  EXPECT_EQ(writer.run("ZCARD z"), "(integer) 1");
}

TEST_F(BlockedStatesTest, ARefusalFollowsTheModeOfReplies) {
  a.send("CLIENT REPLY SKIP\r\nBZPOPMIN z 0\r\n");
  transact({"ZADD z 1 x", "CONFIG SET min-replicas-to-write 1"});
  EXPECT_EQ(a.messages(), "");
  EXPECT_EQ(a.run("PING"), "PONG");
}

TEST_F(BlockedStatesTest, TakingAnElementNeedsNoMemory) {
  a.run("BZPOPMIN z 0");
  transact({"ZADD z 1 x", "CONFIG SET maxmemory 1"});
  EXPECT_EQ(a.messages(), R"(["z", "x", "1"])");
}

TEST_F(BlockedStatesTest, AWaitingRequestCountsTowardsTheMemoryOfItsClient) {
  const std::string key(300'000, 'k');
  writer.run("CONFIG SET maxmemory-clients 200kb");
  a.run({"BZPOPMIN", key, "0"});
  EXPECT_TRUE(is_waiting(a));
  turn();
  EXPECT_FALSE(a.is_connected());
  writer.run({"ZADD", key, "1", "x"});
  EXPECT_EQ(writer.run({"ZCARD", key}), "(integer) 1");
}

TEST_F(BlockedStatesTest, AWaitIsNotIdle) {
  writer.run("CONFIG SET timeout 1");
  a.run("BZPOPMIN z 5");
  advance(4s);
  turn();
  EXPECT_TRUE(a.is_connected());
  advance(1s);
  turn();
  EXPECT_EQ(a.messages(), "(nil)");
  EXPECT_TRUE(a.is_connected());
}

// ---- Data that is loaded ----

class HeldTask final : public LoadTask {
 public:
  explicit HeldTask(const bool& is_held) : is_held_(is_held) {}
  Result<bool> step(std::size_t) override { return !is_held_; }
  std::uint64_t offset() const override { return 0; }
  std::uint64_t total() const override { return 0; }

 private:
  const bool& is_held_;
};

TEST_F(BlockedStatesTest, NobodyIsServedWhileDataIsLoaded) {
  bool is_held = true;
  a.run("BZPOPMIN z 0");
  b.run("BZPOPMIN z 1");
  writer.run("MULTI");
  writer.run("ZADD z 1 x");
  server().parts().loading.begin(std::make_unique<HeldTask>(is_held), wall().now(),
                                 [](const Status&) {});
  server().parts().key_waiters.key_changed(0, "z");
  advance(1s);
  turn();
  EXPECT_TRUE(is_waiting(a));
  EXPECT_EQ(b.messages(), "(nil)");
  is_held = false;
  turn();
  EXPECT_TRUE(is_waiting(a)) << "there is nothing";
  writer.run("EXEC");
  EXPECT_EQ(a.messages(), R"(["z", "x", "1"])");
}

// ---- Files ----

class BlockedAofTest : public RestartFixture {};

TEST_F(BlockedAofTest, TheAppendOnlyFileHasWhatWasTaken) {
  ASSERT_EQ(start(config_with(true)), "");
  TestClient& a = fixture_->connect();
  a.run("BZPOPMIN z 0");
  EXPECT_EQ(run("ZADD z 1 x 2 y"), "(integer) 2");
  EXPECT_EQ(a.messages(), R"(["z", "x", "1"])");
  ASSERT_EQ(restart(config_with(true)), "");
  EXPECT_EQ(client_->run("ZCARD z"), "(integer) 1");
}

// ---- Roles ----

TEST_F(BlockedStatesTest, AChangeOfTheRoleEndsAllWaits) {
  a.run("BZPOPMIN z 0");
  b.run("WAIT 1 0");
  writer.run("REPLICAOF 127.0.0.1 1");
  EXPECT_EQ(a.messages(), kRoleChanged);
  EXPECT_EQ(b.messages(), kRoleChanged);
  EXPECT_FALSE(a.is_connected());
  EXPECT_FALSE(b.is_connected());
  EXPECT_EQ(connect().run("BZPOPMIN z 0"),
            "(error) READONLY You can't write against a read only replica.");
}

class BlockedReplicaTest : public testing::Test {
 protected:
  BlockedReplicaTest() {
    cluster.follow(1, 0);
    EXPECT_TRUE(cluster.run_until_quiet());
  }
  ClusterFixture cluster{2};
};

TEST_F(BlockedReplicaTest, AReplicaHasWhatItsPrimaryHas) {
  TestClient a(cluster.server(0), "127.0.0.1:6000");
  TestClient b(cluster.server(0), "127.0.0.1:6001");
  a.run("BZPOPMIN x y 0");
  b.run("BZPOPMAX y 0");
  cluster.run(0, "ZADD y 1 one 2 two 3 three");
  EXPECT_EQ(a.messages(), R"(["y", "one", "1"])");
  EXPECT_EQ(b.messages(), R"(["y", "three", "3"])");
  EXPECT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(cluster.run(1, "ZCARD y"), "(integer) 1");
  EXPECT_EQ(cluster.digest(0), cluster.digest(1));
}

TEST_F(BlockedReplicaTest, AServedClientCanWaitForReplicas) {
  TestClient a(cluster.server(0), "127.0.0.1:6000");
  a.send("BZPOPMIN z 0\r\nWAIT 1 0\r\n");
  cluster.run(0, "ZADD z 1 m");
  a.messages();
  a.resume();
  EXPECT_TRUE(is_waiting(a)) << "for the replica to have what it took";
  EXPECT_TRUE(cluster.run_until_quiet());
  cluster.turn();
  EXPECT_EQ(a.messages(), "(integer) 1");
}

TEST_F(BlockedReplicaTest, ClientsOfAWritableReplicaAreServedByItsPrimary) {
  cluster.run(1, "CONFIG SET replica-read-only no");
  TestClient a(cluster.server(1), "127.0.0.1:6000");
  a.run("BZPOPMIN z 0");
  EXPECT_TRUE(is_waiting(a));
  cluster.run(0, "ZADD z 1 m");
  EXPECT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
}

TEST_F(BlockedReplicaTest, ClientsOfAWritableReplicaAreServedAfterAFullSynchronisation) {
  cluster.run(1, "CONFIG SET replica-read-only no");
  TestClient a(cluster.server(1), "127.0.0.1:6000");
  a.run("BZPOPMIN z 0");
  cluster.set_reachable(0, false);
  cluster.cut(1);
  cluster.turn();
  cluster.run(0, "ZADD z 1 m");
  cluster.server(0).parts().replication.stream().start_new_id();
  cluster.server(0).parts().replication.stream().start_new_id();
  cluster.set_reachable(0, true);
  EXPECT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(a.messages(), R"(["z", "m", "1"])");
}

TEST_F(BlockedReplicaTest, AFailoverEndsAllWaits) {
  TestClient a(cluster.server(0), "127.0.0.1:6000");
  a.run("BZPOPMIN z 0");
  EXPECT_EQ(cluster.run(0, "FAILOVER"), "OK");
  EXPECT_TRUE(is_waiting(a));
  EXPECT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(a.messages(), kRoleChanged);
}

}  // namespace blocked_states_test
}  // namespace mayfly
