// SPDX-License-Identifier: Apache-2.0
// The append-only file around a server: what is in it, when it is safe, what a failing disk does,
// and how it is rewritten and switched on and off.

#include "server/persistence/aof_writer.h"

#include <gtest/gtest.h>

#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/monitoring/memory.h"
#include "server/persistence/background.h"
#include "server/persistence/persistence_fixture.h"

namespace mayfly {
namespace aof_writer_test {

class AofWriterTest : public RestartFixture {
 protected:
  bool is_refused(std::string_view line) {
    return run(line).starts_with("(error) MISCONF Errors writing to the AOF file: ");
  }

  const Config plain_ = config_with(false);
  const Config logged_ = config_with(true);
  const Config always_ = config_with(true, "always");
};

// ---- What is kept ----

TEST_F(AofWriterTest, EveryWriteIsThereAfterARestart) {
  start(logged_);
  run("SET k v EX 100");
  run("HSETEX h EX 50 FIELDS 2 a 1 b 2");
  run("HINCRBY h a 41");
  run("SELECT 3");
  run("INCR n");
  run("MULTI");
  run("INCR n");
  run("SET s t");
  run("EXEC");
  const std::string digest = run("DEBUG DIGEST");
  clock_.advance(Millis(10'000));
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("DEBUG DIGEST"), digest) << "no deadline may move";
  EXPECT_EQ(run("PTTL k"), "(integer) 90000");
  EXPECT_EQ(run("HGET h a"), "\"42\"");
}

TEST_F(AofWriterTest, WhatExpiredDoesNotComeBack) {
  start(logged_);
  run("HSETEX h PX 1000 FIELDS 2 a 1 b 2");
  run("HSET h c 3");
  run("SET k v PX 1000");
  clock_.advance(Millis(1000));
  EXPECT_EQ(run("HPERSIST h FIELDS 2 a c"), "[(integer) -2, (integer) -1]");
  EXPECT_EQ(run("HSET h b new"), "(integer) 1");
  fixture_->sweep();
  clock_.advance(Millis(-500));  // and a clock that goes back changes nothing
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("HMGET h a b c"), R"([(nil), "new", "3"])");
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
}

TEST_F(AofWriterTest, WithAlwaysAReplyIsAPromiseThatAPowerCutDoesNotBreak) {
  start(always_);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run("SET k" + std::to_string(i) + " v"), "OK");
  EXPECT_EQ(restart_after_power_cut(always_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 20");
}

TEST_F(AofWriterTest, AKillLosesNothingWhateverThePolicy) {
  for (const char* policy : {"always", "everysec", "no"}) {
    start(config_with(true, policy));
    run("SET " + std::string(policy) + " v");
    EXPECT_EQ(restart(config_with(true, policy)), "");
    EXPECT_EQ(run("GET " + std::string(policy)), "\"v\"") << policy;
  }
}

TEST_F(AofWriterTest, OffsetsTellWhatIsSafe) {
  start(always_);
  client_->run("SET k v");
  EXPECT_LT(persistence().aof().synced_offset(), persistence().aof().appended_offset());
  EXPECT_EQ(client_->client().written.aof, persistence().aof().appended_offset());
  turn();
  EXPECT_EQ(persistence().aof().synced_offset(), persistence().aof().appended_offset());
}

// ---- A disk that fails ----

TEST_F(AofWriterTest, AFullDiskRefusesWritesAndRecoversByItself) {
  start(logged_);
  run("SET k v");
  disk_.set_room(10);
  EXPECT_EQ(run("SET k w"), "OK");  // in its output; then it could not be written
  EXPECT_FALSE(client_->is_connected()) << "so that nobody takes it for safe";
  client_ = &fixture_->connect();
  EXPECT_TRUE(is_refused("SET k x"));
  EXPECT_TRUE(is_refused("PING"));
  EXPECT_EQ(run("GET k"), "\"w\"") << "reads go on";
  EXPECT_TRUE(info_has("aof_last_write_status:err"));
  EXPECT_TRUE(log_has("Cannot write the append-only file"));

  disk_.set_room(std::nullopt);
  turn();
  EXPECT_TRUE(is_refused("SET k x")) << "it is tried again after 100 ms";
  clock_.advance(Millis(100));
  turn();
  EXPECT_EQ(run("SET l y"), "OK");
  EXPECT_TRUE(info_has("aof_last_write_status:ok"));
  EXPECT_TRUE(log_has("can be written again"));
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["w", "y"])");
}

TEST_F(AofWriterTest, WhatWaitsToBeWrittenEvictsNoKeys) {
  start(logged_);
  for (int i = 0; i < 16; ++i) client_->run({"SET", "big", std::string(1 << 20, 'x')});
  const ServerParts& parts = server().parts();
  EXPECT_GT(parts.reclaimer.uncounted_memory(), 15U << 20);
  parts.config.maxmemory_policy = Eviction::allkeys_random;
  parts.config.maxmemory = used_memory() - (8U << 20);
  EXPECT_EQ(client_->run("SET k v"), "OK");
  EXPECT_EQ(client_->run("DBSIZE"), "(integer) 2");
  turn();
  EXPECT_LT(parts.reclaimer.uncounted_memory(), 1024U) << "it is written";
}

TEST_F(AofWriterTest, AFailureIsLoggedOnceAMinuteHoweverOftenItIsTried) {
  start(logged_);
  disk_.fail_next(FakeDisk::Op::write, 10);
  run("SET k v");
  for (int i = 0; i < 4; ++i) {
    clock_.advance(Millis(100));
    turn();
  }
  const auto said = [&] {
    return std::ranges::count_if(fixture_->lines, [](const std::string& line) {
      return line.find("Cannot write the append-only file") != std::string::npos;
    });
  };
  EXPECT_EQ(said(), 1);
  clock_.advance(Millis(60'000));
  turn();
  turn();
  EXPECT_EQ(said(), 2);
  EXPECT_TRUE(log_has("Writes are refused (MISCONF) until it works again (make room"));
}

TEST_F(AofWriterTest, ASweepGoesOnWhileTheDiskIsFullAndIsLoggedLater) {
  start(logged_);
  run("HSETEX h PX 1000 FIELDS 1 a 1");
  run("HSET h b 2");
  disk_.set_room(0);
  run("SET k v");
  client_ = &fixture_->connect();
  clock_.advance(Millis(1000));
  fixture_->sweep();
  EXPECT_EQ(run("HGETALL h"), R"(["b", "2"])");
  disk_.set_room(std::nullopt);
  clock_.advance(Millis(100));
  turn();
  EXPECT_EQ(restart(logged_), "");
  const ExecContext context = server().parts().reclaimer.context();
  Database& database = server().parts().keyspace[0];
  EXPECT_EQ(database.members(context, database.find(context, "h")).stored(), 1u);
}

TEST_F(AofWriterTest, WithAlwaysAClientWhoseWriteIsNotSafeIsClosedAndHearsNothing) {
  start(always_);
  TestClient& earlier = fixture_->connect("127.0.0.1:5001");
  TestClient& reader = fixture_->connect("127.0.0.1:5002");
  TestClient& transaction = fixture_->connect("127.0.0.1:5003");
  earlier.run("SET before v");
  turn();
  disk_.fail_next(FakeDisk::Op::sync);
  reader.run("GET before");
  transaction.run("MULTI");
  transaction.run("SET t v");
  transaction.run("EXEC");
  client_->run("SET k v");
  turn();
  EXPECT_EQ(client_->link().why_, "the append-only file could not be written");
  EXPECT_EQ(transaction.link().why_, "the append-only file could not be written");
  EXPECT_TRUE(earlier.is_connected());
  EXPECT_TRUE(reader.is_connected());
  EXPECT_TRUE(earlier.run("SET k w").starts_with("(error) MISCONF"));

  clock_.advance(Millis(100));
  turn();
  EXPECT_EQ(earlier.run("SET k w"), "OK");
}

// There a reply means that a kill loses nothing, so the kernel must have it.
TEST_F(AofWriterTest, WithEverysecAFailedSyncClosesNobodyAndAFailedWriteDoes) {
  start(logged_);
  disk_.fail_next(FakeDisk::Op::sync);
  run("SET k v");
  EXPECT_TRUE(client_->is_connected());
  disk_.fail_next(FakeDisk::Op::write);
  run("SET k w");
  EXPECT_FALSE(client_->is_connected());
}

// ---- Rewriting ----

TEST_F(AofWriterTest, ARewriteLosesNoWriteMadeMeanwhile) {
  start(logged_);
  run("SET a 1");
  run("SET n 0");
  fixture_->holds_children = true;
  EXPECT_EQ(run("BGREWRITEAOF"), "Background append only file rewriting started");
  EXPECT_EQ(run("BGREWRITEAOF"),
            "(error) ERR Background append only file rewriting already in progress");
  EXPECT_TRUE(info_has("aof_rewrite_in_progress:1"));
  run("SET b 2");
  run("INCR n");
  fixture_->holds_children = false;
  turn();
  run("INCR n");
  EXPECT_TRUE(info_has("aof_rewrite_in_progress:0"));
  EXPECT_TRUE(info_has("aof_rewrites:1"));
  EXPECT_FALSE(disk_.exists(kFirstIncrement)) << "the older files are gone";
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET a b n"), R"(["1", "2", "2"])");
}

TEST_F(AofWriterTest, ARewriteInATransactionWaitsForItsEnd) {
  start(logged_);
  client_->run("MULTI");
  client_->run("INCR n");
  client_->run("BGREWRITEAOF");
  client_->run("INCR n");
  EXPECT_EQ(client_->run("EXEC"),
            "[(integer) 1, Background append only file rewriting scheduled, (integer) 2]");
  EXPECT_TRUE(info_has("aof_rewrite_scheduled:1"));
  turn();
  turn();
  EXPECT_TRUE(info_has("aof_rewrites:1"));
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("GET n"), "\"2\"");
}

TEST_F(AofWriterTest, ARewriteWaitsForASave) {
  start(logged_);
  fixture_->holds_children = true;
  run("BGSAVE");
  EXPECT_EQ(run("BGREWRITEAOF"), "Background append only file rewriting scheduled");
  fixture_->holds_children = false;
  turn();
  turn();
  EXPECT_TRUE(info_has("aof_rewrites:1"));
}

TEST_F(AofWriterTest, ALogThatHasGrownIsRewritten) {
  Config config = logged_;
  config.auto_aof_rewrite_min_size = 2000;
  config.auto_aof_rewrite_percentage = 100;
  start(config);
  for (int i = 0; i < 20; ++i) run("SET k v");
  EXPECT_TRUE(info_has("aof_rewrites:0")) << "it is small";
  for (int i = 0; i < 80; ++i) run("SET k v");
  turn();
  EXPECT_TRUE(info_has("aof_rewrites:1"));
  EXPECT_LT(persistence().aof().log()->size(), 1000u);
  EXPECT_EQ(restart(config), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
}

TEST_F(AofWriterTest, APercentageOfZeroMeansNever) {
  Config config = logged_;
  config.auto_aof_rewrite_min_size = 1;
  config.auto_aof_rewrite_percentage = 0;
  start(config);
  for (int i = 0; i < 20; ++i) run("SET k v");
  EXPECT_TRUE(info_has("aof_rewrites:0"));
}

TEST_F(AofWriterTest, AFailedRewriteLosesNothingAndIsTriedAgainLater) {
  Config config = logged_;
  config.auto_aof_rewrite_min_size = 1;
  start(config);
  run("SET a 1");
  turn();
  for (int i = 0; i < 20; ++i) client_->run("SET a 1");
  disk_.fail_next(FakeDisk::Op::rename, 1);  // of the manifest that would begin it
  turn();
  turn();
  EXPECT_TRUE(info_has("aof_last_bgrewrite_status:err"));
  EXPECT_TRUE(info_has("aof_rewrites_consecutive_failures:1"));
  EXPECT_EQ(run("SET b 2"), "OK");
  clock_.advance(Millis(5000));
  turn();
  turn();
  EXPECT_TRUE(info_has("aof_last_bgrewrite_status:ok"));
  EXPECT_EQ(restart(config), "");
  EXPECT_EQ(run("MGET a b"), R"(["1", "2"])");
}

TEST_F(AofWriterTest, ALogThatIsOffCanBeRewrittenAndIsOffStill) {
  start(plain_);
  run("SET k v");
  EXPECT_EQ(run("BGREWRITEAOF"), "Background append only file rewriting started");
  EXPECT_TRUE(info_has("aof_enabled:0"));
  run("SET l w");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", (nil)])");
}

// ---- Switching on and off ----

TEST_F(AofWriterTest, SwitchedOnAtRunTimeItLosesNoWrite) {
  start(plain_);
  run("SET before 1");
  run("SET n 0");
  fixture_->holds_children = true;
  EXPECT_EQ(client_->run("CONFIG SET appendonly yes"), "OK");
  client_->run("INCR n");  // before the child is started
  turn();
  EXPECT_TRUE(info_has("aof_enabled:1"));
  EXPECT_TRUE(info_has("aof_rewrite_in_progress:1"));
  run("INCR n");
  run("SET between 2");
  EXPECT_EQ(persistence().aof().synced_offset(), 0u) << "nothing is promised yet";
  fixture_->holds_children = false;
  turn();
  run("INCR n");
  run("SET after 3");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET before between after n"), R"(["1", "2", "3", "3"])");
}

TEST_F(AofWriterTest, SwitchedOnInATransactionNothingIsDoneTwice) {
  start(plain_);
  client_->run("MULTI");
  client_->run("INCR n");
  client_->run("CONFIG SET appendonly yes");
  client_->run("INCR n");
  client_->run("EXEC");
  turn();
  turn();
  run("INCR n");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("GET n"), "\"3\"");
}

TEST_F(AofWriterTest, UntilTheFirstBaseIsWrittenAnOlderLogStays) {
  start(logged_);
  run("SET k old");
  run("CONFIG SET appendonly no");
  run("SET k new");
  fixture_->holds_children = true;
  run("CONFIG SET appendonly yes");
  run("SET l more");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["old", (nil)])");
}

TEST_F(AofWriterTest, AFirstBaseThatFailsIsTriedAgain) {
  start(plain_);
  run("SET k v");
  disk_.fail_next(FakeDisk::Op::create, 1, 1);  // after the look whether it can be begun
  EXPECT_EQ(run("CONFIG SET appendonly yes"), "OK");
  EXPECT_EQ(run("SET l w"), "OK");
  EXPECT_FALSE(disk_.exists(kManifest));
  EXPECT_TRUE(info_has("aof_last_write_status:err")) << "nothing is written to it";
  EXPECT_EQ(client_->run("WAITAOF 1 0 1000"), "") << "it waits";
  clock_.advance(Millis(1000));
  turn();
  EXPECT_EQ(client_->messages(), "[(integer) 0, (integer) 0]");
  clock_.advance(Millis(5000));
  turn();
  turn();
  run("SET m x");
  EXPECT_TRUE(info_has("aof_last_write_status:ok"));
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l m"), R"(["v", "w", "x"])");
}

TEST_F(AofWriterTest, WhereNoLogCanBeBegunItIsNotSwitchedOn) {
  start(plain_);
  disk_.put("./appendonlydir", "a file");
  const std::string reply = run("CONFIG SET appendonly yes timeout 5");
  EXPECT_TRUE(reply.starts_with("(error) ERR CONFIG SET failed")) << reply;
  EXPECT_NE(reply.find("File exists"), std::string::npos) << reply;
  EXPECT_EQ(run("CONFIG GET appendonly"), R"(["appendonly", "no"])");
  EXPECT_EQ(run("CONFIG GET timeout"), R"(["timeout", "0"])") << "all or none";
  EXPECT_TRUE(info_has("aof_enabled:0"));
  EXPECT_EQ(run("SET k v"), "OK");
  EXPECT_TRUE(run("WAITAOF 1 0 0").starts_with("(error) ERR WAITAOF"));
}

TEST_F(AofWriterTest, NothingCountsAsSyncedUntilTheFirstBaseIsThere) {
  start(plain_);
  run("SET before 1");
  fixture_->holds_children = true;
  EXPECT_EQ(run("BGSAVE"), "Background saving started");
  EXPECT_EQ(run("CONFIG SET appendonly yes"), "OK");
  run("SET k v");
  TestClient& other = fixture_->connect();
  EXPECT_EQ(client_->run("WAITAOF 1 0 0"), "");
  EXPECT_EQ(other.run("WAITAOF 1 0 0"), "") << "also of one that has written nothing";
  EXPECT_LT(persistence().aof().synced_offset(), persistence().aof().appended_offset())
      << "nor for a primary";
  fixture_->holds_children = false;
  turn();  // the snapshot is done, and the base begun
  turn();
  turn();
  EXPECT_EQ(client_->messages(), "[(integer) 1, (integer) 0]");
  EXPECT_EQ(other.messages(), "[(integer) 1, (integer) 0]");
  EXPECT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("MGET before k"), R"(["1", "v"])");
}

