// SPDX-License-Identifier: Apache-2.0
// `cluster-replies in-sync`: what leaves when, in which order, and what never does.

#include "server/cluster/replies/held_replies.h"

#include <gtest/gtest.h>

#include "server/admin/client_list.h"
#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace held_replies_test {

using namespace std::chrono_literals;

using Request = std::vector<std::string>;

class HeldRepliesTest : public ClusterNodesFixture {
 protected:
  static Config in_sync() {
    Config config = ClusterNodesFixture::config();
    config.cluster_replies = "in-sync";
    return config;
  }
  std::size_t held(int node) { return parts(node).cluster.held().clients(); }
};

TEST_F(HeldRepliesTest, EachReplyLeavesWhenItsOwnWriteIsSafe) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  servers_->set_stopped(1, false);
  for (int i = 0; i < 2; ++i) servers_->turn();  // the replica gets it, and says so
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 2"), "");
  servers_->turn();
  EXPECT_EQ(servers_->client(0).messages(), "OK") << "the reply to the first";
  EXPECT_EQ(servers_->run(0, "GET b"), "") << "stands behind a held one";
  EXPECT_EQ(held(0), 1u);
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(servers_->client(0).messages(), "OK (nil)");
  EXPECT_EQ(held(0), 0u);
}

TEST_F(HeldRepliesTest, TheirPlacesCountTowardsTheMemoryOfTheClient) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  TestClient writer(servers_->server(0), "127.0.0.1:9000");
  writer.run("PING");
  const auto said = [&] { return memory_of(writer.client()); };
  const std::size_t before = said();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(writer.run("SET a 1"), "");
  EXPECT_GT(writer.client().held_bytes, 1000 * 2 * sizeof(std::uint64_t));
  EXPECT_GT(said(), before + writer.client().held_bytes);
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(held(0), 0u);
  EXPECT_EQ(writer.client().held_bytes, 0u);
}

TEST_F(HeldRepliesTest, AFencedPrimaryKeepsThemUntilTheReplicaIsBack) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  records_.is_down = true;  // so the replica cannot be taken out
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  run(2200ms);  // longer than the lease, and shorter than the promise of the replica
  ASSERT_FALSE(serves(0));
  EXPECT_EQ(servers_->client(0).messages(), "");
  EXPECT_FALSE(servers_->client(0).link().closing());
  servers_->set_stopped(1, false);
  run(1s);
  EXPECT_EQ(servers_->client(0).messages(), "OK") << "the replica has it now";
}

TEST_F(HeldRepliesTest, AServerThatIsReplacedClosesConnectionsWithHeldReplies) {
  start_shard(2, in_sync());
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("PING"), "PONG");
  servers_->cut(1);  // so that the replica gets nothing of it
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  servers_->server(0).before_sleep();
  ASSERT_FALSE(servers_->client(0).link().closing());
  servers_->set_stopped(0, true);
  run(4s);
  ASSERT_TRUE(serves(1));
  servers_->set_stopped(0, false);
  run(1s);
  EXPECT_TRUE(servers_->client(0).link().closing());
  EXPECT_EQ(servers_->client(0).messages(), "");
  EXPECT_FALSE(other.link().closing()) << "nothing of it was held";
  EXPECT_EQ(held(0), 0u);
}

TEST_F(HeldRepliesTest, AWriteThatComesTooLateClosesConnectionsWithHeldReplies) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  servers_->turn();
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("SET b 1"), "");
  servers_->advance(3s);  // the turn takes that long
  servers_->server(0).before_sleep();
  EXPECT_TRUE(other.link().closing());
  EXPECT_TRUE(servers_->client(0).link().closing());
}

TEST_F(HeldRepliesTest, ANewPrimaryShowsWhatItFoundOnlyWhenItIsSafe) {
  start_shard(3, in_sync());
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  run(100ms);
  servers_->set_stopped(0, true);
  while (!serves(1) && !serves(2)) run(kStep);
  const int successor = serves(1) ? 1 : 2;
  servers_->set_stopped(3 - successor, true);
  EXPECT_EQ(servers_->run(successor, "GET a"), "");
  servers_->set_stopped(3 - successor, false);
  run(1s);
  EXPECT_EQ(servers_->client(successor).messages(), "\"1\"");
}

