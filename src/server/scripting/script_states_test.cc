// SPDX-License-Identifier: Apache-2.0
// Scripts while the server refuses writes, lacks memory, follows a primary, or is paused; in
// transactions; and what they may take of memory.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/persistence/background.h"
#include "server/persistence/persistence.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace script_states_test {

using namespace std::chrono_literals;

constexpr const char* kGet = "return redis.call('GET', 'k') ";
constexpr const char* kSet = "local r = redis.call('SET', 'k', 1) return r";
constexpr const char* kDel = "local r = redis.call('DEL', 'k') return r";

std::string flagged(const std::string& flags, const std::string& code) {
  return "#!lua flags=" + flags + "\n" + code;
}

class ScriptStatesTest : public testing::Test, protected ServerFixture {
 protected:
  ScriptStatesTest() { client.run("SET k 0"); }

  std::string eval(const std::string& code) { return client.run({"EVAL", code, "0"}); }
  std::string eval_ro(const std::string& code) { return client.run({"EVAL_RO", code, "0"}); }
  Config& config() { return server().parts().config; }

  void fail_snapshot() {
    config().save = {{3600, 1}};
    fake_disk().fail_next(FakeDisk::Op::rename);
    EXPECT_TRUE(server().parts().persistence.snapshots().start(wall().now()));
    server().parts().background.poll();
  }

  TestClient& client = connect();
  TestClient& other = connect();
};

bool is_error(const std::string& reply, const std::string& begin) {
  return reply.starts_with("(error) " + begin);
}

// ---- Memory is full ----

TEST_F(ScriptStatesTest, WithoutMemoryAScriptFailsAtItsFirstWrite) {
  config().maxmemory = 1;
  EXPECT_EQ(eval(kGet), "\"0\"");
  EXPECT_EQ(eval("return 1"), "(integer) 1");
  EXPECT_EQ(eval(kSet),
            "(error) OOM command not allowed when used memory > 'maxmemory'. script: on "
            "@user_script:1.");
  EXPECT_EQ(eval("return redis.pcall('SET', 'k', 1).err"),
            "\"OOM command not allowed when used memory > 'maxmemory'.\"");
  EXPECT_EQ(client.run("GET k"), "\"0\"");
  EXPECT_EQ(eval(kDel), "(integer) 1");  // it frees
}

TEST_F(ScriptStatesTest, WhatAScriptHasBegunItMayFinishWithoutMemory) {
  config().maxmemory = 1;
  EXPECT_EQ(eval("redis.call('DEL', 'k') return redis.call('SET', 'k', 2)"), "OK");
}

TEST_F(ScriptStatesTest, FlagsSayWhetherAScriptRunsWithoutMemory) {
  config().maxmemory = 1;
  for (const std::string flags : {"", "allow-stale", "no-cluster"}) {
    EXPECT_EQ(eval(flagged(flags, "return 1")),
              "(error) OOM command not allowed when used memory > 'maxmemory'.")
        << flags;
  }
  EXPECT_EQ(eval(flagged("allow-oom", kSet)), "OK");
  EXPECT_EQ(eval(flagged("no-writes", kGet)), "\"1\"");
  EXPECT_EQ(eval(flagged("no-writes,allow-oom", kGet)), "\"1\"");
  EXPECT_EQ(eval_ro(kGet), "\"1\"");
}

// ---- Writes are refused ----

TEST_F(ScriptStatesTest, WritesAreRefusedAfterAFailedSnapshot) {
  fail_snapshot();
  EXPECT_EQ(eval(kGet), "\"0\"");
  EXPECT_TRUE(is_error(eval(kSet), "MISCONF ")) << eval(kSet);
  EXPECT_TRUE(eval(kSet).ends_with(" script: on @user_script:1.")) << eval(kSet);
  EXPECT_TRUE(is_error(eval(flagged("", "return 1")), "MISCONF "));
  EXPECT_TRUE(is_error(eval(flagged("allow-oom", kSet)), "MISCONF "));
  EXPECT_EQ(eval(flagged("no-writes", kGet)), "\"0\"");
  EXPECT_EQ(client.run("GET k"), "\"0\"");
}

TEST_F(ScriptStatesTest, WritesAreRefusedWithoutEnoughReplicas) {
  config().min_replicas_to_write = 1;
  EXPECT_EQ(eval(kGet), "\"0\"");
  EXPECT_TRUE(is_error(eval(kSet), "NOREPLICAS ")) << eval(kSet);
  EXPECT_EQ(eval(flagged("", "return 1")), "(error) NOREPLICAS Not enough good replicas to write.");
  EXPECT_EQ(eval(flagged("no-writes", kGet)), "\"0\"");
}

// ---- Replicas ----

