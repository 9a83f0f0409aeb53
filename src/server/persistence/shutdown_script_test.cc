// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SHUTDOWN NOSAVE while a script runs for long: the data at the next start has all of
// the script or nothing of it, and equals the data of the replicas.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "server/core/reclaimer.h"
#include "server/persistence/background.h"
#include "server/persistence/digest.h"
#include "server/persistence/persistence_fixture.h"
#include "server/replication/cluster_fixture.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace shutdown_script_test {

constexpr const char* kBegin = "redis.call('INCR', 'n') redis.call('LPUSH', 'l', 'x') ";
constexpr const char* kUntilGo = "while redis.call('EXISTS', 'go') == 0 do end ";
constexpr const char* kForever = "while true do end ";
constexpr const char* kEnd = "redis.call('INCR', 'n') redis.call('LPUSH', 'l', 'y') ";

constexpr const char* kNone = R"(["1", ["o"]])";
constexpr const char* kAll = R"(["3", ["y", "x", "o"]])";

std::string digest_in(ServerFixture& server) {
  const ServerParts& parts = server.server().parts();
  return digest_of(parts.reclaimer.context(), parts.keyspace).text();
}

// Snapshots, an append-only file that is in force, and one that has no base yet.
enum class Kept { snapshot, log, log_without_base };

class ShutdownScriptOnceTest : public RestartFixture {
 protected:
  void begin(Kept kept) {
    config_ = config_with(kept == Kept::log, "always");
    config_.busy_reply_threshold = 1;
    if (kept == Kept::snapshot) config_.save = {{3600, 1}};
    ASSERT_EQ(start(config_), "");
    run("INCR n");
    run("LPUSH l o");
    if (kept != Kept::log_without_base) return;
    run("SAVE");
    fixture_->holds_children = true;
    config_.appendonly = true;
    run("CONFIG SET appendonly yes");
    ASSERT_TRUE(persistence().needs_base());
  }

  // A script, and what happens when it runs for long: once.
  std::string eval(const std::string& code, std::function<void()> meanwhile) {
    fixture_->when_busy = [this, what = std::move(meanwhile), is_done = false]() mutable {
      if (!std::exchange(is_done, true)) what();
    };
    const std::string reply = client_->run({"EVAL", code, "0"});
    fixture_->when_busy = nullptr;
    return reply;
  }

  void sigterm() { persistence().shutdown().take_signal("TERM", {}); }
  void go() {
    const ServerParts& parts = server().parts();
    parts.keyspace[0].put_string(parts.reclaimer.context(), "go", "1");
  }
  std::string other(std::string_view line) { return fixture_->connect("127.0.0.1:5001").run(line); }

  // As the process does when its loop has ended. Then it starts again.
  std::string after_the_end() {
    EXPECT_TRUE(fixture_->is_shut_down);
    EXPECT_TRUE(persistence().shut_down(persistence().saves_at_end()));
    EXPECT_EQ(restart(config_), "");
    run("DEL go");
    return "[" + run("GET n") + ", " + run("LRANGE l 0 -1") + "]";
  }

  Config config_;
};

class ShutdownScriptTest : public ShutdownScriptOnceTest,
                           public testing::WithParamInterface<Kept> {};

TEST_P(ShutdownScriptTest, ASignalWaitsForAScriptThatHasWritten) {
  begin(GetParam());
  bool ends_at_once = false;
  eval(std::string(kBegin) + kUntilGo + kEnd, [&] {
    sigterm();
    ends_at_once = fixture_->is_shut_down;
    go();
  });
  EXPECT_FALSE(ends_at_once);
  EXPECT_FALSE(fixture_->is_shut_down);
  turn();
  EXPECT_EQ(after_the_end(), kAll);
}

TEST_P(ShutdownScriptTest, ASignalKillsAScriptThatHasWrittenNothing) {
  begin(GetParam());
  EXPECT_NE(eval(kForever, [&] { sigterm(); }).find("Script killed"), std::string::npos);
  turn();
  EXPECT_EQ(after_the_end(), kNone);
}

