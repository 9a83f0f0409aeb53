// SPDX-License-Identifier: Apache-2.0
// Whole files: their bytes, and what a disk that fails leaves. rdb_loader_test.cc loads them.

#include "persist/rdb/rdb_save.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hex.h"
#include "keyspace/keyspace_fixture.h"
#include "persist/crc64.h"
#include "persist/disk/fake_disk.h"

namespace mayfly {
namespace rdb_save_test {

using Op = FakeDisk::Op;

std::string little(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> i * 8);
  return bytes;
}

class RdbSaveTest : public testing::Test, public KeyspaceFixture {
 protected:
  RdbSaveTest() { EXPECT_TRUE(disk.make_directory("dir").ok() && disk.sync_directory(".").ok()); }

  std::string saved(const SaveOptions& options = {}) {
    StringSink sink;
    const Result<SaveProgress> done = save_rdb(keyspace, sink, options, {});
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done->bytes, sink.bytes.size());
    return sink.bytes;
  }
  Result<SaveProgress> save_file(const SaveOptions& options = {}) {
    return save_rdb_file(disk, "dir", "dump.rdb", "temp-7.rdb", keyspace, options, {});
  }
  void fill(int keys, std::size_t value_size) {
    for (int i = 0; i < keys; ++i) {
      database.put_string(context, "key" + std::to_string(i), std::string(value_size, 'v'));
    }
  }
  std::string dump(Slot slot) { return hex(dump_value(database, slot, {})); }

  FakeDisk disk;
};

// ---- The file ----

TEST_F(RdbSaveTest, WritesAnEmptyKeyspaceAsAFileWithoutDatabases) {
  const std::string bytes = saved({.aux = {{"ctime", "1700000000"}}});
  const std::string before = bytes.substr(0, bytes.size() - 8);
  EXPECT_EQ(hex(before), hex("REDIS0010") + "fa0a" + hex("redis-bits") + "c040" + "fa05" +
                             hex("ctime") + "c200f15365" + "ff");
  EXPECT_EQ(bytes.substr(before.size()), little(crc64(0, before)));
}

TEST_F(RdbSaveTest, WritesEachDatabaseThatHoldsSomething) {
  keyspace[0].put_string(context, "a", "x");
  keyspace[3].put_string(context, "b", "y");
  keyspace[3].set_deadline(keyspace[3].find(context, "b"), in(5000));
  const std::string bytes = hex(saved());
  EXPECT_NE(bytes.find("fe00fb0100"
                       "0001610178"
                       "fe03fb0101fc"),
            std::string::npos)
      << bytes;
  EXPECT_EQ(bytes.find("fe01"), std::string::npos);
}

TEST_F(RdbSaveTest, HasValkeysVersionOnlyIfAFieldHasADeadline) {
  make_hash("plain", {"f"});
  database.set_deadline(database.find(context, "plain"), in(10));
  EXPECT_FALSE(has_member_deadlines(keyspace));
  EXPECT_EQ(saved().substr(0, 9), "REDIS0010");

  Database& other = keyspace[9];
  const Slot slot = other.make_members(context, ValueType::hash, "h");
  other.members(context, slot).put("f", "v", in(10));
  EXPECT_TRUE(has_member_deadlines(keyspace));
  EXPECT_EQ(version_for(keyspace), 80);
  EXPECT_EQ(saved().substr(0, 9), "VALKEY080");

  other.members(context, slot).set_deadline("f", kNever);
  EXPECT_EQ(version_for(keyspace), 10);
}

TEST_F(RdbSaveTest, WritesEveryKeyOnceHoweverManyThereAre) {
  for (const int keys : {1, 7, 8, 9, 1000}) {
    database.clear();
    fill(keys, 3);
    const std::string bytes = saved({.format = {.compresses = false}});
    for (int i = 0; i < keys; ++i) {
      std::string entry = "key" + std::to_string(i);
      entry.insert(0, 1, static_cast<char>(entry.size()));
      entry += "\x03vvv";
      const std::size_t first = bytes.find(entry);
      ASSERT_NE(first, std::string::npos) << keys << " " << i;
      EXPECT_EQ(bytes.find(entry, first + 1), std::string::npos) << keys << " " << i;
    }
  }
}

TEST_F(RdbSaveTest, WritesWhatIsDueAndLeavesItThere) {
  database.set_deadline(database.put_string(context, "dead", "value"), in(10));
  make_hash("faded", {"f1", "f2"}, in(10));
  advance(20);
  const std::string bytes = saved();
  EXPECT_NE(bytes.find("dead"), std::string::npos);
  EXPECT_NE(bytes.find("faded"), std::string::npos);
  EXPECT_EQ(database.stored(), 2u);
  EXPECT_TRUE(recorder.take().empty());
}

TEST_F(RdbSaveTest, WritesIdleTimesIfAsked) {
  database.put_string(context, "k", "v");
  advance(7000);
  EXPECT_EQ(hex(saved()).find("f80700016b0176"), std::string::npos);
  const std::string bytes = saved({.format = {.now = context.now}, .saves_access = true});
  EXPECT_NE(hex(bytes).find("f80700016b0176"), std::string::npos);
}