// What is removed between requests, or by another one, may be of any slot.
TEST_F(HeldRepliesTest, AReadWaitsForAnEvictionOfItsKey) {
  start_shard(2, in_sync());
  ask(0, "SET a 1");
  run(100ms);
  servers_->set_stopped(1, true);
  ask(0, "CONFIG SET maxmemory-policy allkeys-random");
  ask(0, "CONFIG SET maxmemory 1");
  servers_->turn();
  ASSERT_EQ(parts(0).keyspace.stats().evicted_keys, 1u);
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("GET a"), "") << "the replica has it still, and may take over";
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(other.resume(), "$-1\r\n");
}

TEST_F(HeldRepliesTest, AReadWaitsForAScriptThatDoesNotNameItsKeys) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, {"EVAL", "return redis.call('SET', 'a', 1)", "1", "b"}), "");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("GET a"), "");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(other.resume(), "$1\r\n1\r\n");
}

TEST_F(HeldRepliesTest, WhatWasWrittenBeforeTheyAreSwitchedOnIsHeldToo) {
  start_shard(2);
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 1"), "OK");
  servers_->run(0, "CONFIG SET cluster-replies in-sync");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("GET a"), "");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(other.resume(), "$1\r\n1\r\n");
}

// ---- Reads beside the keys of a request; in_sync_table_test.cc has all commands ----

TEST_F(HeldRepliesTest, AReadThatBlocksWaitsForTheWriteThatWakesIt) {
  start_shard(2, in_sync());
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("XREAD BLOCK 0 STREAMS s $"), "");
  servers_->set_stopped(1, true);
  servers_->run(0, "MULTI");
  servers_->run(0, {"EVAL", "return redis.call('XADD', 's', '1-1', 'f', 'v')", "1", "b"});
  EXPECT_EQ(servers_->run(0, "EXEC"), "");
  EXPECT_FALSE(other.client().is_blocked());
  EXPECT_EQ(other.messages(), "");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(other.messages(), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_F(HeldRepliesTest, AReadWhoseTimeIsOverTellsThatNothingCame) {
  start_shard(2, in_sync());
  ask(0, "RPUSH a v");
  run(100ms);
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "LPOP a"), "");
  TestClient one(servers_->server(0), "127.0.0.1:9000");
  TestClient other(servers_->server(0), "127.0.0.1:9001");
  EXPECT_EQ(one.run("BLPOP a 0.1"), "");
  EXPECT_EQ(other.run("BLPOP b 0.1"), "");
  run(200ms);
  EXPECT_EQ(one.messages(), "") << "a successor has an element for it";
  EXPECT_EQ(other.messages(), "(nil)");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(one.messages(), "(nil)");
}

// Its keys are not noted, and earlier notes may be those of another request.
TEST_F(HeldRepliesTest, TheEndOfAWaitFromBeforeTheyAreSwitchedOnIsHeldToo) {
  start_shard(2, in_sync());
  ask(0, "RPUSH a v");
  TestClient one(servers_->server(0), "127.0.0.1:9000");
  TestClient other(servers_->server(0), "127.0.0.1:9001");
  EXPECT_EQ(one.run("BLPOP b 0.1"), "");
  run(200ms);
  EXPECT_EQ(one.messages(), "(nil)");
  servers_->run(0, "CONFIG SET cluster-replies at-once");
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "LPOP a"), "\"v\"");
  EXPECT_EQ(one.run("BLPOP a 0.1"), "");
  EXPECT_EQ(other.run("BLPOP a 0.1"), "");
  servers_->run(0, "CONFIG SET cluster-replies in-sync");
  run(200ms);
  EXPECT_FALSE(one.client().is_blocked());
  EXPECT_FALSE(other.client().is_blocked());
  EXPECT_EQ(one.messages(), "") << "a successor has an element for it";
  EXPECT_EQ(other.messages(), "") << "a successor has an element for it";
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(one.messages(), "(nil)");
  EXPECT_EQ(other.messages(), "(nil)");
}

