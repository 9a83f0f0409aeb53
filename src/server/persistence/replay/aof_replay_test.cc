// SPDX-License-Identifier: Apache-2.0
// Append-only files of other and older servers: with commands that change nothing or fail, with
// scripts, and with a command that a file must not run.

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "server/persistence/persistence_fixture.h"
#include "server/replication/replication.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace aof_replay_test {

class AofReplayTest : public RestartFixture {
 protected:
  static std::string request(std::initializer_list<std::string> words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
      bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return bytes;
  }
  // Why the server does not start with this log; empty if it does.
  std::string start_with(const std::string& commands) {
    disk_.put(kManifest, "file appendonly.aof.1.incr.aof seq 1 type i\n");
    disk_.put(kFirstIncrement, commands);
    client_ = nullptr;
    fixture_ = std::make_unique<ServerFixture>(config_, &clock_, &disk_);
    client_ = &fixture_->connect();
    before_loading_();
    const Status status = persistence().start();
    if (!status) return status.error().message;
    fixture_->sweep();
    return persistence().fatal() ? persistence().fatal()->message : std::string();
  }

  Config config_ = config_with(true);
  std::function<void()> before_loading_ = [] {};
  const std::string set_ = request({"SET", "k", "v"});
};

TEST_F(AofReplayTest, CommandsThatChangeNothingAreLeftOut) {
  EXPECT_EQ(start_with(set_ + request({"PING"}) + request({"GET", "k"}) +
                       request({"CONFIG", "SET", "maxmemory", "1"}) +
                       request({"REPLICAOF", "127.0.0.1", "1"}) + request({"SHUTDOWN", "NOSAVE"}) +
                       request({"SET", "l", "w"})),
            "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
  EXPECT_EQ(server().parts().config.maxmemory, 0U);
  EXPECT_FALSE(server().parts().replication.is_replica());
  EXPECT_FALSE(fixture_->is_shut_down);
  EXPECT_TRUE(log_has("5 commands of the append-only file change nothing"));
}

// As Redis 6 and older have it: a script is loaded, and run by its digest.
TEST_F(AofReplayTest, ScriptsAreLoadedAndFlushed) {
  const std::string code = "return redis.call('INCR', KEYS[1])";
  const std::string digest = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  const std::string load = request({"SCRIPT", "LOAD", "return 500"});
  EXPECT_EQ(start_with(load + request({"SCRIPT", "LOAD", code}) + set_), "");
  EXPECT_EQ(server().parts().scripting.count(), 2U);
  EXPECT_EQ(start_with(load + request({"SCRIPT", "FLUSH"}) + set_), "");
  EXPECT_EQ(server().parts().scripting.count(), 0U);
  EXPECT_EQ(run("GET k"), "\"v\"");
}

TEST_F(AofReplayTest, WritesThatFailAreLeftOutAndTheFileIsKept) {
  const std::string log = set_ + request({"LPUSH", "k", "x"}) + request({"INCR", "k"}) +
                          request({"EVAL", "return redis.call('INCR', 'k')", "0"}) +
                          request({"SET", "l", "w"});
  EXPECT_EQ(start_with(log), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
  EXPECT_TRUE(log_has("A command of the append-only file failed, and is left out: 'lpush': WRONG"));
  EXPECT_TRUE(log_has("3 commands of the append-only file failed"));
  run("BGREWRITEAOF");
  turn();
  EXPECT_EQ(disk_.bytes("./appendonlydir.failed-1/appendonly.aof.1.incr.aof").substr(0, log.size()),
            log);
}

// Others fail with the words of a RENAME of a key that was left out.
TEST_F(AofReplayTest, AKeyThatIsNotThereIsAFailureLikeOthers) {
  EXPECT_EQ(
      start_with(set_ + request({"LSET", "none", "0", "x"}) + request({"XSETID", "none", "1-1"}) +
                 request({"EVAL", "return redis.call('LSET', 'none', '0', 'x')", "0"}) +
                 request({"EVAL", "return redis.call('XSETID', 'none', '1-1')", "0"}) +
                 request({"RENAME", "none", "other"}) + request({"SET", "l", "w"})),
      "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
  EXPECT_TRUE(log_has("5 commands of the append-only file failed"));
}

TEST_F(AofReplayTest, AKeyThatWasLeftOutMayBeRenamed) {
  config_.drop_unsupported = true;
  config_.aof_load_failed_commands = false;
  const std::string left_out = request({"JSON.SET", "doc", "$", "1"});
  EXPECT_EQ(start_with(set_ + left_out + request({"RENAME", "doc", "other"}) +
                       request({"RENAMENX", "other", "third"})),
            "");
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_NE(start_with(set_ + left_out + request({"RENAME", "none", "other"})), "");
}

TEST_F(AofReplayTest, AReadWithTooFewWordsChangesNothingEither) {
  EXPECT_EQ(start_with(set_ + request({"GET"}) + request({"PING", "a", "b"})), "");
  EXPECT_TRUE(log_has("2 commands of the append-only file change nothing"));
  EXPECT_NE(start_with(set_ + request({"SET", "k"})), "");
}

TEST_F(AofReplayTest, WritesThatFailStopTheStartIfThatIsWanted) {
  config_.aof_load_failed_commands = false;
  const std::string why = start_with(set_ + request({"HSET", "k", "f", "v"}));
  EXPECT_NE(why.find("the command 'hset' failed: WRONGTYPE"), std::string::npos) << why;
  EXPECT_NE(why.find("aof-load-failed-commands"), std::string::npos) << why;
  EXPECT_EQ(start_with(set_ + request({"PING"})), "") << "it changes nothing, and does not fail";
}

// Its log was written while it was a primary, or by Redis 6 with the scripts themselves.
TEST_F(AofReplayTest, AReadOnlyReplicaRunsScriptsThatWrite) {
  config_.replica_serve_stale_data = false;
  before_loading_ = [this] { server().parts().replication.follow("127.0.0.1", 1); };
  EXPECT_EQ(start_with(request({"EVAL", "return redis.call('SET', 'k', 'v')", "0"}) +
                       request({"EVAL", "#!lua\nreturn redis.call('SET', 'l', 'w')", "0"})),
            "");
  EXPECT_FALSE(log_has("failed"));
  server().parts().config.replica_serve_stale_data = true;
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
  EXPECT_TRUE(run("SET k w").starts_with("(error) READONLY"));
}

TEST_F(AofReplayTest, MigrateIsRefused) {
  const std::string migrate = request({"MIGRATE", "127.0.0.1", "1", "k", "0", "1000"});
  EXPECT_EQ(start_with(set_ + migrate +
                       request({"EVAL", "redis.call('MIGRATE', '127.0.0.1', 1, 'k', 0, 9)", "0"})),
            "");
  EXPECT_TRUE(log_has("'migrate': ERR it is not accepted from an append-only file"));
  EXPECT_TRUE(log_has("'eval': ERR 'migrate' is not accepted from a primary or an append-only"));
  EXPECT_EQ(run("GET k"), "\"v\"");
  config_.aof_load_failed_commands = false;
  EXPECT_NE(start_with(set_ + migrate), "");
}

// While a script takes long, others are served, so that the server can be stopped.
TEST_F(AofReplayTest, AScriptThatTakesLongIsToldAndEndsWithTheServer) {
  config_.busy_reply_threshold = 1;
  std::string get;
  std::string kill;
  bool is_told = false;
  before_loading_ = [&] {
    fixture_->when_busy = [&] {
      if (is_told) return;
      get = client_->run("GET k");
      kill = client_->run("SCRIPT KILL");
      is_told = log_has("Slow script of the append-only file");
      persistence().shutdown().take_signal("TERM", {});
    };
  };
  const std::string log = set_ + request({"EVAL", "while true do end", "0"}) + set_;
  EXPECT_EQ(start_with(log), "");
  EXPECT_TRUE(fixture_->is_shut_down);
  EXPECT_TRUE(persistence().shut_down(persistence().saves_at_end()));
  EXPECT_EQ(disk_.bytes(kFirstIncrement), log);
  EXPECT_EQ(get, "(error) LOADING Mayfly is loading the dataset in memory");
  EXPECT_TRUE(kill.find("LOADING") != kill.npos || kill.find("UNKILLABLE") != kill.npos) << kill;
  EXPECT_TRUE(is_told);
}

}  // namespace aof_replay_test
}  // namespace mayfly
