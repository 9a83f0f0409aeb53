// SPDX-License-Identifier: Apache-2.0
// Loading the append-only file: whole, truncated and damaged ones.

#include "persist/aof/aof_loader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "mayfly/random.h"
#include "persist/aof/aof_fixture.h"
#include "persist/aof/aof_rewrite.h"

namespace mayfly {
namespace aof_loader_test {

using Lines = std::vector<std::string>;

const std::string kManifest =
    "file appendonly.aof.1.base.aof seq 1 type b\n"
    "file appendonly.aof.1.incr.aof seq 1 type i\n"
    "file appendonly.aof.2.incr.aof seq 2 type i\n";

class AofLoaderTest : public ::testing::Test, protected AofFixture {
 protected:
  AofLoaderTest() {
    disk.put(manifest_path(options), kManifest);
    disk.put(base, command({"SET", "a", "1"}));
    disk.put(first, command({"SELECT", "2"}) + command({"SET", "b", "2"}));
    disk.put(last, "#TS:17\r\n" + command({"SET", "c", "3"}));
  }

  const std::string base = path("appendonly.aof.1.base.aof");
  const std::string first = path("appendonly.aof.1.incr.aof");
  const std::string last = path("appendonly.aof.2.incr.aof");
};

TEST_F(AofLoaderTest, NoLogIsLoadedAtOnce) {
  options.directory = "data/other";
  const Loaded loaded = load();
  EXPECT_EQ(loaded.error, "");
  EXPECT_FALSE(loaded.report.found);
}

TEST_F(AofLoaderTest, ReadsBaseAndIncrementsEachFromDatabaseZero) {
  const Loaded loaded = load();
  EXPECT_EQ(loaded.error, "");
  EXPECT_TRUE(loaded.report.found);
  EXPECT_EQ(loaded.lines, (Lines{"0: SET a 1", "2: SET b 2", "0: SET c 3"}));
  EXPECT_EQ(loaded.report.commands, 3u);
  EXPECT_FALSE(loaded.report.base);
  EXPECT_EQ(loaded.total_bytes,
            disk.bytes(base).size() + disk.bytes(first).size() + disk.bytes(last).size());
  EXPECT_EQ(loaded.offset, loaded.total_bytes);
}

TEST_F(AofLoaderTest, ATransactionComesWholeAndWithItsDatabases) {
  disk.put(last, command({"multi"}) + command({"SET", "x", "1"}) + command({"SELECT", "3"}) +
                     "#TS:1\r\n" + command({"SET", "y", "2"}) + command({"exec"}) +
                     command({"DEL", "z"}));
  const Loaded loaded = load();
  EXPECT_EQ(loaded.lines,
            (Lines{"0: SET a 1", "2: SET b 2", "0: SET x 1", "3: SET y 2", "3: DEL z"}));
  EXPECT_EQ(loaded.report.transactions, 1u);
}

TEST_F(AofLoaderTest, EveryTruncationOfTheLastFileLeavesWholeUnits) {
  const std::string one = command({"SET", "c", "3"});
  const std::string unit = command({"MULTI"}) + command({"SET", "d", "4"}) +
                           command({"SET", "e", "5"}) + command({"EXEC"});
  const std::string bytes = one + unit + one;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    disk.put(last, bytes.substr(0, size));
    std::size_t whole = 0;
    Lines expected = {"0: SET a 1", "2: SET b 2"};
    if (size >= one.size()) {
      whole = one.size();
      expected.emplace_back("0: SET c 3");
    }
    if (size >= one.size() + unit.size()) {
      whole = one.size() + unit.size();
      expected.insert(expected.end(), {"0: SET d 4", "0: SET e 5"});
    }
    if (size == bytes.size()) {
      whole = size;
      expected.emplace_back("0: SET c 3");
    }
    const Loaded strict = load({.truncates_tail = false});
    EXPECT_EQ(strict.error.empty(), whole == size) << size;
    const Loaded loaded = load();
    EXPECT_EQ(loaded.error, "");
    EXPECT_EQ(loaded.lines, expected) << size;
    EXPECT_EQ(loaded.report.truncated_bytes, size - whole);
    EXPECT_EQ(loaded.report.truncated_at, whole == size ? 0 : whole);
    EXPECT_EQ(loaded.report.truncated_file, whole == size ? "" : "appendonly.aof.2.incr.aof");
    EXPECT_EQ(disk.bytes(last), bytes.substr(0, whole));
    EXPECT_EQ(load({.truncates_tail = false}).error, "");
  }
}

TEST_F(AofLoaderTest, ATruncationIsDurable) {
  disk.put(last, command({"SET", "c", "3"}) + "*1\r\n");
  ASSERT_EQ(load().error, "");
  disk.power_cut();
  EXPECT_EQ(disk.bytes(last), command({"SET", "c", "3"}));
}

TEST_F(AofLoaderTest, WithoutLeaveToTruncateTheErrorTellsFileAndOffset) {
  disk.put(last, command({"SET", "c", "3"}) + "*1\r\n");
  EXPECT_EQ(load({.truncates_tail = false}).error,
            "Unexpected end of the append only file appendonly.aof.2.incr.aof at offset 27: a "
            "command that began there is not whole");
  EXPECT_EQ(disk.bytes(last), command({"SET", "c", "3"}) + "*1\r\n");
}

TEST_F(AofLoaderTest, ATruncatedFileThatIsNotTheLastIsAnError) {
  disk.put(first, command({"MULTI"}) + command({"SET", "b", "2"}));
  const Loaded loaded = load();
  EXPECT_EQ(loaded.error,
            "Unexpected end of the append only file appendonly.aof.1.incr.aof at offset 0: a "
            "transaction that began there is not whole, and more files follow");
  EXPECT_EQ(loaded.lines, (Lines{"0: SET a 1"}));
}

TEST_F(AofLoaderTest, FilesThatAreEmptyDoNotMakeAnotherLessTheLast) {
  disk.put(first, command({"SET", "b", "2"}) + "*2\r\n");
  disk.put(last, "");
  const Loaded loaded = load();
  EXPECT_EQ(loaded.error, "");
  EXPECT_EQ(loaded.report.truncated_file, "appendonly.aof.1.incr.aof");
}

TEST_F(AofLoaderTest, DamageIsAnErrorWithFileAndOffset) {
  const std::string head = "Bad file format reading the append only file ";
  disk.put(last, command({"SET", "c", "3"}) + "SET d 4\r\n");
  EXPECT_EQ(load().error, head +
                              "appendonly.aof.2.incr.aof at offset 27: a command must begin "
                              "with '*'");
  disk.put(last, command({"EXEC"}));
  EXPECT_EQ(load().error, head + "appendonly.aof.2.incr.aof at offset 0: EXEC without MULTI");
  disk.put(last, command({"MULTI"}) + command({"MULTI"}));
  EXPECT_EQ(load().error,
            head + "appendonly.aof.2.incr.aof at offset 15: MULTI within a transaction");
  disk.put(last, command({"SELECT", "16"}));
  EXPECT_EQ(load().error, head +
                              "appendonly.aof.2.incr.aof at offset 0: SELECT of database "
                              "\"16\", and there are 16");
  disk.put(last, command({"set"}));
  EXPECT_EQ(load().error, head + "appendonly.aof.2.incr.aof at offset 0: unknown command");
}

TEST_F(AofLoaderTest, AMissingFileIsFoundBeforeAnythingIsLoaded) {
  ASSERT_TRUE(disk.remove(last));
  const Loaded loaded = load();
  EXPECT_EQ(loaded.error, "there is no data/aof/appendonly.aof.2.incr.aof");
  EXPECT_EQ(loaded.lines, Lines{});
}

TEST_F(AofLoaderTest, HistoryIsNotRead) {
  disk.put(manifest_path(options), kManifest + "file gone seq 1 type h\n");
  EXPECT_EQ(load().lines.size(), 3u);
}

// ---- Bases that are RDB files ----

class AofRdbBaseTest : public ::testing::Test, protected AofFixture {
 protected:
  AofRdbBaseTest() {
    Database& database = source.keyspace[1];
    database.put_string(source.context, "s", "value");
    source.make_hash("h", {"f", "g"}, source.in(-10));  // due, but the log decides
    StringSink sink;
    EXPECT_TRUE(write_aof_base(source.keyspace, sink, {}, true, {}));
    rdb = sink.bytes;
    disk.put(manifest_path(options), "file base.rdb seq 1 type b\nfile incr seq 1 type i\n");
    disk.put(path("base.rdb"), rdb);
    disk.put(path("incr"), command({"SET", "k", "v"}));
  }

