// SPDX-License-Identifier: Apache-2.0
// SAVE, BGSAVE, the rules, and what happens when the disk does not do its part.

#include <gtest/gtest.h>

#include "server/core/server_call.h"
#include "server/persistence/persistence_fixture.h"

namespace mayfly {
namespace snapshots_test {

constexpr const char* kFile = "./dump.rdb";

class SnapshotsTest : public RestartFixture {
 protected:
  SnapshotsTest() { start(config_); }

  bool is_refused(std::string_view line) {
    return run(line).starts_with("(error) MISCONF Mayfly is configured to save RDB snapshots");
  }

  Config config_ = [] {
    Config config = config_with(false);
    config.save = {{60, 2}};
    return config;
  }();
};

TEST_F(SnapshotsTest, WhatWasSavedIsThereAfterARestart) {
  run("SET k v");
  run("HSET h a 1 b 2");
  run("HPEXPIREAT h " + in_ms(Millis(5000)) + " FIELDS 1 a");
  run("SET volatile v PXAT " + in_ms(Millis(9000)));
  EXPECT_EQ(run("SAVE"), "OK");
  run("SET later v");

  EXPECT_EQ(restart(config_), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_EQ(run("HPEXPIRETIME h FIELDS 2 a b"),
            "[(integer) " + in_ms(Millis(5000)) + ", (integer) -1]");
  EXPECT_EQ(run("PEXPIRETIME volatile"), "(integer) " + in_ms(Millis(9000)));
  EXPECT_EQ(run("GET later"), "(nil)");
  EXPECT_TRUE(info_has("rdb_last_load_keys_loaded:3"));
}

TEST_F(SnapshotsTest, WhatIsDueIsLeftOutByAPrimaryAndKeptByAReplica) {
  run("SET a 1 PXAT " + in_ms(Millis(1000)));
  run("HSETEX h PXAT " + in_ms(Millis(1000)) + " FIELDS 1 f v");
  run("SET b 2");
  run("SAVE");
  clock_.advance(Millis(1000));
  EXPECT_EQ(restart(config_), "");
  EXPECT_EQ(server().parts().keyspace[0].stored(), 1u);
  EXPECT_TRUE(info_has("rdb_last_load_keys_expired:2"));

  Config replica = config_;
  replica.replicaof_host = "127.0.0.1";
  EXPECT_EQ(restart(replica), "");
  EXPECT_TRUE(info_has("rdb_last_load_keys_expired:0"));
}

TEST_F(SnapshotsTest, AFailedSaveSaysWhyAndLeavesTheOldFile) {
  run("SET k old");
  run("SAVE");
  const std::string old = disk_.bytes(kFile);
  run("SET k new");
  disk_.fail_next(FakeDisk::Op::sync);
  EXPECT_TRUE(run("SAVE").starts_with("(error) ERR "));
  EXPECT_EQ(disk_.bytes(kFile), old);
  EXPECT_FALSE(disk_.exists("./temp-0-dump.rdb"));
  EXPECT_TRUE(log_has("Cannot save the data in './dump.rdb'"));
}

TEST_F(SnapshotsTest, AChildSavesWhatThereWasWhenItStarted) {
  run("SET a 1");
  fixture_->holds_children = true;
  EXPECT_EQ(run("BGSAVE"), "Background saving started");
  run("SET b 2");
  EXPECT_TRUE(info_has("rdb_bgsave_in_progress:1"));
  EXPECT_EQ(run("SAVE"), "(error) ERR Background save already in progress");
  EXPECT_EQ(run("BGSAVE"), "(error) ERR Background save already in progress");
  clock_.advance(Millis(3000));
  EXPECT_TRUE(info_has("rdb_current_bgsave_time_sec:3"));
  EXPECT_TRUE(info_has("current_save_keys_processed:1"));
  fixture_->holds_children = false;
  turn();
  EXPECT_TRUE(info_has("rdb_bgsave_in_progress:0"));
  EXPECT_TRUE(info_has("rdb_last_bgsave_time_sec:3"));
  EXPECT_TRUE(info_has("rdb_changes_since_last_save:1"));  // b
  EXPECT_TRUE(info_has("rdb_saves:1"));
  EXPECT_TRUE(info_has("total_forks:1"));
  EXPECT_EQ(run("LASTSAVE"), "(integer) 1700000003");
}

TEST_F(SnapshotsTest, BgsaveKnowsItsWords) {
  EXPECT_EQ(run("BGSAVE NOW"), "(error) ERR syntax error");
  EXPECT_EQ(run("BGSAVE SCHEDULE SCHEDULE"), "(error) ERR syntax error");
  EXPECT_EQ(run("BGSAVE SCHEDULE"), "Background saving started");
}

TEST_F(SnapshotsTest, ASaveWaitsForARewriteIfItIsScheduled) {
  fixture_->holds_children = true;
  run("BGREWRITEAOF");
  EXPECT_TRUE(run("BGSAVE").starts_with("(error) ERR Another child process is active"));
  EXPECT_EQ(run("BGSAVE SCHEDULE"), "Background saving scheduled");
  EXPECT_FALSE(disk_.exists(kFile));
  fixture_->holds_children = false;
  turn();
  EXPECT_TRUE(disk_.exists(kFile));
}

TEST_F(SnapshotsTest, ASaveInATransactionWaitsForItsEnd) {
  EXPECT_EQ(client_->run("MULTI"), "OK");
  client_->run("BGSAVE");
  client_->run("SET k v");
  EXPECT_EQ(client_->run("EXEC"), "[Background saving scheduled, OK]");
  EXPECT_FALSE(disk_.exists(kFile));
  turn();
  turn();
  EXPECT_EQ(restart(config_), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
}

TEST_F(SnapshotsTest, ASaveCanBeCancelledAndThatIsNoFailure) {
  EXPECT_EQ(run("BGSAVE CANCEL"),
            "(error) ERR Background saving is currently not in progress or scheduled");
  fixture_->holds_children = true;
  run("BGSAVE");
  EXPECT_EQ(run("BGSAVE CANCEL"), "Background saving cancelled");
  EXPECT_TRUE(info_has("rdb_bgsave_in_progress:0"));
  EXPECT_TRUE(info_has("rdb_last_bgsave_status:ok"));
  run("BGREWRITEAOF");
  run("BGSAVE SCHEDULE");
  EXPECT_EQ(run("BGSAVE CANCEL"), "Scheduled background saving cancelled");
}

TEST_F(SnapshotsTest, ARuleNeedsItsChangesAndItsTime) {
  run("SET a 1");
  clock_.advance(Millis(60'000));
  turn();
  EXPECT_FALSE(disk_.exists(kFile)) << "one change is not enough";
  run("SET b 2");
  turn();
  EXPECT_TRUE(disk_.exists(kFile));
  EXPECT_TRUE(info_has("rdb_changes_since_last_save:0"));

  run("MSET a 1 b 2 c 3");
  clock_.advance(Millis(59'999));
  turn();
  EXPECT_TRUE(info_has("rdb_saves:1")) << "a millisecond too early";
  clock_.advance(Millis(1));
  turn();
  turn();
  EXPECT_TRUE(info_has("rdb_saves:2"));
}

TEST_F(SnapshotsTest, RulesCanBeChanged) {
  run("MSET a 1 b 2");
  EXPECT_EQ(client_->run({"CONFIG", "SET", "save", ""}), "OK");
  clock_.advance(Millis(60'000));
  turn();
  EXPECT_FALSE(disk_.exists(kFile));
  EXPECT_EQ(client_->run({"CONFIG", "SET", "save", "5 1"}), "OK");
  turn();
  EXPECT_TRUE(disk_.exists(kFile));
}

TEST_F(SnapshotsTest, WritesAreRefusedAfterAFailureUntilASaveWorks) {
  run("SET a 1");
  disk_.fail_next(FakeDisk::Op::sync);
  EXPECT_EQ(run("BGSAVE"), "Background saving started");
  EXPECT_TRUE(info_has("rdb_last_bgsave_status:err"));
  EXPECT_TRUE(is_refused("SET a 2"));
  EXPECT_TRUE(is_refused("PING"));
  EXPECT_EQ(run("GET a"), "\"1\"");

  run("CONFIG SET stop-writes-on-bgsave-error no");
  EXPECT_EQ(run("SET a 2"), "OK");
  run("CONFIG SET stop-writes-on-bgsave-error yes");
  EXPECT_TRUE(is_refused("SET a 3"));

  EXPECT_EQ(run("BGSAVE"), "Background saving started");
  EXPECT_EQ(run("SET a 3"), "OK");
}

TEST_F(SnapshotsTest, AFailureMattersOnlyIfThereAreRules) {
  client_->run({"CONFIG", "SET", "save", ""});
  disk_.fail_next(FakeDisk::Op::create);
  run("BGSAVE");
  EXPECT_TRUE(info_has("rdb_last_bgsave_status:err"));
  EXPECT_EQ(run("SET a 1"), "OK");
}

TEST_F(SnapshotsTest, AFailedRuleIsTriedAgainAfterFiveSeconds) {
  run("MSET a 1 b 2");
  clock_.advance(Millis(60'000));
  disk_.fail_next(FakeDisk::Op::create, 2);
  turn();
  turn();
  EXPECT_EQ(disk_.count(FakeDisk::Op::create), 1);
  clock_.advance(Millis(4'999));
  turn();
  EXPECT_EQ(disk_.count(FakeDisk::Op::create), 1);
  clock_.advance(Millis(1));
  turn();
  turn();
  EXPECT_EQ(disk_.count(FakeDisk::Op::create), 2);
  clock_.advance(Millis(5'000));
  turn();
  turn();
  EXPECT_TRUE(disk_.exists(kFile));
  EXPECT_EQ(run("SET a 2"), "OK");
}

TEST_F(SnapshotsTest, LastsaveIsTheStartIfNothingWasSaved) {
  clock_.advance(Millis(5000));
  EXPECT_EQ(run("LASTSAVE"), "(integer) 1700000000");
}

}  // namespace snapshots_test
}  // namespace mayfly
