// SPDX-License-Identifier: Apache-2.0
// Servers that follow each other.

#include "server/replication/replication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/http/readiness.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/replication/cluster_fixture.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace replication_test {

using namespace std::chrono_literals;

class ReplicationTest : public testing::Test {
 protected:
  std::string run(int number, std::string_view line) { return cluster_.run(number, line); }
  void expect_equal(int a, int b) { EXPECT_EQ(cluster_.digest(a), cluster_.digest(b)); }

  ClusterFixture cluster_{3};
};

TEST_F(ReplicationTest, AReplicaGetsWhatIsThereAndWhatComes) {
  run(0, "SET before 1");
  run(0, "HSETEX h EX 100 FIELDS 2 a 1 b 2");
  ASSERT_EQ(cluster_.follow(1, 0), "OK");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(1, "GET before"), "\"1\"");
  run(0, "SET after 2");
  run(0, "HPEXPIRE h 5000 FIELDS 1 a");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(1, "GET after"), "\"2\"");
  EXPECT_EQ(run(0, "HPEXPIRETIME h FIELDS 2 a b"), run(1, "HPEXPIRETIME h FIELDS 2 a b"));
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, WritesToAReplicaAreRefused) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(1, "SET a 1"), "(error) READONLY You can't write against a read only replica.");
}

TEST_F(ReplicationTest, AfterACutItGoesOnWhereItWas) {
  cluster_.follow(1, 0);
  run(0, "SET a 1");
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.cut(1);
  run(0, "SELECT 3");
  run(0, "SET b 2");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(0).parts().stats.full_syncs, 1u);
  EXPECT_EQ(cluster_.server(0).parts().stats.partial_syncs, 1u);
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, WhoMissedTooMuchGetsEverythingAnew) {
  cluster_.server(0).parts().config.repl_backlog_size = 16 * 1024;
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.cut(1);
  run(0, "DEL nothing");
  for (int i = 0; i < 10; ++i) {
    cluster_.run(0, {"SET", "big" + std::to_string(i), std::string(40'000, 'x')});
  }
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(0).parts().stats.full_syncs, 2u);
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, AReplicaHidesWhatIsDueUntilItIsTold) {
  run(0, "HSETEX h PX 1000 FIELDS 1 a 1");
  run(0, "HSET h b 2");
  run(0, "SET k v PX 1000");
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.advance(1000ms);
  cluster_.server(1).begin_turn();  // only the replica has its turn: nobody tells it anything
  EXPECT_EQ(run(1, "HLEN h"), "(integer) 1");
  EXPECT_EQ(run(1, "HGET h a"), "(nil)");
  EXPECT_EQ(run(1, "DBSIZE"), "(integer) 1");
  EXPECT_EQ(run(1, "PTTL k"), "(integer) -2");
  EXPECT_EQ(cluster_.server(1).parts().keyspace[0].stored(), 2u);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().keyspace[0].stored(), 1u);
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, AReplicaOfAReplicaFollowsTheSameHistory) {
  run(0, "SELECT 2");
  run(0, "SET a 1");
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.follow(2, 1);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run(0, "HSETEX h EX 50 FIELDS 1 f v");
  ASSERT_TRUE(cluster_.run_until_quiet());
  expect_equal(0, 1);
  expect_equal(0, 2);
  EXPECT_EQ(cluster_.server(2).parts().replication.stream().ids().id,
            cluster_.server(0).parts().replication.stream().ids().id);
}

TEST_F(ReplicationTest, APromotedReplicaTakesOverExpiryAtOnce) {
  run(0, "HSETEX h PX 1000 FIELDS 1 a 1");
  run(0, "HSET h b 2");
  cluster_.follow(1, 0);
  cluster_.follow(2, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.lead(1), "OK");
  cluster_.follow(2, 1);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().stats.full_syncs, 0u);  // they share the history
  cluster_.advance(1000ms);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().keyspace.stats().expired_members, 1u);
  expect_equal(1, 2);
}