TEST_F(AofWriterTest, SwitchedOffThoseWhoWaitForItHearOfIt) {
  start(plain_);
  fixture_->holds_children = true;
  run("CONFIG SET appendonly yes");
  TestClient& other = fixture_->connect();
  other.run("SET k v");
  EXPECT_EQ(other.run("WAITAOF 1 0 0"), "");
  run("CONFIG SET appendonly no");
  EXPECT_TRUE(other.messages().starts_with("(error) ERR WAITAOF cannot be used"));
}

TEST_F(AofWriterTest, SwitchedOffAndOnTheRightClientsAreClosed) {
  start(logged_);
  run("SET k " + std::string(1000, 'v'));
  run("CONFIG SET appendonly no");
  run("CONFIG SET appendonly yes");
  turn();
  TestClient& safe = fixture_->connect();
  safe.run("SET safe 1");
  turn();
  disk_.set_room(0);
  TestClient& unsafe = fixture_->connect();
  unsafe.run("SET unsafe 1");
  turn();
  EXPECT_TRUE(safe.is_connected()) << "what it wrote is with the kernel";
  EXPECT_TRUE(client_->is_connected());
  EXPECT_FALSE(unsafe.is_connected());
}

TEST_F(AofWriterTest, AFolderOfAnotherServerIsNotUsed) {
  disk_.lock_elsewhere("./appendonlydir", "process 9, port 7000");
  EXPECT_NE(start(logged_).find("process 9, port 7000"), std::string::npos);
  start(plain_);
  EXPECT_NE(run("CONFIG SET appendonly yes").find("process 9, port 7000"), std::string::npos);
  run("BGREWRITEAOF");
  EXPECT_FALSE(disk_.exists(kManifest));
  disk_.lock_elsewhere("./appendonlydir", std::nullopt);
  EXPECT_EQ(run("CONFIG SET appendonly yes"), "OK");
  EXPECT_TRUE(disk_.is_locked("./appendonlydir"));
  run("CONFIG SET appendonly no");
  EXPECT_FALSE(disk_.is_locked("./appendonlydir"));
}