TEST_P(ShutdownScriptTest, ASecondSignalSavesNothingOfIt) {
  const Kept kept = GetParam();
  begin(kept);
  if (kept == Kept::snapshot) run("SAVE");
  eval(std::string(kBegin) + kForever, [&] {
    sigterm();
    sigterm();
  });
  EXPECT_TRUE(log_has("nothing of the script is kept"));
  config_.appendonly = kept == Kept::log;  // a file without a base is not loaded
  EXPECT_EQ(after_the_end(), kNone);
}

TEST_P(ShutdownScriptTest, ShutdownNosaveKeepsNothingOfItAndNeedsABase) {
  const Kept kept = GetParam();
  begin(kept);
  if (kept == Kept::snapshot) run("SAVE");
  std::string reply;
  std::string forced;
  eval(std::string(kBegin) + kForever, [&] {
    reply = other("SHUTDOWN NOSAVE");
    if (!reply.empty()) forced = other("SHUTDOWN NOSAVE FORCE");
  });
  EXPECT_EQ(reply, kept == Kept::log_without_base
                       ? "(error) ERR Errors trying to SHUTDOWN. Check logs."
                       : "");
  EXPECT_EQ(forced, "");
  config_.appendonly = kept == Kept::log;
  EXPECT_EQ(after_the_end(), kNone);
}

INSTANTIATE_TEST_SUITE_P(All, ShutdownScriptTest,
                         testing::Values(Kept::snapshot, Kept::log, Kept::log_without_base));

// A part of it is in memory: no client may see it, and no child may write it.
TEST_F(ShutdownScriptOnceTest, NothingElseIsAnsweredAfterwards) {
  begin(Kept::log);
  TestClient& late = fixture_->connect("127.0.0.1:5002");
  std::string reply = "none";
  eval(std::string(kBegin) + kForever, [&] {
    other("SHUTDOWN NOSAVE");
    reply = late.run("GET n");
  });
  EXPECT_EQ(reply, "");
  EXPECT_TRUE(late.link().closing());
  EXPECT_TRUE(client_->link().closing()) << "the one whose script it was";
  TestClient& another = fixture_->connect("127.0.0.1:5003");
  EXPECT_EQ(another.run("GET n"), "");
  turn();
  EXPECT_FALSE(server().parts().background.is_busy());
  EXPECT_EQ(after_the_end(), kNone);
}

TEST_F(ShutdownScriptOnceTest, ATransactionIsAbandonedAsAWhole) {
  begin(Kept::log);
  run("MULTI");
  run("INCR n");
  client_->run({"EVAL", kForever, "0"});
  run("INCR n");
  client_->run({"EVAL", kForever, "0"});
  fixture_->when_busy = [this] {
    if (fixture_->is_shut_down) return;
    EXPECT_EQ(other("SHUTDOWN NOSAVE"), "");
  };
  EXPECT_EQ(client_->run("EXEC").find("OK"), std::string::npos);
  EXPECT_EQ(after_the_end(), kNone);
}

TEST_F(ShutdownScriptOnceTest, AnAbortTakesTheSignalBack) {
  begin(Kept::snapshot);
  std::string aborted;
  eval(std::string(kBegin) + kUntilGo + kEnd, [&] {
    sigterm();
    aborted = other("SHUTDOWN ABORT");
    go();
  });
  EXPECT_EQ(aborted, "OK");
  turn();
  EXPECT_FALSE(fixture_->is_shut_down);
}

TEST_F(ShutdownScriptOnceTest, IfTheDataCannotBeSavedThenItGoesOnUntilTheSecondSignal) {
  begin(Kept::snapshot);
  eval(std::string(kBegin) + kUntilGo + kEnd, [&] {
    sigterm();
    go();
  });
  disk_.fail_next(FakeDisk::Op::create);
  turn();
  EXPECT_FALSE(fixture_->is_shut_down);
  EXPECT_TRUE(log_has("A second signal stops it anyway"));
  sigterm();
  EXPECT_EQ(after_the_end(), kAll);
}