TEST_F(RdbSaveTest, TellsProgressByKeysAndByBytes) {
  fill(5000, 3);
  const Slot slot = database.make_members(context, ValueType::hash, "large");
  for (int i = 0; i < 100'000; ++i) {
    database.members(context, slot).put("field" + std::to_string(i), "a value of 20 bytes.");
  }
  std::vector<SaveProgress> told;
  StringSink sink;
  const auto done =
      save_rdb(keyspace, sink, {}, [&](const SaveProgress& progress) { told.push_back(progress); });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->keys, 5001u);
  ASSERT_GE(told.size(), 5001u + 2u);
  EXPECT_EQ(told.front().keys, 1u);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].bytes, told[i - 1].bytes);
    EXPECT_LE(told[i].keys - told[i - 1].keys, 1u);
    EXPECT_LE(told[i].bytes - told[i - 1].bytes, 1u << 21);
  }
}

// ---- On a disk ----

TEST_F(RdbSaveTest, PutsTheFileInPlace) {
  fill(100, 30);
  const auto done = save_file();
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->keys, 100u);
  EXPECT_EQ(disk.bytes("dir/dump.rdb"), saved());
  EXPECT_EQ(*disk.list("dir"), std::vector<std::string>{"dump.rdb"});
  disk.power_cut();
  EXPECT_EQ(disk.bytes("dir/dump.rdb"), saved());
}

TEST_F(RdbSaveTest, SyncsNowAndThenIfAsked) {
  fill(100, 100'000);  // 10 MB
  const RdbOptions plain{.compresses = false};
  ASSERT_TRUE(save_file({.format = plain, .sync_every_bytes = 1 << 20}).ok());
  const int often = disk.count(Op::sync);
  EXPECT_GE(often, 8);
  EXPECT_LE(often, 11);
  ASSERT_TRUE(save_file({.format = plain, .sync_every_bytes = 0}).ok());
  EXPECT_EQ(disk.count(Op::sync) - often, 1);
}

TEST_F(RdbSaveTest, LeavesTheOldFileAndNoTemporaryOneAfterAFailure) {
  disk.put("dir/dump.rdb", "old");
  fill(100, 3000);
  for (const Op op : {Op::create, Op::write, Op::sync, Op::rename}) {
    disk.fail_next(op);
    const auto done = save_file();
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::io);
    EXPECT_EQ(disk.bytes("dir/dump.rdb"), "old");
    EXPECT_EQ(*disk.list("dir"), std::vector<std::string>{"dump.rdb"});
  }
  ASSERT_TRUE(save_file().ok());
}

TEST_F(RdbSaveTest, TellsThatTheDiskIsFullWhereverItHappens) {
  fill(3, 3);
  disk.put("dir/dump.rdb", "old");
  const std::size_t size = saved().size();
  for (std::size_t room = 0; room < size; ++room) {
    disk.set_room(room);
    const auto done = save_file();
    ASSERT_FALSE(done.ok()) << room;
    EXPECT_EQ(done.error().code, Code::full);
    EXPECT_EQ(disk.bytes("dir/dump.rdb"), "old");
  }
  disk.set_room(size);
  EXPECT_TRUE(save_file().ok());
}

TEST_F(RdbSaveTest, FailsIfTheDirectoryCannotBeSynced) {
  disk.fail_next(Op::sync_directory);
  EXPECT_FALSE(save_file().ok());
}

// ---- DUMP ----

// All from Redis 7.0.15.
TEST_F(RdbSaveTest, DumpsStringsAsRedisDoes) {
  EXPECT_EQ(dump(database.put_string(context, "k", "10")), "00c00a0a006e9f57450eae63bb");
  EXPECT_EQ(dump(database.put_string(context, "k", "")), "00000a005d9b5c400f7fa2da");
  EXPECT_EQ(dump(database.put_string(context, "k", "hello")), "000568656c6c6f0a006372df766534200a");
  EXPECT_EQ(dump(database.put_string(context, "k", std::string(21, 'a'))),
            "00c30615016161e00a000a00fd0cb36807413f68");
}

TEST_F(RdbSaveTest, DumpsHashesAsRedisDoes) {
  const Slot small = database.make_members(context, ValueType::hash, "small");
  database.members(context, small).put("a", "1");
  EXPECT_EQ(dump(small), "100c0c00000002008161020101ff0a0084a693e8aa17e4db");
  const Slot large = database.make_members(context, ValueType::hash, "large");
  database.members(context, large).put("f", std::string(65, 'x'));
  EXPECT_EQ(dump(large), "04010166c3094041017878e034000178780a00f106d1071b265c18");
}

TEST_F(RdbSaveTest, DumpsHashesWithDeadlinesAsValkeyDoes) {
  const Slot slot = database.make_members(context, ValueType::hash, "h");
  database.members(context, slot).put("live", "1", at(0x0102030405));
  database.members(context, slot).put("perm", "2");
  const std::string payload = dump_value(database, slot, {});
  const std::string before = payload.substr(0, payload.size() - 8);
  EXPECT_EQ(hex(before),
            "1602"
            "046c697665c0010504030201000000"
            "047065726dc002ffffffffffffffff"
            "5000");
  EXPECT_EQ(payload.substr(before.size()), little(crc64(0, before)));
}

TEST_F(RdbSaveTest, DumpsUncompressedIfAsked) {
  const std::string text(100, 'a');
  const std::string payload =
      dump_value(database, database.put_string(context, "k", text), {.compresses = false});
  EXPECT_EQ(payload.substr(3, 100), text);
  EXPECT_EQ(hex(payload.substr(payload.size() - 10, 2)), "0a00");
}

}  // namespace rdb_save_test
}  // namespace mayfly