TEST_F(AofWriterTest, SwitchedOffItIsOnTheDiskAndTakesNoMore) {
  start(config_with(true, "no"));
  client_->run("SET k v");
  EXPECT_EQ(run("CONFIG SET appendonly no"), "OK");
  run("SET l w");
  EXPECT_TRUE(info_has("aof_enabled:0"));
  EXPECT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", (nil)])");
}

TEST_F(AofWriterTest, SwitchedOffARewriteEnds) {
  start(logged_);
  run("SET k v");
  fixture_->holds_children = true;
  run("BGREWRITEAOF");
  run("SET l w");
  run("CONFIG SET appendonly no");
  EXPECT_FALSE(server().parts().background.is_busy());
  EXPECT_TRUE(info_has("aof_last_bgrewrite_status:ok"));
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
}

TEST_F(AofWriterTest, SwitchedOffAFailureIsNoConcern) {
  start(logged_);
  disk_.fail_next(FakeDisk::Op::write, 100);
  run("SET k v");
  client_ = &fixture_->connect();
  EXPECT_TRUE(is_refused("SET k w"));
  EXPECT_EQ(run("CONFIG SET appendonly no"), "OK");
  EXPECT_EQ(run("SET k w"), "OK");
}

TEST_F(AofWriterTest, ThePolicyOfSyncingCanBeChanged) {
  start(config_with(true, "no"));
  run("SET k v");
  run("CONFIG SET appendfsync always");
  run("SET l w");
  EXPECT_EQ(persistence().aof().synced_offset(), persistence().aof().appended_offset());
  EXPECT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
}

