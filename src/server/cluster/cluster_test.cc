// SPDX-License-Identifier: Apache-2.0
// A node as its clients see it, and a shard that loses a server or the register.

#include "server/cluster/cluster.h"

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"
#include "server/cluster/cluster_replies.h"
#include "server/http/console_commands.h"
#include "server/http/readiness.h"

namespace mayfly {
namespace cluster_test {

using namespace std::chrono_literals;

class ClusterTest : public ClusterNodesFixture {};

TEST_F(ClusterTest, ANodeAnswersForItsSlotsAndNamesTheOwnerOfOthers) {
  start(2);
  EXPECT_EQ(ask(0, "GET a"), "(error) CLUSTERDOWN Hash slot not served");
  EXPECT_EQ(ask(0, "CLUSTER ADDSLOTSRANGE 0 8000"), "OK");
  EXPECT_EQ(ask(1, "CLUSTER ADDSLOTSRANGE 8001 16383"), "OK");
  EXPECT_EQ(ask(0, "CLUSTER MEET 127.0.0.1 7001"), "OK");
  run(100ms);
  EXPECT_EQ(ask(1, "SET a 1"), "OK");
  EXPECT_EQ(ask(0, "SET a 1"), moved(15495, 1));
  EXPECT_EQ(ask(0, "SET b 1"), "OK");
  EXPECT_EQ(ask(1, "GET b"), moved(3300, 0));
  EXPECT_EQ(ask(0, "MGET a b"), "(error) CROSSSLOT Keys in request don't hash to the same slot");
  EXPECT_EQ(ask(0, "PING"), "PONG");
  EXPECT_EQ(ask(1, "CLUSTER ADDSLOTS 5"), "(error) ERR Slot 5 is already busy");
}

TEST_F(ClusterTest, ATransactionHasOneSlot) {
  start_shard(1);
  ask(0, "MULTI");
  EXPECT_EQ(ask(0, "SET {x}1 1"), "QUEUED");
  EXPECT_EQ(ask(0, "SET {x}2 1"), "QUEUED");
  EXPECT_EQ(ask(0, "EXEC"), "[OK, OK]");
  ask(0, "MULTI");
  ask(0, "SET a 1");
  ask(0, "SET b 1");
  EXPECT_EQ(ask(0, "EXEC"), "(error) CROSSSLOT Keys in request don't hash to the same slot");
  EXPECT_EQ(ask(0, "GET a"), "(nil)");
}

TEST_F(ClusterTest, WhatIsAboutOtherDatabasesOrServersIsRefused) {
  start_shard(1);
  EXPECT_EQ(ask(0, "SELECT 1"), "(error) ERR SELECT is not allowed in cluster mode");
  EXPECT_EQ(ask(0, "SELECT 0"), "OK");
  for (const std::string line : {"SWAPDB 0 1", "MOVE a 1", "REPLICAOF NO ONE", "FAILOVER"}) {
    EXPECT_TRUE(ask(0, line).ends_with("is not allowed in cluster mode")) << line;
  }
  EXPECT_EQ(ask(0, "SORT l BY w_*"), "(error) ERR BY option of SORT denied in cluster mode");
  EXPECT_EQ(ask(0, "COPY {t}a {t}b REPLACE DB 1"),
            "(error) ERR Copying to another database is not allowed in cluster mode");
  EXPECT_EQ(ask(0, "COPY {t}a {t}b DB 0"), "(integer) 0");
  const std::string script = "EVAL return(redis.call('move','{t}a','1')) 1 {t}a";
  EXPECT_NE(ask(0, script).find("MOVE is not allowed in cluster mode"), std::string::npos);
}

TEST_F(ClusterTest, AReplicaSendsClientsToItsPrimaryUnlessTheyReadOnly) {
  start_shard(2);
  ask(0, "SET a 1");
  run(100ms);
  EXPECT_EQ(ask(1, "GET a"), moved(15495, 0));
  EXPECT_EQ(ask(1, "READONLY"), "OK");
  EXPECT_EQ(ask(1, "GET a"), "\"1\"");
  EXPECT_EQ(ask(1, "SET a 2"), moved(15495, 0));
  EXPECT_EQ(ask(1, "READWRITE"), "OK");
  EXPECT_EQ(ask(1, "GET a"), moved(15495, 0));
}

TEST_F(ClusterTest, AReplicaTakesOverFromASilentPrimaryAndHasItsData) {
  start_shard(3);
  ask(0, "SET a 1");
  run(100ms);
  servers_->set_stopped(0, true);
  run(4s);
  ASSERT_EQ(record().epoch, 2u);
  const int successor = serves(1) ? 1 : 2;
  ASSERT_TRUE(serves(successor));
  EXPECT_EQ(ask(successor, "GET a"), "\"1\"");
  EXPECT_EQ(ask(successor, "SET a 2"), "OK");
}

// Its record names the process that it was before it started again; a replica has yet to take over.
TEST_F(ClusterTest, APrimaryThatStartedAgainDoesNotFollowItself) {
  start_shard(2);
  servers_->set_stopped(1, true);
  const std::string key = shard_key("a");
  ShardRecord former = record();
  former.primary.incarnation = std::string(16, 'e');
  records_.apply({{{key, records_.find(key)->version}}, {{key, to_text(former)}}});
  run(500ms);
  EXPECT_EQ(parts(0).replication.primary(), nullptr);
  EXPECT_TRUE(parts(0).replication.is_replica());
  EXPECT_FALSE(parts(0).cluster.is_ok());
  EXPECT_EQ(ask(0, "SET a 1"), "(error) CLUSTERDOWN The cluster is down");
  servers_->set_stopped(1, false);
  run(4s);
  EXPECT_TRUE(serves(1));
  EXPECT_EQ(record().insync.size(), 1u) << "it follows its successor";
}

TEST_F(ClusterTest, AServerThatWasReplacedAnswersNothing) {
  start_shard(2);
  EXPECT_EQ(ask(0, "SET a 1"), "OK");
  run(kStep);  // its reply leaves
  servers_->set_stopped(0, true);
  run(4s);
  ASSERT_TRUE(serves(1));
  // Not one turn has gone by since it was stopped: it must look at the clock by itself.
  EXPECT_EQ(servers_->run(0, "SET a 2"), "(error) CLUSTERDOWN The cluster is down");
  EXPECT_EQ(servers_->run(0, "GET a"), "(error) CLUSTERDOWN The cluster is down");
  servers_->set_stopped(0, false);
  run(2s);
  EXPECT_EQ(ask(0, "SET a 2"), moved(15495, 1));
  EXPECT_EQ(record().insync.size(), 1u) << "it follows now";
}

TEST_F(ClusterTest, AWriteWhoseReplyWouldLeaveTooLateIsNotAnswered) {
  start_shard(2);
  TestClient client(servers_->server(0), "127.0.0.1:9000");
  arrive(client.link(), &client.client(), "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n2\r\n");
  servers_->advance(3s);  // the turn takes that long
  servers_->server(0).before_sleep();
  EXPECT_TRUE(client.link().closing());
}

TEST_F(ClusterTest, AFencedPrimaryExpiresNothing) {
  start_shard(2);
  ask(0, "SET a 1 PX 2500");
  servers_->set_stopped(1, true);
  records_.is_down = true;  // so the replica cannot be taken out
  run(5s);
  EXPECT_FALSE(serves(0));
  EXPECT_EQ(parts(0).keyspace[0].stored(), 1u);
  records_.is_down = false;
  run(3s);
  EXPECT_TRUE(serves(0)) << "the replica is out of the set";
  EXPECT_EQ(parts(0).keyspace[0].stored(), 0u);
}

TEST_F(ClusterTest, AFencedPrimaryAnswersOnlyThoseWhoAcceptOldData) {
  Config reads = config();
  reads.cluster_allow_reads_when_down = true;
  start_shard(2, reads);
  ask(0, "SET a 1");
  run(kStep);
  servers_->set_stopped(1, true);
  records_.is_down = true;
  run(4s);
  EXPECT_EQ(servers_->run(0, "GET a"), "(error) CLUSTERDOWN The cluster is down");
  servers_->run(0, "READONLY");
  EXPECT_EQ(servers_->run(0, "GET a"), "\"1\"");
  EXPECT_EQ(servers_->run(0, "SET a 2"), "(error) CLUSTERDOWN The cluster is down");
}

TEST_F(ClusterTest, WithoutTheRegisterAHealthyShardGoesOn) {
  start_shard(2);
  records_.is_down = true;
  for (int i = 0; i < 60; ++i) {
    run(1s);
    ASSERT_EQ(servers_->run(0, "INCR n"), "(integer) " + std::to_string(i + 1));
  }
}

TEST_F(ClusterTest, WaitCountsAReplicaOnlyWhenAllOfTheSetHaveTheWrite) {
  start_shard(3);
  servers_->set_stopped(2, true);
  servers_->run(0, "SET a 1");
  EXPECT_EQ(servers_->run(0, "WAIT 1 100"), "");
  run(50ms);
  EXPECT_EQ(servers_->client(0).messages(), "") << "one of two has it";
  run(100ms);
  EXPECT_EQ(servers_->client(0).messages(), "(integer) 0");
  servers_->set_stopped(2, false);
  run(200ms);
  EXPECT_EQ(servers_->run(0, "WAIT 2 100"), "(integer) 2");
}

TEST_F(ClusterTest, WaitAofCountsAReplicaOnlyWhenAllOfTheSetHaveTheWrite) {
  Config with = config();
  with.appendonly = true;
  start_shard(3, with);
  servers_->set_stopped(2, true);
  records_.is_down = true;  // so that it cannot be taken out of the set
  ask(0, "SET a 1");
  EXPECT_EQ(servers_->run(0, "WAITAOF 0 1 0"), "");
  run(1500ms);
  EXPECT_EQ(servers_->client(0).messages(), "") << "one of the set has not got it";
  records_.is_down = false;
  servers_->set_stopped(2, false);
  run(3s);
  EXPECT_NE(servers_->client(0).messages(), "");
}

TEST_F(ClusterTest, MinReplicasToWriteCountsTheInSyncSet) {
  Config careful = config();
  careful.min_replicas_to_write = 1;
  start_shard(2, careful);
  EXPECT_EQ(ask(0, "SET a 1"), "OK");
  servers_->set_stopped(1, true);
  run(3s);
  ASSERT_TRUE(serves(0)) << "the replica is out of the set";
  EXPECT_EQ(ask(0, "SET a 2"), "(error) NOREPLICAS Not enough good replicas to write.");
  EXPECT_EQ(ask(0, "GET a"), "\"1\"");
}

TEST_F(ClusterTest, InSyncRepliesWaitForTheReplicas) {
  Config in_sync = config();
  in_sync.cluster_replies = "in-sync";
  start_shard(2, in_sync);
  run(200ms);
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  EXPECT_EQ(other.run("GET a"), "") << "nobody may see it yet";
  EXPECT_EQ(servers_->run(0, "PING"), "") << "replies stay in order";
  TestClient third(servers_->server(0), "127.0.0.1:9001");
  EXPECT_EQ(third.run("GET b"), "(nil)") << "another slot";
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(servers_->client(0).messages(), "OK PONG");
  EXPECT_EQ(other.messages(), "\"1\"");
}

TEST_F(ClusterTest, APlannedFailoverLosesNothingAndTakesLittleTime) {
  start_shard(3);
  ask(0, "SET a 1");
  EXPECT_EQ(ask(1, "CLUSTER FAILOVER"), "OK");
  run(100ms);
  EXPECT_TRUE(serves(1));
  EXPECT_FALSE(serves(0));
  EXPECT_EQ(ask(1, "GET a"), "\"1\"");
  EXPECT_EQ(ask(0, "SET a 2"), moved(15495, 1));
  run(3s);
  EXPECT_EQ(record().insync.size(), 2u);
  EXPECT_EQ(servers_->digest(0), servers_->digest(1));
}

TEST_F(ClusterTest, APrimaryThatShutsDownHandsOverAndLeavesTheSet) {
  start_shard(2);
  ask(0, "SET a 1");
  parts(0).replication.cluster()->leave();
  run(1s);
  EXPECT_TRUE(parts(0).replication.cluster()->has_left());
  EXPECT_TRUE(serves(1));
  EXPECT_TRUE(record().insync.empty());
  EXPECT_EQ(ask(1, "GET a"), "\"1\"");
}

TEST_F(ClusterTest, AnotherShutdownTimeoutActsOnANodeThatIsLeaving) {
  start_shard(3);
  servers_->set_stopped(0, true);  // so that the replica cannot leave at once
  ClusterRole& node = *parts(1).replication.cluster();
  std::int64_t& timeout = parts(1).config.shutdown_timeout;
  timeout = 1;
  node.leave();
  timeout = 1000;
  run(1100ms);
  EXPECT_FALSE(node.has_left());
  timeout = 1;
  EXPECT_TRUE(node.has_left());
}

// A log that has no base yet would be ignored at the start.
TEST_F(ClusterTest, ALogWithoutABaseKeepsNoData) {
  start_shard(1);
  (*servers_)[0].holds_children = true;
  EXPECT_EQ(ask(0, "CONFIG SET appendonly yes"), "OK");
  run(100ms);
  EXPECT_NE(ask(0, "CLUSTER INFO").find("cluster_keeps_data:0"), std::string::npos);
  (*servers_)[0].holds_children = false;
  run(200ms);
  EXPECT_NE(ask(0, "CLUSTER INFO").find("cluster_keeps_data:1"), std::string::npos);
}

TEST_F(ClusterTest, AShutdownThatIsAbortedLeavesTheNodeInTheSet) {
  start_shard(3);
  servers_->set_stopped(0, true);  // so that the replica cannot leave at once
  EXPECT_EQ(servers_->run(1, "SHUTDOWN NOSAVE"), "");
  TestClient other(servers_->server(1), "127.0.0.1:9000");
  EXPECT_EQ(other.run("SHUTDOWN ABORT"), "OK");
  servers_->set_stopped(0, false);
  run(4s);
  EXPECT_EQ(record().insync.size(), 2u);
  servers_->run(1, "SHUTDOWN NOSAVE");
  run(1s);
  EXPECT_EQ(record().insync.size(), 1u) << "the next one leaves it again";
}

TEST_F(ClusterTest, APrimaryWhoseShardIsRemovedServesNoMore) {
  start(2);
  ask(0, "CLUSTER ADDSLOTSRANGE 0 100");
  ask(1, "CLUSTER ADDSLOTSRANGE 101 16383");
  run(1s);
  const std::string key = shard_key("a");
  records_.apply({{{key, records_.find(key)->version}}, {{key, std::nullopt}}});
  run(1s);
  EXPECT_FALSE(serves(0));
  EXPECT_EQ(ask(0, "SET b 1"), moved(3300, 1));
  EXPECT_EQ(ask(0, "SET 49407 1").substr(0, 19), "(error) CLUSTERDOWN");  // slot 50
}

TEST_F(ClusterTest, MessagesOfClientsDoNotKeepPulsesBack) {
  start_shard(2);
  TestClient client(servers_->server(1), "127.0.0.1:9000");
  for (int i = 0; i < 500; ++i) {
    for (int j = 0; j < 8; ++j) client.run("PUBLISH channel message");
    run(kStep);
    ASSERT_EQ(record().insync.size(), 1u) << i;
  }
}

TEST_F(ClusterTest, AReplicaThatIsForgottenLeavesTheSet) {
  start_shard(2);
  EXPECT_EQ(ask(0, "CLUSTER FORGET " + id(1)), "OK");
  run(2s);
  EXPECT_TRUE(record().insync.empty());
  EXPECT_TRUE(serves(0));
  EXPECT_EQ(parts(1).cluster.node().machine(), nullptr);
}

TEST_F(ClusterTest, AFolderOfAnotherClusterIsRefused) {
  start(1);
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  run(100ms);
  ClusterRecord other;
  other.id = std::string(40, 'f');
  const std::string key(kConfigKey);
  records_.apply({{{key, records_.find(key)->version}}, {{key, to_text(other)}}});
  run(100ms);
  ASSERT_TRUE(parts(0).persistence.fatal());
  EXPECT_NE(parts(0).persistence.fatal()->message.find("belongs to cluster"), std::string::npos);
}

TEST_F(ClusterTest, TheLiveRecordNamesTheRole) {
  const auto role = [this](int node) {
    return parse_live_record(*records_.find(live_key(id(node)))->value)->role;
  };
  start(3);
  EXPECT_EQ(role(0), "none");
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  ask(1, "CLUSTER REPLICATE " + id(0));
  run(3s);
  EXPECT_EQ(role(0), "primary");
  EXPECT_EQ(role(1), "replica");
  EXPECT_EQ(role(2), "none");
  ask(1, "CLUSTER FAILOVER");
  run(500ms);
  EXPECT_EQ(role(0), "replica");
  EXPECT_EQ(role(1), "primary");
}

TEST_F(ClusterTest, ANodeIsReadyIfItServesItsShard) {
  start(3);
  EXPECT_EQ(why_not_ready(parts(2)), "cluster: this node belongs to no shard");
  ask(0, "CLUSTER ADDSLOTSRANGE 0 16383");
  ask(1, "CLUSTER REPLICATE " + id(0));
  run(3s);
  EXPECT_EQ(why_not_ready(parts(0)), std::nullopt);
  EXPECT_EQ(why_not_ready(parts(1)), std::nullopt);
  servers_->set_stopped(1, true);
  records_.is_down = true;
  run(4s);
  EXPECT_EQ(why_not_ready(parts(0)),
            "cluster: this primary may not serve, as no promise of its in-sync replicas is left");
}

// Database 1 has keys of slots that are being imported.
TEST_F(ClusterTest, ClientsSeeDatabaseZeroOnly) {
  start_shard(1);
  TestClient& client = servers_->client(0);
  ask(0, "SET a 1");
  client.client().select(kStagingDatabase);
  ask(0, "SET a 1");
  client.client().select(0);
  ASSERT_EQ(parts(0).keyspace[kStagingDatabase].stored(), 1u);
  const std::string info = ask(0, "INFO keyspace");
  EXPECT_NE(info.find("db0:"), info.npos) << info;
  EXPECT_EQ(info.find("db1:"), info.npos) << info;
  const std::string memory = ask(0, "MEMORY STATS");
  EXPECT_NE(memory.find("db.0"), memory.npos) << memory;
  EXPECT_EQ(memory.find("db.1"), memory.npos) << memory;
  EXPECT_NE(memory.find("\"keys.count\", (integer) 1,"), memory.npos) << memory;
  TestClient http(servers_->server(0), "127.0.0.1:9000");
  const HttpResponse response =
      run_console_commands(parts(0), http.link(), "{\"db\":1,\"commands\":[[\"GET\",\"a\"]]}");
  EXPECT_EQ(response.status, 400);
}

// Their reply could not be sent at once, and would be wrong: etcd makes the change a little later.
TEST_F(ClusterTest, WhatWaitsForEtcdIsRefusedInTheConsole) {
  start_shard(2);
  TestClient http(servers_->server(0), "127.0.0.1:9000");
  const std::uint64_t revision = records_.version();
  for (const char* const words :
       {R"("MEET","127.0.0.1","7000")", R"("ADDSLOTS","1")", R"("ADDSLOTSRANGE","1","2")",
        R"("FORGET","x")", R"("RESET")", R"("CANCELSLOTMIGRATIONS")"}) {
    const HttpResponse response = run_console_commands(
        parts(0), http.link(), std::string(R"({"commands":[["CLUSTER",)") + words + "]]}");
    EXPECT_NE(response.body.find("waits for etcd and is refused in the console"), std::string::npos)
        << words << response.body;
  }
  EXPECT_EQ(parts(0).blocked.size(), 0u);
  EXPECT_EQ(records_.version(), revision) << "nothing was changed";
  const HttpResponse response =
      run_console_commands(parts(0), http.link(), R"({"commands":[["CLUSTER","INFO"]]})");
  EXPECT_NE(response.body.find("cluster_state"), std::string::npos) << response.body;
}

TEST_F(ClusterTest, ClusterNodesHasTheFormOfRedis) {
  start_shard(2);
  const std::string nodes = nodes_text(parts(0).cluster);
  EXPECT_NE(nodes.find(id(0) + " 127.0.0.1:7000@7000 myself,master - 0 0 1 connected 0-16383\n"),
            std::string::npos)
      << nodes;
  EXPECT_NE(nodes.find(id(1) + " 127.0.0.1:7001@7001 slave " + id(0) + " 0 0 1 connected\n"),
            std::string::npos)
      << nodes;
}

}  // namespace cluster_test
}  // namespace mayfly