class ScriptReplicaTest : public testing::Test {
 protected:
  ScriptReplicaTest() {
    cluster.run(0, "SET k 0");
    cluster.follow(1, 0);
    EXPECT_TRUE(cluster.run_until_quiet());
  }
  std::string eval(const std::string& code) { return cluster.run(1, {"EVAL", code, "0"}); }
  std::string eval_ro(const std::string& code) { return cluster.run(1, {"EVAL_RO", code, "0"}); }
  void lose_primary() {
    cluster.server(1).parts().config.replica_serve_stale_data = false;
    cluster.set_reachable(0, false);
    cluster.cut(1);
    cluster.turn();
  }

  ClusterFixture cluster{2};
};

TEST_F(ScriptReplicaTest, AReplicaRunsWhatOnlyReads) {
  EXPECT_EQ(eval(kGet), "\"0\"");
  EXPECT_EQ(eval_ro(kGet), "\"0\"");
  EXPECT_EQ(eval(flagged("no-writes", kGet)), "\"0\"");
  EXPECT_EQ(eval(kSet),
            "(error) READONLY You can't write against a read only replica. script: on "
            "@user_script:1.");
  EXPECT_EQ(eval(flagged("", kGet)),
            "(error) READONLY You can't write against a read only replica.");
  EXPECT_EQ(eval_ro(kSet),
            "(error) ERR Write commands are not allowed from read-only scripts. script: on "
            "@user_script:1.");
  cluster.server(1).parts().config.replica_read_only = false;
  EXPECT_EQ(eval(kSet), "OK");
}

TEST_F(ScriptReplicaTest, WithoutItsPrimaryItRunsWhatIsAllowedToBeStale) {
  lose_primary();
  const std::string stale =
      "(error) MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
  EXPECT_EQ(eval("return 1"), stale);
  EXPECT_EQ(eval_ro("return redis.call('GET', 'k')"), stale);
  EXPECT_EQ(eval(flagged("no-writes", "return 1")), stale);
  EXPECT_EQ(eval(flagged("no-writes,allow-stale", "return 1")), "(integer) 1");
  EXPECT_EQ(eval(flagged("no-writes,allow-stale", "return redis.call('ECHO', 'x')")), "\"x\"");
  EXPECT_EQ(eval(flagged("no-writes,allow-stale", "local r = redis.call('GET', 'k') return r")),
            "(error) ERR Can not execute the command on a stale replica script: on "
            "@user_script:2.");
  EXPECT_TRUE(is_error(eval(flagged("allow-stale", "return 1")), "READONLY "));
}

// ---- Pauses ----

TEST_F(ScriptStatesTest, APauseOfWritesHoldsScriptsThatMayWrite) {
  client.run("CLIENT PAUSE 100000 WRITE");
  EXPECT_EQ(eval_ro(kGet), "\"0\"");
  EXPECT_EQ(eval(flagged("no-writes", kGet)), "\"0\"");
  EXPECT_EQ(eval("return 1"), "");  // nobody knows before what it does
  EXPECT_TRUE(client.client().limits.is_paused);
  EXPECT_EQ(other.run({"EVAL", flagged("allow-oom", kSet), "0"}), "");
  TestClient& third = connect();
  third.run("CLIENT UNPAUSE");
  EXPECT_EQ(client.resume(), ":1\r\n");
  EXPECT_EQ(other.resume(), "+OK\r\n");
}

TEST_F(ScriptStatesTest, APauseOfAllHoldsEveryScript) {
  client.run("CLIENT PAUSE 100000 ALL");
  EXPECT_EQ(eval_ro("return 1"), "");
  other.run("CLIENT UNPAUSE");
  EXPECT_EQ(client.resume(), ":1\r\n");
}

TEST_F(ScriptStatesTest, DuringAPauseScriptsDeleteNothingThatHasExpired) {
  client.run("SET e v PX 10");
  client.run("CLIENT PAUSE 100000 WRITE");
  advance(20ms);
  EXPECT_EQ(eval_ro("return redis.call('GET', 'e')"), "(nil)");
  client.run("CLIENT UNPAUSE");
  propagated.clear();
  EXPECT_EQ(eval("return redis.call('GET', 'e')"), "(nil)");
  EXPECT_EQ(propagated, std::vector<std::string>{"0: UNLINK e"});
}

// ---- Transactions ----

TEST_F(ScriptStatesTest, ScriptsInTransactions) {
  client.run("MULTI");
  EXPECT_EQ(eval("return redis.call('INCR', 'k')"), "QUEUED");
  EXPECT_EQ(eval("return {err = 'MY error'}"), "QUEUED");
  EXPECT_EQ(eval("return ("), "QUEUED");
  EXPECT_EQ(client.run("EVALSHA " + std::string(40, 'a') + " 0"), "QUEUED");
  EXPECT_EQ(client.run("GET k"), "QUEUED");
  const std::string reply = client.run("EXEC");
  EXPECT_TRUE(reply.starts_with("[(integer) 1, (error) MY error, (error) ERR Error compiling"))
      << reply;
  EXPECT_TRUE(reply.ends_with("(error) NOSCRIPT No matching script. Please use EVAL., \"1\"]"))
      << reply;
}