TEST_F(ReplicationTest, AFormerPrimaryGoesOnAsAReplicaOfItsReplica) {
  cluster_.follow(1, 0);
  run(0, "SET a 1");
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.lead(1);
  cluster_.follow(0, 1);
  run(1, "SET b 2");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().stats.full_syncs, 0u);
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, ATransactionCutInTheMiddleIsAppliedOnce) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run(0, "MULTI");
  run(0, "INCR n");
  run(0, "INCR n");
  run(0, "INCR n");
  run(0, "EXEC");
  cluster_.set_piece(50);
  cluster_.turn();
  cluster_.turn();
  cluster_.cut(1);
  ASSERT_TRUE(cluster_.run_until_quiet(500));
  EXPECT_EQ(run(1, "GET n"), "\"3\"");
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, WaitTellsHowManyHaveIt) {
  EXPECT_EQ(run(0, "WAIT 0 10"), "(integer) 0");
  cluster_.follow(1, 0);
  cluster_.follow(2, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run(0, "SET a 1");
  EXPECT_EQ(run(0, "WAIT 2 1000"), "");  // it waits
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.client(0).messages(), "(integer) 2");
  cluster_.cut(2);
  cluster_.set_reachable(0, false);
  run(0, "SET b 1");
  EXPECT_EQ(run(0, "WAIT 2 1000"), "");
  cluster_.advance(500ms);
  cluster_.turn();
  cluster_.turn();
  EXPECT_EQ(cluster_.client(0).messages(), "");
  cluster_.advance(500ms);
  cluster_.turn();
  EXPECT_EQ(cluster_.client(0).messages(), "(integer) 1");
}

TEST_F(ReplicationTest, FailoverHandsOverWithoutLosingAWrite) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run(0, "SET a 1");
  EXPECT_EQ(run(0, "FAILOVER"), "OK");
  EXPECT_EQ(run(0, "SET b 2"), "");  // it waits
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_FALSE(cluster_.server(1).parts().replication.is_replica());
  EXPECT_TRUE(cluster_.server(0).parts().replication.is_replica());
  EXPECT_EQ(run(1, "GET a"), "\"1\"");
  EXPECT_EQ(cluster_.server(1).parts().stats.full_syncs, 0u);
  expect_equal(0, 1);
}

TEST_F(ReplicationTest, AFailoverThatIsRefusedIsTakenBack) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(0, "FAILOVER"), "OK");
  for (int i = 0; i < 20 && !cluster_.server(0).parts().replication.is_replica(); ++i)
    cluster_.turn();
  ASSERT_TRUE(cluster_.server(0).parts().replication.is_replica());
  cluster_.lead(1);  // so that it is nobody's replica any more when it is asked
  for (int i = 0; i < 40; ++i) cluster_.turn();
  EXPECT_FALSE(cluster_.server(0).parts().replication.is_replica());
  EXPECT_EQ(run(0, "SET a 1"), "OK");
}

TEST_F(ReplicationTest, AFailoverToWhoCannotBeReachedIsTakenBack) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(0, "FAILOVER"), "OK");
  cluster_.set_reachable(1, false);
  for (int i = 0; i < 40; ++i) cluster_.turn();
  EXPECT_FALSE(cluster_.server(0).parts().replication.is_replica());
  EXPECT_EQ(run(0, "SET a 1"), "OK");
}

TEST_F(ReplicationTest, TooFewReplicasMeanNoWrites) {
  cluster_.server(0).parts().config.min_replicas_to_write = 1;
  EXPECT_EQ(run(0, "SET a 1"), "(error) NOREPLICAS Not enough good replicas to write.");
  cluster_.turn();
  EXPECT_EQ(why_not_ready(cluster_.server(0).parts()),
            "NOREPLICAS Not enough good replicas to write. (min-replicas-to-write is 1)");
  const auto told = [this](std::string_view part) {
    return std::ranges::count_if(cluster_[0].lines, [part](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  };
  EXPECT_EQ(told("Writes are refused (NOREPLICAS): min-replicas-to-write is 1, and 0"), 1);
  cluster_.turn();
  EXPECT_EQ(told("Writes are refused"), 1) << "once";
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(0, "SET a 1"), "OK");
  EXPECT_EQ(why_not_ready(cluster_.server(0).parts()), std::nullopt);
  EXPECT_EQ(told("There are enough good replicas"), 1);
}

TEST_F(ReplicationTest, AWritableReplicaRemovesWhatItWasGivenItself) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.server(1).parts().config.replica_read_only = false;
  run(1, "SET local 1 PX 500");
  run(1, "HSETEX h PX 500 FIELDS 1 f v");
  cluster_.turn();
  cluster_.advance(500ms);
  cluster_.turn();
  EXPECT_EQ(cluster_.server(1).parts().keyspace[0].stored(), 0u);
}