  KeyspaceFixture source;
  std::string rdb;
};

TEST_F(AofRdbBaseTest, FillsTheKeyspaceAndKeepsWhatIsDue) {
  KeyspaceFixture target;
  Scribe scribe;
  AofLoader loader(disk, options, target.keyspace, scribe, {.now = target.context.now});
  for (;;) {
    const Result<bool> done = loader.step(1);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_LE(loader.offset(), loader.total_bytes());
    if (*done) break;
  }
  EXPECT_EQ(target.keyspace[1].stored(), 1u);
  EXPECT_EQ(target.keyspace[0].stored(), 1u);
  EXPECT_EQ(scribe.lines, (Lines{"0: SET k v"}));
  ASSERT_TRUE(loader.report().base);
  EXPECT_EQ(loader.report().base->aux.at("aof-base"), "1");
  EXPECT_EQ(loader.offset(), loader.total_bytes());
}

TEST_F(AofRdbBaseTest, AnOldFileMayBeAnRdbFileWithCommandsBehindIt) {
  options.directory = "old/aof";
  disk.put("old/appendonly.aof", rdb + command({"SET", "k", "v"}) + "*2\r\n$3");
  const Loaded loaded = load();
  EXPECT_EQ(loaded.error, "");
  EXPECT_EQ(loaded.lines, (Lines{"0: SET k v"}));
  EXPECT_EQ(loaded.report.base->keys, 2u);
  EXPECT_EQ(loaded.report.truncated_bytes, 6u);
  EXPECT_EQ(disk.bytes("old/appendonly.aof"), rdb + command({"SET", "k", "v"}));
}

TEST_F(AofRdbBaseTest, ATruncatedBaseIsAnErrorAndIsNeverCut) {
  for (std::size_t size = 0; size < rdb.size(); ++size) {
    disk.put(path("base.rdb"), rdb.substr(0, size));
    disk.put(path("incr"), "");
    const Loaded loaded = load();
    EXPECT_NE(loaded.error, "") << size;
    EXPECT_EQ(disk.bytes(path("base.rdb")).size(), size);
  }
}

// ---- Damage ----

// A log of transactions of two commands each.
std::string pairs(Random& random) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    const std::string value(random.below(12), static_cast<char>('a' + i));
    bytes += command({"MULTI"}) + command({"SET", "x", value}) +
             command({"SELECT", std::to_string(random.below(4))}) + command({"SET", "y", value}) +
             command({"EXEC"});
  }
  return bytes;
}

TEST(AofDamage, IsAnErrorOrATruncationButNeverACrashOrHalfATransaction) {
  EXPECT_TRUE(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    AofFixture fixture;
    const std::string name = fixture.path("incr");
    std::string bytes = pairs(random);
    for (auto flips = 1 + random.below(3); flips > 0; --flips) {
      bytes[random.below(bytes.size())] ^= static_cast<char>(1 << random.below(8));
    }
    if (random.below(3) == 0) bytes.resize(random.below(bytes.size()));
    fixture.disk.put(manifest_path(fixture.options), "file incr seq 1 type i\n");
    fixture.disk.put(name, bytes);

    const Loaded loaded = fixture.load();
    if (!loaded.error.empty()) {
      RC_ASSERT(fixture.disk.bytes(name) == bytes);
    } else {
      RC_ASSERT(loaded.lines.size() == 2 * loaded.report.transactions);
      RC_ASSERT(fixture.disk.bytes(name).size() + loaded.report.truncated_bytes == bytes.size());
      RC_ASSERT(fixture.load().lines == loaded.lines);
    }
  }));
}

}  // namespace aof_loader_test
}  // namespace mayfly
