// SPDX-License-Identifier: Apache-2.0
// Time stands still in a script; what it wrote is propagated as one unit, with absolute deadlines.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace script_effects_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

// A millisecond passes at every reading.
class TickingClock final : public Clock {
 public:
  TickingClock() : Clock(read) {}

 private:
  static std::int64_t read(const Clock& clock) noexcept {
    return ++static_cast<const TickingClock&>(clock).millis_;
  }
  Millis nap(Millis left) const override { return left; }

  mutable std::int64_t millis_ = 1'700'000'000'000;
};

class ScriptEffectsTest : public testing::Test, protected ServerFixture {
 protected:
  std::string eval(const std::string& code, const std::vector<std::string>& words = {"0"}) {
    std::vector<std::string> all = {"EVAL", code};
    all.insert(all.end(), words.begin(), words.end());
    return client.run(all);
  }
  // What a script propagates.
  Lines effects_of(const std::string& code) {
    propagated.clear();
    eval(code);
    return propagated;
  }
  std::string in_ms(Millis from_now) const {
    return std::to_string((wall().now() + from_now).time_since_epoch().count());
  }

  TestClient& client = connect();
  TestClient& other = connect();
};

// ---- Time ----

class TickingServer : public ServerHost {
 public:
  TickingServer() { server_.parts().propagation.add_sink(record_); }

  void shut_down() override {}
  Disk& disk() override { return disk_; }
  Result<std::unique_ptr<Child>> start_child(const ChildWork&, const std::vector<int>&) override {
    return Error{Code::io, "no children"};
  }
  void connect(const std::string&, int, Acceptor,
               std::function<void(const Error&)> failed) override {
    failed(Error{Code::io, "nobody is there"});
  }
  Result<std::unique_ptr<BlockingStream>> connect_blocking(const std::string&, int,
                                                           Millis) override {
    return Error{Code::io, "nobody is there"};
  }
  const Clock& lease_clock() const override { return clock_; }

  TickingClock clock_;
  FakeDisk disk_;
  Log log_{[](Level, std::string_view) {}};
  PropagationRecord record_;
  Server server_{clock_, Config{}, log_, *this};
  TestClient client_{server_, "127.0.0.1:5000"};
};

TEST(ScriptTime, IsTheSameAtEachCall) {
  TickingServer server;
  EXPECT_NE(server.client_.run("TIME"), server.client_.run("TIME"));
  EXPECT_EQ(server.client_.run({"EVAL",
                                "local a = redis.call('TIME') local b = redis.call('TIME') "
                                "return a[1] == b[1] and a[2] == b[2]",
                                "0"}),
            "(integer) 1");
}

TEST(ScriptTime, NothingExpiresBetweenTwoCalls) {
  TickingServer server;
  const std::string code =
      "redis.call('SET', 'k', 'v', 'PX', 3) redis.call('HSET', 'h', 'f', 'v') "
      "redis.call('HPEXPIRE', 'h', 3, 'FIELDS', 1, 'f') "
      "for i = 1, 50 do "
      "  if not redis.call('GET', 'k') then return 'the key is gone' end "
      "  if not redis.call('HGET', 'h', 'f') then return 'the field is gone' end "
      "  if redis.call('PTTL', 'k') ~= 3 then return 'time moves' end "
      "  if redis.call('EXISTS', 'h') ~= 1 then return 'the hash is gone' end "
      "end "
      "return 'all there'";
  EXPECT_EQ(server.client_.run({"EVAL", code, "0"}), "\"all there\"");
  for (int i = 0; i < 5; ++i) server.client_.run("PING");
  EXPECT_EQ(server.client_.run("GET k"), "(nil)");
  EXPECT_EQ(server.client_.run("HGET h f"), "(nil)");
}

TEST(ScriptTime, StandsStillInATransactionOfScripts) {
  TickingServer server;
  server.client_.run("MULTI");
  for (int i = 0; i < 3; ++i) {
    server.client_.run({"EVAL", "return redis.call('TIME')[2]", "0"});
  }
  server.client_.run("TIME");
  const std::string reply = server.client_.run("EXEC");
  const std::size_t at = reply.find('"');
  const std::string micros = reply.substr(at, reply.find('"', at + 1) + 1 - at);
  EXPECT_TRUE(reply.starts_with("[" + micros + ", " + micros + ", " + micros + ", ")) << reply;
  EXPECT_TRUE(reply.ends_with(micros + "]]")) << reply;
}

TEST(ScriptTime, DeadlinesOfAScriptAreOfOneMoment) {
  TickingServer server;
  server.client_.run(
      {"EVAL", "for i = 1, 3 do redis.call('SET', 'k' .. i, 'v', 'EX', 10) end", "0"});
  ASSERT_EQ(server.record_.lines.size(), 5u);
  std::string deadline = server.record_.lines[1].substr(server.record_.lines[1].rfind(' '));
  EXPECT_EQ(server.record_.lines[1], "0: SET k1 v PXAT" + deadline);
  EXPECT_EQ(server.record_.lines[2], "0: SET k2 v PXAT" + deadline);
  EXPECT_EQ(server.record_.lines[3], "0: SET k3 v PXAT" + deadline);
}