TEST_F(ReplicationTest, AReplicaThatDoesNotReadIsDropped) {
  cluster_.server(0).parts().config.output_replica = {1 << 20, 0, 0};
  cluster_.server(0).parts().config.repl_backlog_size = 16 * 1024;
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.set_piece(1);
  for (int i = 0; i < 60; ++i) cluster_.run(0, {"SET", "big", std::string(40'000, 'x')});
  cluster_.turn();
  EXPECT_EQ(cluster_.server(0).parts().stats.output_limit_disconnections, 1u);
  cluster_.set_piece(std::string::npos);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_LT(cluster_.server(0).parts().replication.stream().log().memory(), 300'000u);
  expect_equal(0, 1);
}

// Makes the primary send a command that it would not send by itself.
void send_down(ClusterFixture& cluster, std::string_view words) {
  cluster.server(0).parts().replication.stream().log().append(std::string(words) + "\r\n");
}

bool has_line(const std::vector<std::string>& lines, std::string_view part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST_F(ReplicationTest, APrimaryCannotGiveOrders) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  for (const char* const order : {"REPLICAOF NO ONE", "SHUTDOWN NOSAVE", "CONFIG SET maxmemory 1",
                                  "CLIENT KILL TYPE normal", "DEBUG RELOAD", "SUBSCRIBE a"}) {
    send_down(cluster_, order);
  }
  run(0, "SET after 1");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_TRUE(cluster_.is_up(1));
  EXPECT_FALSE(cluster_[1].is_shut_down);
  EXPECT_EQ(cluster_.server(1).parts().config.maxmemory, 0u);
  EXPECT_EQ(run(1, "GET after"), "\"1\"");
  EXPECT_EQ(cluster_.server(1).parts().stats.unexpected_errors, 6u);
  EXPECT_TRUE(has_line(cluster_[1].lines, "'replicaof' is not accepted from a primary"));
}

// Redis 6 and older send the first two to their replicas.
TEST_F(ReplicationTest, ScriptsOfAPrimaryAreKeptAndMigrateIsRefused) {
  cluster_.follow(1, 0);
  run(0, "SET k v");
  ASSERT_TRUE(cluster_.run_until_quiet());
  send_down(cluster_, "SCRIPT LOAD return");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().scripting.count(), 1u);
  send_down(cluster_, "SCRIPT FLUSH");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().scripting.count(), 0u);
  EXPECT_EQ(cluster_.server(1).parts().stats.unexpected_errors, 0u);
  EXPECT_FALSE(has_line(cluster_[1].lines, "the data may differ"));

  send_down(cluster_, "MIGRATE 127.0.0.1 1 k 0 1000");
  send_down(cluster_, "EVAL \"redis.call('MIGRATE','127.0.0.1','1','k','0','9')\" 0");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.server(1).parts().stats.unexpected_errors, 2u);
  EXPECT_TRUE(has_line(cluster_[1].lines, "'migrate' is not accepted from a primary"));
  EXPECT_EQ(run(1, "GET k"), "\"v\"");
}

TEST_F(ReplicationTest, WhatFailsOfTheStreamIsLoggedAndCounted) {
  cluster_.follow(1, 0);
  run(0, "SET s v");
  ASSERT_TRUE(cluster_.run_until_quiet());
  send_down(cluster_, "NOSUCHCOMMAND a");
  send_down(cluster_, "HSET s f v");
  send_down(cluster_, "HSET s f v");
  run(0, "SET after 1");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(1, "GET after"), "\"1\"");
  EXPECT_EQ(cluster_.server(1).parts().stats.unexpected_errors, 3u);
  EXPECT_TRUE(has_line(cluster_[1].lines, "ERR unknown command 'NOSUCHCOMMAND'"));
  const auto count = std::ranges::count_if(cluster_[1].lines, [](const std::string& line) {
    return line.find("WRONGTYPE") != std::string::npos;
  });
  EXPECT_EQ(count, 1);  // once a second
}