TEST_F(ScriptStatesTest, ScriptsAreRefusedWhenTheyAreQueued) {
  config().maxmemory = 1;
  client.run("MULTI");
  EXPECT_TRUE(is_error(eval(kGet), "OOM "));  // a queue takes memory
  EXPECT_TRUE(is_error(client.run("EXEC"), "EXECABORT "));
  config().maxmemory = 0;
  client.run("MULTI");
  EXPECT_EQ(eval(flagged("", kSet)), "QUEUED");
  config().maxmemory = 1;
  EXPECT_TRUE(is_error(client.run("EXEC"), "EXECABORT Transaction discarded because of: OOM "));
  config().maxmemory = 0;
  client.run("MULTI");
  EXPECT_EQ(eval(flagged("allow-oom", kSet)), "QUEUED");
  config().maxmemory = 1;
  EXPECT_EQ(client.run("EXEC"), "[OK]");
}

TEST_F(ScriptStatesTest, AScriptThatWritesEndsAWatch) {
  client.run("WATCH k");
  other.run({"EVAL", kGet, "0"});
  client.run("MULTI");
  client.run("PING");
  EXPECT_EQ(client.run("EXEC"), "[PONG]");
  client.run("WATCH k");
  other.run({"EVAL", kSet, "0"});
  client.run("MULTI");
  client.run("PING");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
  client.run("WATCH k");
  eval(kSet);  // its own
  client.run("MULTI");
  client.run("PING");
  EXPECT_EQ(client.run("EXEC"), "(nil)");
}

TEST_F(ScriptStatesTest, AScriptsOwnClientIsInNoTransaction) {
  client.run("MULTI");
  eval("redis.call('SELECT', 5) return redis.call('SET', 'five', 1)");
  client.run("GET k");
  EXPECT_EQ(client.run("EXEC"), "[OK, \"0\"]");
  EXPECT_EQ(client.run("GET five"), "(nil)");
}

// ---- What a script may take ----

class ScriptMemoryTest : public ScriptStatesTest {
 protected:
  ScriptMemoryTest() { config().lua_memory_limit = 8 << 20; }

  const std::string kGrow = "local t = {} for i = 1, 1e9 do t[i] = {i} end";
  const std::string kNoMemory = "(error) ERR Error running script, not enough memory";
};

TEST_F(ScriptMemoryTest, AScriptWithoutEndIsStopped) {
  EXPECT_TRUE(eval(kGrow).starts_with("(error) ERR ")) << eval(kGrow);
  EXPECT_NE(eval(kGrow).find("not enough memory"), std::string::npos) << eval(kGrow);
  EXPECT_EQ(eval("return 1"), "(integer) 1");
  EXPECT_NE(eval("local s = 'x' while true do s = s .. s end").find("not enough memory"),
            std::string::npos);
  EXPECT_TRUE(eval("return string.rep('x', 2^30)").starts_with("(error) "));
  EXPECT_EQ(eval("return #string.rep('x', 1000000)"), "(integer) 1000000");
}

TEST_F(ScriptMemoryTest, ItMayCatchTheErrorAndTheServerLives) {
  const std::string caught = eval("pcall(function() " + kGrow + " end) return 1");
  EXPECT_TRUE(caught == "(integer) 1" || caught == kNoMemory) << caught;
  EXPECT_EQ(eval("return 1"), "(integer) 1");
  EXPECT_NE(eval("for i = 1, 5 do pcall(function() " + kGrow + " end) end " + kGrow)
                .find("not enough memory"),
            std::string::npos);
  EXPECT_EQ(eval("return redis.call('GET', 'k')"), "\"0\"");
}

TEST_F(ScriptMemoryTest, RepliesOfCommandsCountToo) {
  client.run({"SET", "large", std::string(1 << 20, 'x')});
  const std::string reply =
      eval("local t = {} for i = 1, 100 do t[i] = redis.call('GET', 'large') .. i end");
  EXPECT_NE(reply.find("not enough memory"), std::string::npos) << reply;
  EXPECT_EQ(eval("return #redis.call('GET', 'large')"), "(integer) 1048576");
}

TEST_F(ScriptMemoryTest, WhatItWroteBeforeStaysAndIsPropagated) {
  propagated.clear();
  eval("redis.call('SET', 'k', 5) " + kGrow);
  EXPECT_EQ(client.run("GET k"), "\"5\"");
  EXPECT_EQ(propagated, std::vector<std::string>{"0: SET k 5"});
}

TEST_F(ScriptMemoryTest, ManyKeysAndArgumentsAreNoProblem) {
  std::vector<std::string> words = {"EVAL", "return #ARGV", "0"};
  words.resize(200'000, "word");
  EXPECT_EQ(client.run(words), "(integer) 199997");
  EXPECT_EQ(eval("return #ARGV"), "(integer) 0");
}

}  // namespace script_states_test
}  // namespace mayfly