TEST_F(ScriptEffectsTest, WhatExpiredBeforeIsGoneInAScript) {
  client.run("SET k v PX 10");
  client.run("HSET h f v g w");
  client.run("HPEXPIRE h 10 FIELDS 1 f");
  advance(10ms);
  EXPECT_EQ(eval("return {redis.call('EXISTS', 'k'), redis.call('HLEN', 'h'), "
                 "redis.call('HGETALL', 'h')}"),
            R"([(integer) 0, (integer) 1, ["g", "w"]])");
}

TEST_F(ScriptEffectsTest, ADeadlineInThePastDeletesAtOnce) {
  EXPECT_EQ(eval("redis.call('SET', 'k', 'v') redis.call('PEXPIREAT', 'k', 1) "
                 "return redis.call('EXISTS', 'k')"),
            "(integer) 0");
}

// ---- Propagation ----

TEST_F(ScriptEffectsTest, SeveralWritesAreOneUnit) {
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1) redis.call('GET', 'a') redis.call('INCR', 'a')"),
            (Lines{"0: MULTI", "0: SET a 1", "0: INCR a", "0: EXEC"}));
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1)"), Lines{"0: SET a 1"});
}

TEST_F(ScriptEffectsTest, DeadlinesAreAbsolute) {
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1, 'EX', 10) redis.call('PEXPIRE', 'a', 500)"),
            (Lines{"0: MULTI", "0: SET a 1 PXAT " + in_ms(10s), "0: PEXPIREAT a " + in_ms(500ms),
                   "0: EXEC"}));
  EXPECT_EQ(effects_of("redis.call('HSET', 'h', 'f', 1) "
                       "redis.call('HEXPIRE', 'h', 10, 'FIELDS', 1, 'f')"),
            (Lines{"0: MULTI", "0: HSET h f 1", "0: HPEXPIREAT h " + in_ms(10s) + " FIELDS 1 f",
                   "0: EXEC"}));
}

TEST_F(ScriptEffectsTest, ReadingPropagatesNothing) {
  client.run("SET k v");
  EXPECT_EQ(effects_of("return redis.call('GET', 'k')"), Lines{});
  EXPECT_EQ(effects_of("return redis.call('DEL', 'none')"), Lines{});
  EXPECT_EQ(effects_of("redis.call('GET', 'k') error('x')"), Lines{});
  EXPECT_EQ(effects_of("redis.call('NOSUCH') redis.call('SET', 'k', 1)"), Lines{});
  EXPECT_EQ(effects_of("return ("), Lines{});
  propagated.clear();
  client.run({"SCRIPT", "LOAD", "return redis.call('SET', 'k', 1)"});
  client.run("SCRIPT FLUSH");
  EXPECT_EQ(propagated, Lines{});
}

TEST_F(ScriptEffectsTest, AFailureLeavesWhatWasWritten) {
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1) redis.call('SET', 'b', 2) error('x')"),
            (Lines{"0: MULTI", "0: SET a 1", "0: SET b 2", "0: EXEC"}));
  EXPECT_EQ(client.run("MGET a b"), R"(["1", "2"])");
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1) redis.call('HSET', 'a', 'f', 'v')"),
            Lines{"0: SET a 1"});
}

TEST_F(ScriptEffectsTest, WhatExpiresIsDeletedWithinTheUnit) {
  client.run("SET e v PX 10");
  client.run("HSET h f v g w");
  client.run("HPEXPIRE h 10 FIELDS 1 f");
  advance(10ms);
  EXPECT_EQ(effects_of("redis.call('GET', 'e') redis.call('HGET', 'h', 'f') "
                       "redis.call('SET', 'a', 1)"),
            (Lines{"0: MULTI", "0: UNLINK e", "0: HDEL h f", "0: SET a 1", "0: EXEC"}));
}

TEST_F(ScriptEffectsTest, DatabasesAreTold) {
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1) redis.call('SELECT', 2) "
                       "redis.call('SET', 'b', 2)"),
            (Lines{"0: MULTI", "0: SET a 1", "2: SET b 2", "0: EXEC"}));
}

TEST_F(ScriptEffectsTest, ScriptsInATransactionAreOneUnit) {
  propagated.clear();
  client.run("MULTI");
  client.run("SET a 1");
  eval("redis.call('SET', 'b', 2) redis.call('SET', 'c', 3)");
  eval("return redis.call('GET', 'a')");
  client.run("SET d 4");
  client.run("EXEC");
  EXPECT_EQ(propagated,
            (Lines{"0: MULTI", "0: SET a 1", "0: SET b 2", "0: SET c 3", "0: SET d 4", "0: EXEC"}));
}