TEST_F(ReplicationTest, AStreamThatBreaksTheProtocolEndsTheLinkWithoutAReply) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  send_down(cluster_, "*1\r\n$x");
  cluster_.turn();
  cluster_.turn();
  EXPECT_FALSE(cluster_.is_up(1));
  EXPECT_TRUE(has_line(cluster_[1].lines, "A command from the primary"));
}

TEST_F(ReplicationTest, APausedReplicaAppliesNothingAndKeepsItsLink) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run(1, "CLIENT PAUSE 200000 WRITE");
  run(0, "SET k v");
  for (int i = 0; i < 100; ++i) {
    cluster_.advance(1000ms);
    cluster_.turn();
  }
  EXPECT_EQ(run(1, "GET k"), "(nil)");
  EXPECT_TRUE(cluster_.is_up(1));
  run(1, "CLIENT UNPAUSE");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(1, "GET k"), "\"v\"");
}

TEST_F(ReplicationTest, HelloTellsTheRole) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_NE(run(0, "HELLO").find("\"role\", \"master\""), std::string::npos) << run(0, "HELLO");
  EXPECT_NE(run(1, "HELLO").find("\"role\", \"replica\""), std::string::npos);
}

TEST_F(ReplicationTest, AnyOffsetMayBeAskedFor) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  const std::string id = cluster_.server(0).parts().replication.stream().ids().id;
  for (const char* const offset :
       {"-9223372036854775808", "-1", "0", "9223372036854775807", "18446744073709551615"}) {
    TestClient& client = cluster_[0].connect();
    const std::string reply = client.run({"PSYNC", id, offset});
    EXPECT_EQ(reply.find("CONTINUE"), std::string::npos) << offset << ": " << reply;
    client.link().close_now("the test is done");
  }
}

TEST_F(ReplicationTest, MoreWordsOfPsyncAreIgnored) {
  for (const char* const words : {"PSYNC ? -1 more", "PSYNC ? -1 more words"}) {
    TestClient& client = cluster_[0].connect();
    EXPECT_EQ(client.run(words), "");
    EXPECT_TRUE(client.client().is_attached_replica()) << words;
    client.link().close_now("the test is done");
  }
}

// A child writes to the socket itself: what is not sent by then would get among the data.
TEST_F(ReplicationTest, ADisklessSynchronisationWaitsForWhatIsStillToBeSent) {
  cluster_.server(0).parts().config.repl_diskless_sync = true;
  cluster_.server(0).parts().config.repl_diskless_sync_delay = 0;
  cluster_[0].holds_children = true;
  TestClient& client = cluster_[0].connect();
  client.send("REPLCONF capa eof capa psync2\r\nPSYNC ? -1\r\n");
  client.link().output_ = "not sent";
  cluster_.turn();
  EXPECT_EQ(client.client().replica->phase, ReplicaPhase::waiting);
  EXPECT_FALSE(cluster_.server(0).parts().background.is_busy());

  client.link().output_.clear();
  client.link().takes_at_once_ = true;
  cluster_.server(0).before_sleep();
  EXPECT_TRUE(cluster_.server(0).parts().background.is_busy());
  EXPECT_EQ(client.client().replica->phase, ReplicaPhase::streaming);
  EXPECT_EQ(client.link().output_, "");  // it is not among what the child writes
  EXPECT_TRUE(client.messages().starts_with("FULLRESYNC ")) << "sent before the child began";
  cluster_[0].holds_children = false;
}

// The server ends while a child writes the file for a replica.
TEST_F(ReplicationTest, AChildThatIsStoppedLeavesNoFileForReplicas) {
  run(0, "SET k v");
  cluster_[0].holds_children = true;
  cluster_.follow(1, 0);
  for (int i = 0; i < 20 && !cluster_.server(0).parts().background.is_busy(); ++i) cluster_.turn();
  ASSERT_TRUE(cluster_.server(0).parts().background.is_busy());
  FakeDisk& disk = cluster_[0].fake_disk();
  EXPECT_TRUE(disk.exists("./sync-7000.rdb"));
  static_cast<void>(disk.append("./temp-sync-7000.rdb"));  // it had another name before
  ASSERT_TRUE(disk.exists("./temp-sync-7000.rdb"));
  cluster_.server(0).parts().background.stop();
  EXPECT_FALSE(disk.exists("./sync-7000.rdb"));
  EXPECT_FALSE(disk.exists("./temp-sync-7000.rdb"));
  cluster_[0].holds_children = false;
}