class HeldTransactionTest : public HeldRepliesTest {
 protected:
  // Its removals are not safe: others do not see them, not even by a time-out.
  void expect_held_for_others(const Request& request) {
    start_shard(2, in_sync());
    ask(0, "SET a 1");
    ask(0, "XADD s 1-1 f v");
    run(100ms);
    TestClient reader(servers_->server(0), "127.0.0.1:9000");
    TestClient blocked(servers_->server(0), "127.0.0.1:9001");
    TestClient later(servers_->server(0), "127.0.0.1:9002");
    EXPECT_EQ(blocked.run("XREAD BLOCK 100 STREAMS s $"), "");
    servers_->set_stopped(1, true);
    servers_->run(0, "MULTI");
    servers_->run(0, request);
    EXPECT_EQ(servers_->run(0, "EXEC"), "");
    EXPECT_EQ(reader.run("GET a"), "");
    EXPECT_EQ(later.run("XREAD BLOCK 100 STREAMS s 0"), "");
    run(200ms);
    EXPECT_FALSE(later.client().is_blocked());
    EXPECT_EQ(reader.messages() + blocked.messages() + later.messages(), "");
    servers_->set_stopped(1, false);
    run(100ms);
    EXPECT_EQ(reader.messages(), "(nil)");
    EXPECT_EQ(blocked.messages(), "(nil)");
    EXPECT_EQ(later.messages(), "(nil)");
  }
};

TEST_F(HeldTransactionTest, OthersSeeItsFlushWhenItIsSafe) { expect_held_for_others({"FLUSHALL"}); }

TEST_F(HeldTransactionTest, OthersSeeTheWritesOfItsScriptWhenTheyAreSafe) {
  expect_held_for_others(
      {"EVAL", "redis.call('DEL', 'a') return redis.call('DEL', 's')", "1", "b"});
}

TEST_F(HeldRepliesTest, AFencedPrimaryKeepsTheEndOfAWaitToo) {
  start_shard(2, in_sync());
  ask(0, "RPUSH a v");
  run(100ms);
  servers_->set_stopped(1, true);
  records_.is_down = true;
  EXPECT_EQ(servers_->run(0, "LPOP a"), "");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("BLPOP a 2.2"), "");
  run(2300ms);
  ASSERT_FALSE(serves(0));
  EXPECT_FALSE(other.client().is_blocked());
  EXPECT_EQ(other.messages(), "") << "a successor has an element for it";
  servers_->set_stopped(1, false);
  run(1s);
  EXPECT_EQ(other.messages(), "(nil)");
}

TEST_F(HeldRepliesTest, ClusterResetTellsWhetherThereAreKeys) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  servers_->run(0, "SET a 1");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("CLUSTER RESET"), "");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(other.messages(),
            "(error) ERR CLUSTER RESET can't be called with master nodes containing keys");
}

TEST_F(HeldRepliesTest, WaitIsNotHeldByWhatOthersHaveWritten) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("WAIT 2 100"), "");
  run(200ms);
  EXPECT_EQ(other.messages(), "(integer) 1") << "it has written nothing";
}

TEST_F(HeldRepliesTest, ExecWaitsForTheWriteThatBrokeItsWatch) {
  start_shard(2, in_sync());
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  other.run("WATCH a");
  servers_->set_stopped(1, true);
  EXPECT_EQ(servers_->run(0, "SET a 1"), "");
  other.run("MULTI");
  other.run("GET b");
  EXPECT_EQ(other.run("EXEC"), "");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(other.messages(), "(nil)");
}

class SweepTest : public HeldRepliesTest {
 protected:
  void expect_held(const Config& with) {
    start_shard(2, with);
    ask(0, "SET a 1 PX 500");
    run(100ms);
    ASSERT_NE(parts(0).keyspace[0].stored_slot("a"), kNoSlot);
    servers_->set_stopped(1, true);
    run(500ms);
    ASSERT_EQ(parts(0).keyspace[0].stored_slot("a"), kNoSlot);
    TestClient other(servers_->server(0), "127.0.0.1:9000");
    EXPECT_EQ(other.run("GET b"), "(nil)");
    EXPECT_EQ(other.run("GET a"), "");
    servers_->set_stopped(1, false);
    run(100ms);
    EXPECT_EQ(other.messages(), "(nil)");
  }
};

TEST_F(SweepTest, IsAWriteOfTheSlotsThatItSweeps) { expect_held(in_sync()); }

TEST_F(SweepTest, IsOneWithTheExpiryLogToo) {
  Config with = in_sync();
  with.expiry_log = true;
  expect_held(with);
}

TEST_F(HeldRepliesTest, ReadsOfAllDataWaitForOneWriteAndThenNoMore) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  servers_->run(0, "SET a 1");
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  EXPECT_EQ(other.run("DBSIZE"), "");
  EXPECT_EQ(other.run("PING"), "") << "stands behind a held one";
  servers_->set_stopped(1, false);
  run(12s);  // the primary sends pings in the log
  servers_->set_stopped(1, true);
  EXPECT_EQ(other.run("DBSIZE"), "(integer) 1 PONG (integer) 1");
}