TEST_F(AofWriterTest, OffsetsOnlyGrowWhenItIsSwitchedOffAndOn) {
  start(always_);
  run("SET k v");
  const std::uint64_t before = persistence().aof().appended_offset();
  run("CONFIG SET appendonly no");
  run("CONFIG SET appendonly yes");
  turn();
  run("SET k w");
  EXPECT_GT(persistence().aof().appended_offset(), before);
  EXPECT_EQ(persistence().aof().synced_offset(), persistence().aof().appended_offset());
}

// ---- Data from elsewhere ----

TEST_F(AofWriterTest, AfterAFullSynchronisationTheLogBeginsAnew) {
  start(logged_);
  run("SET old 1");
  // What a transfer from a primary does.
  server().parts().keyspace[0].clear();
  server().parts().keyspace[0].put_string(server().parts().reclaimer.context(), "new", "2");
  fixture_->holds_children = true;
  persistence().aof().restart();
  run("SET stream 3");
  EXPECT_EQ(disk_.bytes(kFirstIncrement).find("stream"), std::string::npos)
      << "the old log must not go on with the new data";
  fixture_->holds_children = false;
  turn();
  run("SET more 4");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET old new stream more"), R"([(nil), "2", "3", "4"])");
}

TEST_F(AofWriterTest, ACrashBeforeTheNewBaseLeavesTheOldData) {
  start(logged_);
  run("SET old 1");
  server().parts().keyspace[0].clear();
  fixture_->holds_children = true;
  persistence().aof().restart();
  run("SET stream 3");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET old stream"), R"(["1", (nil)])");
}

}  // namespace aof_writer_test
}  // namespace mayfly