TEST_F(ReplicationTest, AShorterPingPeriodActsAtOnce) {
  cluster_.follow(1, 0);
  run(0, "CONFIG SET repl-ping-replica-period 3600");
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.turn();
  const auto end = [&] { return cluster_.server(0).parts().replication.stream().log().end(); };
  const std::uint64_t before = end();
  cluster_.advance(2000ms);
  cluster_.turn();
  EXPECT_EQ(end(), before);
  run(0, "CONFIG SET repl-ping-replica-period 1");
  cluster_.turn();
  EXPECT_EQ(end(), before + 14);  // PING
}

// It is sent and removed: a disk that is slow to sync must not keep the replica waiting.
TEST_F(ReplicationTest, AFileForReplicasIsNotSynced) {
  run(0, "SET k v");
  const int syncs = cluster_[0].fake_disk().count(FakeDisk::Op::sync);
  const int of_directory = cluster_[0].fake_disk().count(FakeDisk::Op::sync_directory);
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_[0].fake_disk().count(FakeDisk::Op::sync), syncs);
  EXPECT_EQ(cluster_[0].fake_disk().count(FakeDisk::Op::sync_directory), of_directory);
  expect_equal(0, 1);
}

// ---- maxmemory ----

TEST_F(ReplicationTest, WhatWaitsForASlowReplicaEvictsNothing) {
  Config& config = cluster_.server(0).parts().config;
  config.repl_backlog_size = 16 * 1024;
  config.maxmemory_policy = *parse_eviction("allkeys-lru");
  const std::string value(20'000, 'v');
  const auto forget_propagated = [&] {  // what the fixture keeps is not the server's
    std::vector<std::string>().swap(cluster_[0].propagated);
  };
  for (int i = 0; i < 100; ++i) cluster_.run(0, {"SET", "key" + std::to_string(i), value});
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  cluster_.set_stopped(1, true);
  forget_propagated();
  config.maxmemory = used_memory() + 1'000'000;
  for (int i = 0; i < 400; ++i) {  // 8 MB of the stream, and no more data than before
    ASSERT_EQ(cluster_.run(0, {"SET", "key" + std::to_string(i % 100), value}), "OK");
    cluster_.turn();
    forget_propagated();
  }
  EXPECT_GT(cluster_.server(0).parts().reclaimer.uncounted_memory(), 7'000'000u);
  EXPECT_EQ(cluster_.server(0).parts().keyspace.stats().evicted_keys, 0u);
  EXPECT_NE(run(0, "INFO memory").find("mem_not_counted_for_evict:"), std::string::npos);
  EXPECT_EQ(run(0, "INFO memory").find("mem_not_counted_for_evict:0"), std::string::npos);

  for (int i = 0; i < 200; ++i) cluster_.run(0, {"SET", "new" + std::to_string(i), value});
  EXPECT_GT(cluster_.server(0).parts().keyspace.stats().evicted_keys, 0u) << "data counts";
}

// ---- CLIENT CAPA redirect ----

constexpr const char* kRedirect = "(error) REDIRECT 127.0.0.1:7000";

TEST_F(ReplicationTest, AClientThatCanBeRedirectedIs) {
  run(0, "SET k v");
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(run(1, "GET k"), "\"v\"");
  EXPECT_EQ(run(1, "CLIENT CAPA redirect"), "OK");
  EXPECT_EQ(run(1, "GET k"), kRedirect);
  EXPECT_EQ(run(1, "SET k w"), kRedirect);
  EXPECT_EQ(run(1, "EVAL_RO return 0"), kRedirect);
  EXPECT_EQ(run(1, "PING"), "PONG");
  EXPECT_EQ(run(1, "READONLY"), "OK");
  EXPECT_EQ(run(1, "GET k"), "\"v\"");
  EXPECT_EQ(run(1, "SET k w"), kRedirect);
  EXPECT_EQ(run(1, "READWRITE"), "OK");
  run(1, "MULTI");
  EXPECT_EQ(run(1, "GET k"), kRedirect);
  EXPECT_EQ(run(1, "EXEC"), "(error) EXECABORT Transaction discarded because of previous errors.");
  EXPECT_EQ(run(0, "CLIENT CAPA redirect"), "OK");
  EXPECT_EQ(run(0, "GET k"), "\"v\"") << "a primary answers";
}

TEST_F(ReplicationTest, ATransactionThatWasQueuedAtAPrimaryIsRedirectedAsAWhole) {
  run(1, "CLIENT CAPA redirect");
  run(1, "MULTI");
  run(1, "SET k v");
  cluster_[1].connect().run("REPLICAOF 127.0.0.1 7000");
  EXPECT_EQ(run(1, "EXEC"), kRedirect);
  EXPECT_EQ(run(1, "EXEC"), "(error) ERR EXEC without MULTI");
}

TEST_F(ReplicationTest, WhoWaitsForKeysIsRedirectedWhenTheServerBecomesAReplica) {
  run(1, "CLIENT CAPA redirect");
  EXPECT_EQ(run(1, "BLPOP list 0"), "");
  TestClient& plain = cluster_[1].connect();
  EXPECT_EQ(plain.run("BLPOP list 0"), "");
  cluster_[1].connect().run("REPLICAOF 127.0.0.1 7000");
  EXPECT_EQ(cluster_.client(1).messages(), kRedirect);
  EXPECT_TRUE(cluster_.client(1).is_connected());
  EXPECT_TRUE(plain.messages().starts_with("(error) UNBLOCKED"));
}

// Both servers are replicas for a while, and would send the client back and forth.
TEST_F(ReplicationTest, WhileAReplicaTakesOverClientsThatCanBeRedirectedWait) {
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run(0, "SET k v");
  TestClient& client = cluster_[0].connect();
  client.run("CLIENT CAPA redirect");
  EXPECT_EQ(run(0, "FAILOVER"), "OK");
  for (int i = 0; i < 20 && !cluster_.server(0).parts().replication.is_replica(); ++i) {
    cluster_.turn();
  }
  ASSERT_TRUE(cluster_.server(0).parts().replication.is_replica());
  EXPECT_EQ(client.run("GET k"), "");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(client.resume(), "-REDIRECT 127.0.0.1:7001\r\n");
}

// ---- INFO ----

TEST_F(ReplicationTest, InfoCountsReplicasAndTheirBytesApart) {
  cluster_.server(0).parts().config.rdbcompression = false;
  run(0, "SET k " + std::string(5000, 'v'));
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  const auto number = [&](int server, const std::string& name) {
    const std::string text = cluster_.client(server).send("INFO everything\r\n");
    const std::size_t at = text.find("\n" + name + ":");
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + name.size() + 2));
  };
  EXPECT_EQ(number(0, "connected_clients"), 1);
  EXPECT_EQ(number(0, "connected_slaves"), 1);
  EXPECT_GT(number(0, "total_net_repl_output_bytes"), 5000);
  EXPECT_EQ(number(0, "total_net_repl_input_bytes"), 0);
  EXPECT_GT(number(1, "total_net_repl_input_bytes"), 5000);
  EXPECT_GE(number(1, "total_net_input_bytes"), number(1, "total_net_repl_input_bytes"));
  EXPECT_GE(number(0, "total_net_output_bytes"), number(0, "total_net_repl_output_bytes"));
  run(0, "CONFIG RESETSTAT");
  EXPECT_EQ(number(0, "total_net_repl_output_bytes"), 0);
}

TEST_F(ReplicationTest, AChildThatSavesForReplicasIsASaveInTheBackground) {
  cluster_[0].holds_children = true;
  cluster_.follow(1, 0);
  for (int i = 0; i < 10; ++i) cluster_.turn();
  ASSERT_TRUE(cluster_.server(0).parts().background.is_doing(Job::sync));
  EXPECT_NE(run(0, "INFO persistence").find("rdb_bgsave_in_progress:1"), std::string::npos);
  EXPECT_EQ(run(0, "BGSAVE"), "(error) ERR Background save already in progress");
  EXPECT_EQ(run(0, "BGSAVE SCHEDULE"), "Background saving scheduled");
  cluster_[0].holds_children = false;
}

}  // namespace replication_test
}  // namespace mayfly