// ---- With a replica ----

class ShutdownReplicaTest : public testing::TestWithParam<bool> {
 protected:
  static Config config() {
    Config config = ClusterFixture::cluster_config();
    config.busy_reply_threshold = 1;
    if (GetParam()) {
      config.appendonly = true;
      config.appendfsync = "always";
    } else {
      config.save = {{3600, 1}};
    }
    return config;
  }
  ShutdownReplicaTest() : cluster_(2, config()) {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(cluster_.server(i).parts().persistence.start());
    cluster_.follow(1, 0);
    EXPECT_TRUE(cluster_.run_until_quiet());
    cluster_.run(0, "SET old 1");
    EXPECT_TRUE(cluster_.run_until_quiet());
  }

  void eval(const std::string& code, std::function<void()> meanwhile) {
    cluster_[0].when_busy = [what = std::move(meanwhile), is_done = false]() mutable {
      if (!std::exchange(is_done, true)) what();
    };
    cluster_.run(0, {"EVAL", code, "0"});
  }
  Shutdown& shutdown() { return cluster_.server(0).parts().persistence.shutdown(); }

  // A stream that is resumed must be one that the replica can go on with: it has the same data.
  void expect_same_after_restart() {
    EXPECT_TRUE(cluster_[0].is_shut_down);
    Persistence& persistence = cluster_.server(0).parts().persistence;
    EXPECT_TRUE(persistence.shut_down(persistence.saves_at_end()));
    const ReplicationStream& replica = cluster_.server(1).parts().replication.stream();
    ServerFixture again(config(), nullptr, &cluster_[0].fake_disk());
    ASSERT_TRUE(again.server().parts().persistence.start());
    again.sweep();
    const ReplicationStream& stream = again.server().parts().replication.stream();
    const bool goes_on = stream.is_open() && stream.ids().former == replica.ids().id &&
                         stream.ids().former_end >= replica.log().end();
    EXPECT_EQ(goes_on, expects_resumption_);
    EXPECT_EQ(digest_in(again), cluster_.digest(1));
  }

  ClusterFixture cluster_;
  bool expects_resumption_ = false;
};

TEST_P(ShutdownReplicaTest, ASignalLeavesBothWithAllOfTheScript) {
  eval(std::string(kBegin) + kUntilGo + kEnd, [&] {
    shutdown().take_signal("TERM", {});
    const ServerParts& parts = cluster_.server(0).parts();
    parts.keyspace[0].put_string(parts.reclaimer.context(), "go", "1");
  });
  cluster_.run(0, "DEL go");
  for (int i = 0; i < 20 && !cluster_[0].is_shut_down; ++i) cluster_.turn();
  EXPECT_EQ(cluster_.run(1, "GET n"), "\"2\"");
  expects_resumption_ = true;
  expect_same_after_restart();
}

TEST_P(ShutdownReplicaTest, AnAbandonedScriptIsAtNeither) {
  cluster_.run(0, "BGSAVE");
  for (int i = 0; i < 5; ++i) cluster_.turn();
  eval(std::string(kBegin) + kForever, [&] {
    shutdown().take_signal("TERM", {});
    shutdown().take_signal("TERM", {});
  });
  for (int i = 0; i < 5; ++i) cluster_.turn();
  EXPECT_EQ(cluster_.run(1, "EXISTS n l"), "(integer) 0");
  // The snapshot has the offset of its data; the log gets no note of its end.
  expects_resumption_ = !GetParam();
  expect_same_after_restart();
}

INSTANTIATE_TEST_SUITE_P(SnapshotAndLog, ShutdownReplicaTest, testing::Bool());

}  // namespace shutdown_script_test
}  // namespace mayfly