// Another server may have taken over: a script must not show old data, whatever it names.
TEST_F(HeldRepliesTest, AFencedPrimaryRunsNoScriptsAboutData) {
  start_shard(2, in_sync());
  ask(0, "FUNCTION LOAD #!lua\tname=lib\nredis.register_function('f',function()return\t1\tend)");
  run(100ms);
  servers_->set_stopped(1, true);
  records_.is_down = true;
  run(2200ms);
  ASSERT_FALSE(serves(0));
  TestClient other(servers_->server(0), "127.0.0.1:9000");
  const auto eval = [&](const std::string& call) {
    return other.run({"EVAL", "return redis.call(" + call + ")", "0"});
  };
  for (const char* const call : {"'DBSIZE'", "'KEYS', '*'", "'GET', 'a'", "'FLUSHALL'"}) {
    EXPECT_EQ(eval(call).find("(error)"), 0U) << call;
  }
  EXPECT_EQ(eval("'PING'"), "PONG");
  EXPECT_EQ(other.run("FCALL f 0"), "(error) CLUSTERDOWN The cluster is down");
  EXPECT_EQ(other.run("FUNCTION LIST"), "(error) CLUSTERDOWN The cluster is down");
  EXPECT_EQ(other.run("CLUSTER MYID"), '"' + id(0) + '"');
}

// ---- The console, by HTTP ----

class ConsoleAnswersTest : public HeldRepliesTest {
 protected:
  ~ConsoleAnswersTest() override {
    if (peer_) peer_->closed("the test ends");
  }

  void post(int node, const std::string& body) {
    if (!peer_) peer_ = servers_->server(node).accept_http(link_);
    arrive(link_, peer_.get(),
           "POST /api/command HTTP/1.1\r\nHost: 127.0.0.1:8379\r\nX-Mayfly: console\r\n"
           "Content-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  // The body of what has been sent.
  std::string taken() {
    const std::string all = link_.take();
    if (!all.empty()) peer_->drained();
    return all.empty() ? all : all.substr(all.find("\r\n\r\n") + 4);
  }

  TestLink link_{"127.0.0.1:6000"};
  std::unique_ptr<Peer> peer_;
};

TEST_F(ConsoleAnswersTest, AreHeldUntilTheirWritesAreSafe) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  post(0, R"({"commands":[["SET","a","1"]]})");
  EXPECT_EQ(taken(), "");
  servers_->set_stopped(1, false);
  run(100ms);
  EXPECT_EQ(taken(), "{\"replies\":[{\"ok\":\"OK\"}]}\n");
}

TEST_F(ConsoleAnswersTest, AreNotHeldWhenAllIsSafeNorAtOnce) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  post(0, R"({"commands":[["GET","a"]]})");
  EXPECT_EQ(taken(), "{\"replies\":[{\"ok\":null}]}\n");
}

TEST_F(ConsoleAnswersTest, AreNotGivenByAServerThatWasReplaced) {
  start_shard(2, in_sync());
  servers_->cut(1);
  post(0, R"({"commands":[["SET","a","1"]]})");
  servers_->set_stopped(0, true);
  run(4s);
  servers_->set_stopped(0, false);
  run(1s);
  EXPECT_TRUE(link_.closing());
  EXPECT_EQ(taken(), "");
}

TEST_F(ConsoleAnswersTest, ToWritesAreNotGivenTooLate) {
  start_shard(2);
  post(0, R"({"commands":[["SET","a","1"]]})");
  servers_->advance(3s);  // the turn takes that long
  servers_->server(0).before_sleep();
  EXPECT_TRUE(link_.closing());
}

TEST_F(ConsoleAnswersTest, NameTheReasonIfTheyWouldHaveToWait) {
  start_shard(2);
  ask(0, "SET a 1");
  run(100ms);
  servers_->set_stopped(0, true);
  take_slots(SlotSet({{15000, 16383}}));
  run(50ms);
  post(1, R"({"commands":[["DBSIZE"]]})");
  EXPECT_NE(taken().find("TRYAGAIN slots of this shard are moving"), std::string::npos);
}

TEST_F(ConsoleAnswersTest, AreForgottenWithTheirConnection) {
  start_shard(2, in_sync());
  servers_->set_stopped(1, true);
  post(0, R"({"commands":[["SET","a","1"]]})");
  peer_->closed("the page was closed");
  peer_.reset();
  servers_->set_stopped(1, false);
  run(100ms);
}

}  // namespace held_replies_test
}  // namespace mayfly
