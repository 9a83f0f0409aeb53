// SPDX-License-Identifier: Apache-2.0
// What is loaded at the start, what stops a start, and what is left at the end.

#include "server/persistence/persistence.h"

#include <gtest/gtest.h>

#include <tuple>

#include "server/core/key_events.h"
#include "server/core/server_call.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence_fixture.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace persistence_test {

constexpr const char* kFile = "./dump.rdb";

// REDIS0010, database 0, then what is given, and an end without a checksum.
std::string rdb_file(const std::string& entries) {
  std::string file = "REDIS0010";
  file += std::string("\xFE\x00", 2);
  file += entries;
  file += '\xFF';
  return file + std::string(8, '\0');
}

class PersistenceTest : public RestartFixture {
 protected:
  // A log of this, as if it had always been there.
  void put_log(const std::string& commands) {
    disk_.put(kManifest, "file appendonly.aof.1.incr.aof seq 1 type i\n");
    disk_.put(kFirstIncrement, commands);
  }
  static std::string request(std::initializer_list<std::string> words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
      bytes += "$" + std::to_string(word.size()) + "\r\n";
      bytes += word + "\r\n";
    }
    return bytes;
  }

  const Config plain_ = config_with(false);
  const Config logged_ = config_with(true);
};

TEST_F(PersistenceTest, AServerWithoutFilesStartsEmpty) {
  EXPECT_EQ(start(plain_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  EXPECT_EQ(start(logged_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  EXPECT_TRUE(disk_.exists(kManifest));
}

TEST_F(PersistenceTest, ClientsHearThatItLoads) {
  disk_.put(kFile, rdb_file(std::string("\x00\x01k\x01v", 5)));
  fixture_ = std::make_unique<ServerFixture>(plain_, &clock_, &disk_);
  client_ = &fixture_->connect();
  ASSERT_TRUE(persistence().start());
  EXPECT_EQ(client_->run("GET k"), "(error) LOADING Mayfly is loading the dataset in memory");
  EXPECT_TRUE(info_has("loading:1"));
  EXPECT_TRUE(info_has("loading_start_time:1700000000"));
  EXPECT_TRUE(info_has("loading_total_bytes:25"));
  EXPECT_TRUE(info_has("loading_loaded_perc:0.00"));
  fixture_->sweep();
  EXPECT_TRUE(info_has("loading:0"));
  EXPECT_EQ(client_->run("GET k"), "\"v\"");
}

TEST_F(PersistenceTest, TheLogCountsMoreThanTheSnapshotIfItIsSwitchedOn) {
  disk_.put(kFile, rdb_file(std::string("\x00\x01k\x03rdb", 7)));
  put_log(request({"SELECT", "0"}) + request({"SET", "k", "aof"}));
  EXPECT_EQ(start(logged_), "");
  EXPECT_EQ(run("GET k"), "\"aof\"");
  EXPECT_EQ(start(plain_), "");
  EXPECT_EQ(run("GET k"), "\"rdb\"");
}

TEST_F(PersistenceTest, WithoutALogTheSnapshotIsLoadedAndIsItsBase) {
  disk_.put(kFile, rdb_file(std::string("\x00\x01k\x03rdb", 7)));
  EXPECT_EQ(start(logged_), "");
  EXPECT_EQ(run("GET k"), "\"rdb\"");
  run("SET l log");
  ASSERT_TRUE(disk_.remove(kFile));
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["rdb", "log"])");
}

TEST_F(PersistenceTest, TheOldLayoutOfOneFileIsTakenOver) {
  disk_.put("./appendonly.aof", request({"SET", "k", "v"}));
  EXPECT_EQ(start(logged_), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
  run("SET l w");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
}

TEST_F(PersistenceTest, ADamagedSnapshotStopsTheStartWithKeyAndOffset) {
  disk_.put(kFile, rdb_file(std::string("\x00\x01k\x01v\x00\x03"
                                        "bad\x7Fv",
                                        12)));
  const std::string why = start(plain_);
  EXPECT_NE(why.find("cannot load './dump.rdb'"), std::string::npos) << why;
  EXPECT_NE(why.find("bad"), std::string::npos) << why;
  EXPECT_NE(why.find("offset"), std::string::npos) << why;
  EXPECT_TRUE(fixture_->is_shut_down);
  EXPECT_TRUE(log_has(why));
  const std::string damaged = disk_.bytes(kFile);
  EXPECT_TRUE(persistence().shut_down(true));
  EXPECT_EQ(disk_.bytes(kFile), damaged) << "half a data set must not be saved over it";
}

TEST_F(PersistenceTest, WhatIsNotHeldIsRefusedOrLeftOutAndTheFileIsKept) {
  // Two libraries of functions, and a string.
  const std::string libraries = "\xF5\x03one\xF5\x03two";
  disk_.put(kFile, rdb_file(libraries + std::string("\x00\x01k\x01v", 5)));
  const std::string before = disk_.bytes(kFile);
  EXPECT_NE(start(plain_).find("'./dump.rdb' has keys of unsupported types: 2 of type function"),
            std::string::npos);
  EXPECT_TRUE(fixture_->is_shut_down);
  EXPECT_EQ(disk_.bytes(kFile), before);

  Config dropping = plain_;
  dropping.drop_unsupported = true;
  disk_.put("./dump.rdb.unsupported-1", "of another time");
  EXPECT_EQ(start(dropping), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
  EXPECT_TRUE(log_has("2 of type function. They are left out"));
  EXPECT_FALSE(disk_.exists("./dump.rdb.unsupported-2"));
  EXPECT_EQ(run("SAVE"), "OK");
  EXPECT_NE(disk_.bytes(kFile), before);
  EXPECT_EQ(disk_.bytes("./dump.rdb.unsupported-1"), "of another time");
  EXPECT_EQ(disk_.bytes("./dump.rdb.unsupported-2"), before);
  run("BGSAVE");
  EXPECT_FALSE(disk_.exists("./dump.rdb.unsupported-3")) << "once";
  EXPECT_EQ(restart(plain_), "");
}

TEST_F(PersistenceTest, ASaveThatCannotKeepTheFileAsideIsRefused) {
  disk_.put(kFile, rdb_file("\xF5\x03one"));
  Config dropping = plain_;
  dropping.drop_unsupported = true;
  const std::string before = disk_.bytes(kFile);
  EXPECT_EQ(start(dropping), "");
  disk_.fail_next(FakeDisk::Op::create);  // of the second name
  EXPECT_TRUE(run("BGSAVE").starts_with("(error)"));
  EXPECT_EQ(disk_.bytes(kFile), before);
  EXPECT_EQ(run("BGSAVE"), "Background saving started");
  EXPECT_EQ(disk_.bytes("./dump.rdb.unsupported-1"), before);
}

TEST_F(PersistenceTest, DebugReloadSaysWhatItCannotHold) {
  EXPECT_EQ(start(plain_), "");
  disk_.put(kFile, rdb_file("\xF5\x03one"));
  EXPECT_NE(run("DEBUG RELOAD NOSAVE").find("1 of type function"), std::string::npos);
  EXPECT_EQ(run("SAVE"), "OK");
  EXPECT_TRUE(disk_.exists("./dump.rdb.unsupported-1"));
}

TEST_F(PersistenceTest, CommandsOnTypesThatAreNotHeldAreCountedOrLeftOut) {
  const std::string log = request({"SET", "k", "v"}) + request({"JSON.SET", "l", "x"}) +
                          request({"json.set", "l", "y"}) + request({"JSON.MSET", "m", "x"}) +
                          request({"VADD", "z", "a", "b"}) + request({"RENAME", "z", "y"}) +
                          request({"SET", "n", "w"});
  put_log(log);
  const std::string why = start(logged_);
  EXPECT_NE(why.find("2 of type json"), std::string::npos) << why;
  EXPECT_NE(why.find("1 of type vectorset"), std::string::npos) << why;
  EXPECT_TRUE(fixture_->is_shut_down);

  Config dropping = logged_;
  dropping.drop_unsupported = true;
  EXPECT_EQ(start(dropping), "");
  EXPECT_EQ(run("MGET k n"), R"(["v", "w"])");
  EXPECT_EQ(run("DBSIZE"), "(integer) 2");
  run("SET later 1");
  EXPECT_FALSE(disk_.exists("./appendonlydir.unsupported-1"));
  run("BGREWRITEAOF");
  turn();
  const std::string kept = "./appendonlydir.unsupported-1/appendonly.aof.";
  EXPECT_TRUE(disk_.bytes(kept + "1.incr.aof").starts_with(log));
  EXPECT_TRUE(disk_.exists(kept + "manifest"));
  EXPECT_FALSE(disk_.exists(kFirstIncrement));
  EXPECT_EQ(restart(logged_), "") << "what is there now can be held";
  EXPECT_EQ(run("MGET k n later"), R"(["v", "w", "1"])");
}

TEST_F(PersistenceTest, AFolderOfAnotherServerIsNotUsed) {
  disk_.lock_elsewhere(".", "process 9, port 7000");
  disk_.put(kFile, "of another server");
  const std::string why = start(plain_);
  EXPECT_NE(why.find("process 9, port 7000 (stop that server, or choose another folder: --dir)"),
            std::string::npos)
      << why;
  EXPECT_TRUE(run("SAVE").starts_with("(error)"));
  EXPECT_EQ(disk_.bytes(kFile), "of another server");
}

TEST_F(PersistenceTest, ASnapshotSaysWhoWroteItAsInfoDoes) {
  start(plain_);
  run("HSETEX h EX 100 FIELDS 1 a 1");
  run("SAVE");
  const std::string bytes = disk_.bytes(kFile);
  const std::string info = run("INFO server");
  for (const std::string name : {"mayfly", "redis"}) {
    const std::size_t at = info.find(name + "_version:") + name.size() + 9;
    const std::string version = info.substr(at, info.find_first_not_of("0123456789.", at) - at);
    EXPECT_GE(version.size(), 5u) << name;
    const std::string said = name + "-ver" + static_cast<char>(version.size()) + version;
    EXPECT_NE(bytes.find(said), std::string::npos) << name;
  }
  EXPECT_EQ(bytes.find("valkey-ver"), std::string::npos);
}

TEST_F(PersistenceTest, WhatWasThereIsFreedBeforeTheRestIsLoaded) {
  start(plain_);
  for (int i = 0; i < 2000; ++i) run("SET key" + std::to_string(i) + " " + std::string(100, 'v'));
  run("SAVE");
  server().parts().events.clear_all();
  ASSERT_FALSE(server().parts().keyspace.lazy_free().is_empty());
  auto source = disk_.open(kFile);
  ASSERT_TRUE(source);
  bool is_loaded = false;
  server().parts().loading.begin(
      std::make_unique<RdbTask>(std::move(*source), server().parts().keyspace, RdbLoadOptions{}),
      clock_.now(), [&](const Status& status) {
        EXPECT_TRUE(status);
        EXPECT_TRUE(server().parts().keyspace.lazy_free().is_empty()) << "both were in memory";
        is_loaded = true;
      });
  while (!is_loaded) server().begin_turn();
  EXPECT_EQ(run("DBSIZE"), "(integer) 2000");
}

TEST_F(PersistenceTest, AnUnknownCommandInTheLogStopsTheStartWithFileAndOffset) {
  const std::string good = request({"SET", "k", "v"});
  put_log(good + request({"NOSUCH", "l", "x"}) + good);
  const std::string why = start(logged_);
  EXPECT_NE(why.find("appendonly.aof.1.incr.aof"), std::string::npos) << why;
  EXPECT_NE(why.find("offset " + std::to_string(good.size())), std::string::npos) << why;
  EXPECT_NE(why.find("unknown command 'NOSUCH'"), std::string::npos) << why;
  EXPECT_TRUE(fixture_->is_shut_down);
}

TEST_F(PersistenceTest, ACommandThatCannotBeRunStopsTheStart) {
  put_log(request({"SET", "k"}));
  EXPECT_NE(start(logged_).find("too many or too few for the command 'set'"), std::string::npos);
  put_log(request({"SELECT", "99"}) + request({"SET", "k", "v"}));
  EXPECT_NE(start(logged_).find("99"), std::string::npos);
}

TEST_F(PersistenceTest, AnIncompleteEndIsCutOffOrRefused) {
  const std::string good = request({"SET", "k", "v"});
  put_log(good + request({"SET", "k", "w"}).substr(0, 12));
  Config careful = logged_;
  careful.aof_load_truncated = false;
  EXPECT_NE(start(careful), "");
  EXPECT_EQ(start(logged_), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_TRUE(log_has("12 bytes from offset " + std::to_string(good.size()) + " on were cut off"));
  EXPECT_EQ(start(careful), "");
}

TEST_F(PersistenceTest, ALogThatTellsOfThePastIsFollowedToTheLetter) {
  const std::string past = in_ms(Millis(-1000));
  const std::string future = in_ms(Millis(60'000));
  put_log(request({"SET", "gone", "v", "PXAT", past}) +
          // Deadlines that were over since, but were moved in time.
          request({"SET", "k", "v", "PXAT", past}) + request({"PEXPIREAT", "k", future}) +
          request({"SET", "p", "v", "PXAT", past}) + request({"PERSIST", "p"}) +
          request({"HSETEX", "h", "PXAT", past, "FIELDS", "2", "a", "1", "b", "2"}) +
          request({"HPEXPIREAT", "h", future, "FIELDS", "1", "a"}) +
          // What was due and then removed does not come back.
          request({"HSETEX", "i", "PXAT", past, "FIELDS", "2", "a", "1", "b", "2"}) +
          request({"HDEL", "i", "a"}) + request({"HPERSIST", "i", "FIELDS", "1", "b"}) +
          request({"HSET", "j", "a", "1", "b", "2"}) +
          request({"HPEXPIREAT", "j", past, "FIELDS", "1", "a"}));
  EXPECT_EQ(start(logged_), "");
  EXPECT_EQ(run("EXISTS gone"), "(integer) 0");
  EXPECT_EQ(run("PEXPIRETIME k"), "(integer) " + future);
  EXPECT_EQ(run("PEXPIRETIME p"), "(integer) -1");
  EXPECT_EQ(run("HGETALL h"), R"(["a", "1"])");
  EXPECT_EQ(run("HGETALL i"), R"(["b", "2"])");
  EXPECT_EQ(run("HGETALL j"), R"(["b", "2"])");

  // The sweep has told the log, too: nothing is left to be done at the next start.
  fixture_->sweep();
  EXPECT_NE(disk_.bytes(kFirstIncrement).find("HDEL"), std::string::npos);
  const std::string digest = run("DEBUG DIGEST");
  EXPECT_EQ(restart(logged_), "");
  EXPECT_EQ(run("DEBUG DIGEST"), digest);
}

TEST_F(PersistenceTest, LoadingTellsNobody) {
  Config config = logged_;
  config.notify_keyspace_events = *parse_events("KEA");
  put_log(request({"SET", "k", "v"}));
  fixture_ = std::make_unique<ServerFixture>(config, &clock_, &disk_);
  client_ = &fixture_->connect();
  client_->run("PSUBSCRIBE *");
  ASSERT_TRUE(persistence().start());
  fixture_->sweep();
  EXPECT_EQ(client_->messages(), "");
  EXPECT_TRUE(fixture_->propagated.empty());
  EXPECT_EQ(server().parts().stats.dirty, 0u);
}

TEST_F(PersistenceTest, ASnapshotTellsAReplicaWhereItWas) {
  const std::string id(40, 'a');
  const std::string offset =
      "\xFA\x0Brepl-offset\x03"
      "123";
  disk_.put(kFile, rdb_file("\xFA\x07repl-id\x28" + id + offset));
  Config config = plain_;
  config.replicaof_host = "127.0.0.1";
  config.replicaof_port = 7001;
  fixture_ = std::make_unique<ServerFixture>(config, &clock_, &disk_);
  server().parts().replication.follow(config.replicaof_host, 7001);
  ASSERT_TRUE(persistence().start());
  fixture_->sweep();
  EXPECT_EQ(server().parts().replication.stream().ids().id, id);
  EXPECT_EQ(server().parts().replication.stream().log().end(), 123u);
}

TEST_F(PersistenceTest, WhatIsLoadedInPartIsNeitherSavedNorRewritten) {
  class EndlessTask final : public LoadTask {
    Result<bool> step(std::size_t) override { return false; }
    std::uint64_t offset() const override { return 0; }
    std::uint64_t total() const override { return 0; }
  };
  Config config = logged_;
  config.save = {{1, 1}};
  config.auto_aof_rewrite_min_size = 1;
  start(config);
  for (int i = 0; i < 10; ++i) client_->run("SET k v");
  server().parts().loading.begin(std::make_unique<EndlessTask>(), now(), [](const Status&) {});
  server().parts().keyspace[0].clear();  // as at the beginning of a transfer
  clock_.advance(Millis(60'000));
  turn();
  turn();
  EXPECT_EQ(server().parts().background.forks(), 0u);
  EXPECT_TRUE(persistence().shut_down(true));
  EXPECT_FALSE(disk_.exists(kFile));
  EXPECT_EQ(restart(config), "");
  EXPECT_EQ(run("GET k"), "\"v\"");
}

// ---- The end ----

TEST_F(PersistenceTest, FlushallSavesIfThereAreRules) {
  Config config = plain_;
  config.save = {{3600, 1}};
  start(config);
  run("SET a 1");
  fixture_->sweep();
  run("SAVE");
  const std::string before = disk_.bytes(kFile);
  run("SET b 1");
  fixture_->holds_children = true;
  run("BGSAVE");
  run("FLUSHALL");
  fixture_->sweep();
  EXPECT_NE(disk_.bytes(kFile), before);
  EXPECT_EQ(fixture_->server().parts().stats.dirty, 0u);
  EXPECT_NE(run("INFO persistence").find("rdb_bgsave_in_progress:0"), std::string::npos);
  start(config);
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
}

TEST_F(PersistenceTest, FlushallSavesNothingWithoutRules) {
  start(plain_);
  run("SET a 1");
  run("SAVE");
  run("FLUSHALL");
  fixture_->sweep();
  EXPECT_GT(fixture_->server().parts().stats.dirty, 0u);
  start(plain_);
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
}

TEST_F(PersistenceTest, ShutdownSavesIfThereAreRules) {
  Config ruled = plain_;
  ruled.save = {{3600, 1}};
  start(ruled);
  run("SET k v");
  EXPECT_EQ(client_->run("SHUTDOWN"), "");
  EXPECT_TRUE(fixture_->is_shut_down);
  EXPECT_EQ(restart(plain_), "");
  EXPECT_EQ(run("GET k"), "\"v\"");

  run("SET k w");
  client_->run("SHUTDOWN");
  EXPECT_EQ(restart(plain_), "");
  EXPECT_EQ(run("GET k"), "\"v\"") << "there was no rule";

  run("SET k w");
  client_->run("SHUTDOWN SAVE");
  EXPECT_EQ(restart(ruled), "");
  EXPECT_EQ(run("GET k"), "\"w\"");

  run("SET k x");
  client_->run("SHUTDOWN NOSAVE");
  EXPECT_TRUE(persistence().shut_down(true));  // as when the loop has ended
  EXPECT_EQ(restart(ruled), "");
  EXPECT_EQ(run("GET k"), "\"w\"");
}

TEST_F(PersistenceTest, AShutdownThatCannotSaveIsRefusedUnlessItIsForced) {
  Config ruled = plain_;
  ruled.save = {{3600, 1}};
  start(ruled);
  run("SET k v");
  disk_.fail_next(FakeDisk::Op::create, 2);
  EXPECT_EQ(client_->run("SHUTDOWN"), "(error) ERR Errors trying to SHUTDOWN. Check logs.");
  EXPECT_FALSE(fixture_->is_shut_down);
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_EQ(client_->run("SHUTDOWN FORCE"), "");
  EXPECT_TRUE(fixture_->is_shut_down);
  EXPECT_TRUE(persistence().shut_down(true));
  EXPECT_FALSE(disk_.exists(kFile)) << "it is not tried again";
}

TEST_F(PersistenceTest, AtTheEndTheLogIsOnTheDisk) {
  start(config_with(true, "no"));
  run("SET k v");
  client_->run("SHUTDOWN");
  client_->run("SET l w");  // in the same turn, after it
  EXPECT_TRUE(persistence().shut_down(false));
  EXPECT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("MGET k l"), R"(["v", "w"])");
}

TEST_F(PersistenceTest, AShutdownEndsTheChild) {
  start(plain_);
  fixture_->holds_children = true;
  run("BGSAVE");
  EXPECT_EQ(client_->run("SHUTDOWN"), "");
  EXPECT_FALSE(server().parts().background.is_busy());
}

// ---- A log that has no base yet ----

// A child writes the first base of a log that was switched on. The stop interrupts that child, or
// another one before it.
class StopWithoutBaseTest : public PersistenceTest,
                            public testing::WithParamInterface<std::tuple<const char*, bool>> {};

TEST_P(StopWithoutBaseTest, LosesNothing) {
  const auto [words, is_begun] = GetParam();
  ASSERT_EQ(start(plain_), "");
  run("SET k v");
  fixture_->holds_children = true;
  if (!is_begun) run("BGSAVE");
  EXPECT_EQ(run("CONFIG SET appendonly yes"), "OK");
  EXPECT_EQ(server().parts().background.is_doing(Job::rewrite), is_begun);
  run("SET l w");
  EXPECT_EQ(client_->run(words), "");
  EXPECT_TRUE(fixture_->is_shut_down);
  client_->run("SET m x");  // in the same turn, after it
  EXPECT_TRUE(persistence().shut_down(false));
  ASSERT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("MGET k l m"), R"(["v", "w", "x"])");
}

INSTANTIATE_TEST_SUITE_P(EachWay, StopWithoutBaseTest,
                         testing::Combine(testing::Values("SHUTDOWN", "SHUTDOWN NOSAVE",
                                                          "SHUTDOWN SAVE", "SHUTDOWN NOW",
                                                          "SHUTDOWN FORCE"),
                                          testing::Bool()));

TEST_F(PersistenceTest, AStopThatCannotWriteTheFirstBaseIsRefusedUnlessItIsForced) {
  start(plain_);
  run("SET k " + std::string(1000, 'v'));
  fixture_->holds_children = true;
  run("CONFIG SET appendonly yes");
  disk_.set_room(0);
  EXPECT_EQ(client_->run("SHUTDOWN"), "(error) ERR Errors trying to SHUTDOWN. Check logs.");
  EXPECT_FALSE(fixture_->is_shut_down);
  EXPECT_TRUE(log_has("it has no base yet, and none could be written"));
  EXPECT_FALSE(disk_.exists(kManifest));

  disk_.heal();  // and then it works, without the child
  EXPECT_EQ(client_->run("SHUTDOWN"), "");
  EXPECT_TRUE(fixture_->is_shut_down);
  EXPECT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("EXISTS k"), "(integer) 1");

  run("CONFIG SET appendonly no");
  fixture_->holds_children = true;
  run("CONFIG SET appendonly yes");
  disk_.set_room(0);
  EXPECT_EQ(client_->run("SHUTDOWN FORCE"), "");
  EXPECT_TRUE(fixture_->is_shut_down);
}

TEST_F(PersistenceTest, ALogThatIsSwitchedOffAgainNeedsNoBase) {
  start(plain_);
  run("SET k v");
  fixture_->holds_children = true;
  run("CONFIG SET appendonly yes");
  run("CONFIG SET appendonly no");
  disk_.set_room(0);
  EXPECT_EQ(client_->run("SHUTDOWN"), "");
  EXPECT_TRUE(fixture_->is_shut_down);
}

// The data was replaced: until there is a base, the log on disk has the old data.
TEST_F(PersistenceTest, AStopAfterAllDataWasReplacedKeepsTheNewData) {
  start(logged_);
  run("SET k old");
  run("SAVE");
  run("SET k newer");
  fixture_->holds_children = true;
  EXPECT_EQ(client_->run("DEBUG RELOAD NOSAVE"), "OK");
  EXPECT_EQ(client_->run("SHUTDOWN NOSAVE"), "");
  EXPECT_EQ(restart_after_power_cut(logged_), "");
  EXPECT_EQ(run("GET k"), "\"old\"");
}

// ---- The replication stream, over a restart ----

class ResumeTest : public PersistenceTest {
 protected:
  ReplicationStream& stream() { return server().parts().replication.stream(); }

  // The request of a replica whose data ends at `offset`.
  std::string ask_to_go_on(const std::string& id, std::uint64_t offset) {
    return fixture_->connect().send(
        "REPLCONF capa eof capa psync2 capa member-deadlines\r\nPSYNC " + id + " " +
        std::to_string(offset + 1) + "\r\n");
  }

  // A primary with a stream, which stops and starts again.
  void stop_and_start(const Config& config) {
    ASSERT_EQ(start(config), "");
    stream().open();
    run("SELECT 3");
    run("SET k v");
    run("SET gone v PX 1000");
    id_ = stream().ids().id;
    end_ = stream().log().end();
    client_->run("SHUTDOWN");
    EXPECT_TRUE(persistence().shut_down(false));
    clock_.advance(Millis(5000));
    ASSERT_EQ(restart(config), "");
  }

  void expect_resumed() {
    EXPECT_GT(end_, 0u);
    EXPECT_NE(stream().ids().id, id_) << "its own writes are another history";
    EXPECT_EQ(stream().ids().former, id_);
    EXPECT_EQ(stream().ids().former_end, end_);
    run("SELECT 3");
    run("SET l w");

    // Keys that expired while it was down are removed at the replicas as well.
    ASSERT_FALSE(fixture_->propagated.empty());
    EXPECT_TRUE(fixture_->propagated.front().ends_with(" gone")) << fixture_->propagated.front();
    const std::string answer = ask_to_go_on(id_, end_);
    EXPECT_NE(answer.find("+CONTINUE " + stream().ids().id), std::string::npos) << answer;
    EXPECT_NE(answer.find("SELECT"), std::string::npos) << answer;
    EXPECT_NE(answer.find("gone"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("FULLRESYNC"), std::string::npos);
    // One that has more is of another history, and one that has less cannot be served.
    EXPECT_EQ(ask_to_go_on(id_, end_ + 1).find("CONTINUE"), std::string::npos);
    EXPECT_EQ(ask_to_go_on(id_, end_ - 1).find("CONTINUE"), std::string::npos);
  }

  std::string id_;
  std::uint64_t end_ = 0;
};

TEST_F(ResumeTest, ReplicasGoOnWithAPrimaryThatHasSavedAtItsEnd) {
  Config saving = plain_;
  saving.save = {{3600, 1}};
  stop_and_start(saving);
  expect_resumed();
}

TEST_F(ResumeTest, ReplicasGoOnWithAPrimaryThatHasALog) {
  stop_and_start(logged_);
  expect_resumed();
}

TEST_F(ResumeTest, AReplicaWithALogGoesOnAsWell) {
  stop_and_start(logged_);
  Config config = logged_;
  config.replicaof_host = "127.0.0.1";
  config.replicaof_port = 7001;
  client_->run("SHUTDOWN");  // nothing was written since but the removal
  const std::string id = stream().ids().id;
  const std::uint64_t end = stream().log().end();
  fixture_ = std::make_unique<ServerFixture>(config, &clock_, &disk_);
  server().parts().replication.follow(config.replicaof_host, 7001);
  ASSERT_TRUE(persistence().start());
  fixture_->sweep();
  EXPECT_EQ(stream().ids().id, id);
  EXPECT_EQ(stream().log().end(), end);
  EXPECT_EQ(stream().selected(), 3);
}

TEST_F(ResumeTest, ALogThatGoesOnBehindTheNoteResumesNothing) {
  stop_and_start(logged_);
  run("SET later 1");  // and a kill
  ASSERT_EQ(restart(logged_), "");
  EXPECT_FALSE(stream().is_open());
  EXPECT_EQ(stream().ids().former, "");
}

TEST_F(ResumeTest, DataWithoutAStreamOrOfPartOfItResumesNothing) {
  start(logged_);
  run("SET k v");
  client_->run("SHUTDOWN");
  ASSERT_EQ(restart(logged_), "");
  EXPECT_FALSE(stream().is_open());

  // A file that was loaded in part: its replicas have more.
  const std::string offset =
      "\xFA\x0Brepl-offset\x03"
      "123";
  disk_.put(kFile, rdb_file("\xFA\x07repl-id\x28" + std::string(40, 'a') + offset + "\xF5\x03one"));
  Config dropping = plain_;
  dropping.drop_unsupported = true;
  ASSERT_EQ(start(dropping), "");
  EXPECT_FALSE(stream().is_open());

  // The same if keys without members were left out, or commands.
  const std::string id = "\xFA\x07repl-id\x28" + std::string(40, 'a') + offset;
  disk_.put(kFile, rdb_file(id + std::string("\x04\x01h\x00", 4)));
  ASSERT_EQ(start(plain_), "");
  EXPECT_FALSE(stream().is_open());
  disk_.put(kFile, rdb_file(id));
  ASSERT_EQ(start(plain_), "");
  EXPECT_TRUE(stream().is_open());
  stop_and_start(logged_);
  client_->run("SHUTDOWN");
  std::string log = disk_.bytes(kFirstIncrement);
  log.insert(0, "*4\r\n$4\r\nLSET\r\n$1\r\nx\r\n$1\r\n0\r\n$1\r\ny\r\n");
  disk_.put(kFirstIncrement, log);
  ASSERT_EQ(restart(logged_), "");
  EXPECT_FALSE(stream().is_open());

  // An invalid id is ignored.
  disk_.put(kFile, rdb_file("\xFA\x07repl-id\x28" + std::string(39, 'a') + "\n" + offset));
  ASSERT_EQ(start(plain_), "");
  EXPECT_FALSE(stream().is_open());
}

TEST_F(ResumeTest, TheLogForReplicasThatDoNotComeBackIsDropped) {
  Config saving = logged_;
  saving.repl_backlog_ttl = 60;
  stop_and_start(saving);
  EXPECT_TRUE(stream().is_open());
  clock_.advance(Millis(60'000));
  turn();
  EXPECT_FALSE(stream().is_open());
}

// ---- Damage ----

TEST_F(PersistenceTest, KeysWithoutElementsAreLeftOutAndNamed) {
  disk_.put(kFile, rdb_file(std::string("\x04\x01h\x00\x02\x01s\x00\x00\x01k\x01v", 13)));
  EXPECT_EQ(start(plain_), "");
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
  EXPECT_TRUE(log_has("2 keys of './dump.rdb' are left out: they have no members or elements"));
}

}  // namespace persistence_test
}  // namespace mayfly