TEST_F(ScriptEffectsTest, RandomResultsArePropagatedAsTheyWere) {
  client.run("SADD s a b c d e f g h");
  for (int i = 0; i < 5; ++i) {
    const Lines effects = effects_of("return redis.call('SPOP', 's')");
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_TRUE(effects[0].starts_with("0: SREM s ")) << effects[0];
  }
  EXPECT_EQ(effects_of("redis.call('INCRBYFLOAT', 'n', 1.5)").at(0).substr(0, 12), "0: SET n 1.5");
}

TEST_F(ScriptEffectsTest, MessagesArePropagated) {
  EXPECT_EQ(effects_of("redis.call('PUBLISH', 'c', 'm')"), Lines{"0: PUBLISH c m"});
  other.run("SUBSCRIBE c");
  eval("redis.call('PUBLISH', 'c', 'one') redis.call('PUBLISH', 'c', 'two')");
  EXPECT_EQ(other.messages(), R"(["message", "c", "one"] ["message", "c", "two"])");
}

// ---- redis.set_repl() ----

TEST_F(ScriptEffectsTest, AScriptMaySayWhatIsPropagated) {
  EXPECT_EQ(effects_of("redis.set_repl(redis.REPL_NONE) redis.call('SET', 'a', 1) "
                       "redis.set_repl(redis.REPL_ALL) redis.call('SET', 'b', 2)"),
            Lines{"0: SET b 2"});
  EXPECT_EQ(client.run("GET a"), "\"1\"");
  EXPECT_EQ(effects_of("redis.set_repl(redis.REPL_NONE) redis.call('SET', 'a', 1)"), Lines{});
  EXPECT_EQ(effects_of("redis.call('SET', 'a', 1)"), Lines{"0: SET a 1"});  // only for one script
  EXPECT_TRUE(eval("redis.set_repl(64)").starts_with("(error) ERR Invalid replication flags."));
  EXPECT_TRUE(eval("redis.set_repl()").starts_with("(error) ERR server.set_repl() requires one"));
}

// A target that is only the file, or only the replicas.
class OneTarget final : public PropagationSink {
 public:
  explicit OneTarget(unsigned target) : target_(target) {}
  unsigned target() const override { return target_; }
  void take(int database, std::string_view command) override { record.take(database, command); }

  PropagationRecord record;

 private:
  unsigned target_;
};

TEST_F(ScriptEffectsTest, TargetsGetWhatIsForThem) {
  OneTarget file(propagate_to::aof);
  OneTarget replicas(propagate_to::replicas);
  server().parts().propagation.add_sink(file);
  server().parts().propagation.add_sink(replicas);
  eval(
      "redis.call('SET', 'a', 1) redis.set_repl(redis.REPL_AOF) redis.call('SET', 'b', 2) "
      "redis.set_repl(redis.REPL_REPLICA) redis.call('SET', 'c', 3)");
  EXPECT_EQ(file.record.lines, (Lines{"0: MULTI", "0: SET a 1", "0: SET b 2", "0: EXEC"}));
  EXPECT_EQ(replicas.record.lines, (Lines{"0: MULTI", "0: SET a 1", "0: SET c 3", "0: EXEC"}));
  file.record.lines.clear();
  replicas.record.lines.clear();
  eval("redis.set_repl(redis.REPL_SLAVE) redis.call('SET', 'c', 3)");
  EXPECT_EQ(file.record.lines, Lines{});
  EXPECT_EQ(replicas.record.lines, Lines{"0: SET c 3"});
}

// ---- Replicas ----

TEST(ScriptReplication, AReplicaHasTheSame) {
  ClusterFixture cluster(2);
  cluster.follow(1, 0);
  ASSERT_TRUE(cluster.run_until_quiet());
  cluster.run(0, {"EVAL",
                  "for i = 1, 10 do redis.call('SET', 'k' .. i, math.random()) end "
                  "redis.call('SELECT', 3) redis.call('SADD', 's', 'a', 'b', 'c') "
                  "redis.call('SPOP', 's') redis.call('SET', 'e', 'v', 'PX', 5000)",
                  "0"});
  ASSERT_TRUE(cluster.run_until_quiet());
  EXPECT_EQ(cluster.digest(0), cluster.digest(1));
  EXPECT_EQ(cluster.run(1, "DBSIZE"), "(integer) 10");
  EXPECT_EQ(cluster.run(0, "WAIT 1 0"), "");
  for (int i = 0; i < 8; ++i) {
    cluster.advance(Millis(250));
    cluster.turn();
  }
  EXPECT_EQ(cluster.client(0).messages(), "(integer) 1");  // WAIT counts what a script wrote
}

}  // namespace script_effects_test
}  // namespace mayfly
