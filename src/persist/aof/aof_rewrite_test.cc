// SPDX-License-Identifier: Apache-2.0
// The base of an append-only file: as commands, and as an RDB file.

#include "persist/aof/aof_rewrite.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "persist/aof/aof_reader.h"
#include "persist/disk/fake_disk.h"

namespace mayfly {
namespace aof_rewrite_test {

class AofRewriteTest : public ::testing::Test, protected KeyspaceFixture {
 protected:
  std::vector<std::string> commands() {
    StringSink sink;
    const Result<SaveProgress> done =
        write_aof_base(keyspace, sink, {.format = {.now = context.now}}, false, {});
    EXPECT_TRUE(done);
    EXPECT_EQ(done->bytes, sink.bytes.size());
    return lines_of(sink.bytes);
  }

  static std::vector<std::string> lines_of(const std::string& bytes) {
    StringSource source(bytes);
    AofReader reader(source, 0, bytes.size());
    std::vector<std::string> lines;
    while (*reader.next() == AofReader::Found::command) {
      std::string line;
      for (const std::string_view word : reader.words()) line.append(word).append(" ");
      line.pop_back();
      lines.push_back(line);
    }
    return lines;
  }
};

using Lines = std::vector<std::string>;

TEST_F(AofRewriteTest, AnEmptyKeyspaceIsNoCommand) { EXPECT_EQ(commands(), Lines{}); }

TEST_F(AofRewriteTest, StringsAreOneCommandWithTheirDeadline) {
  keyspace[0].put_string(context, "a", "1");
  keyspace[3].set_deadline(keyspace[3].put_string(context, "b", "2"), at(2'000'000));
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "SET a 1", "SELECT 3", "SET b 2 PXAT 2000000"}));
}

TEST_F(AofRewriteTest, AStringHasItsStaleTime) {
  database.set_deadline(database.put_string(context, "a", "1"), at(2'000'000), Millis(500));
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "SET a 1 PXAT 1999500 PSTALE 500"}));
}

TEST_F(AofRewriteTest, FieldsWithTheSameDeadlineShareACommand) {
  const Slot slot = make_hash("h", {"a", "b", "c", "d", "e"});
  MembersRef hash = keyspace[0].members(context, slot);
  hash.set_deadline("a", at(3'000'000));
  hash.set_deadline("b", at(2'000'000));
  hash.set_deadline("d", at(3'000'000));
  keyspace[0].set_deadline(slot, at(4'000'000));
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "HSETEX h PXAT 2000000 FIELDS 1 b b",
                               "HSETEX h PXAT 3000000 FIELDS 2 a a d d", "HSET h c c e e",
                               "PEXPIREAT h 4000000"}));
}

TEST_F(AofRewriteTest, LargeHashesComeInPiecesOf64Fields) {
  std::vector<std::string> fields;
  for (int i = 0; i < 130; ++i) fields.push_back("f" + std::to_string(i));
  make_hash("plain", fields);
  make_hash("timed", fields, at(2'000'000));
  std::map<std::size_t, int> counts;
  for (const std::string& line : commands()) {
    if (line.starts_with("HSET")) ++counts[static_cast<std::size_t>(std::ranges::count(line, ' '))];
  }
  EXPECT_EQ(counts,
            (std::map<std::size_t, int>{{1 + 128, 2}, {1 + 4, 1}, {5 + 128, 2}, {5 + 4, 1}}));
}

TEST_F(AofRewriteTest, SetsAndSortedSetsAreWrittenLikeHashes) {
  const Slot set = database.make_members(context, ValueType::set, "s");
  for (const char* name : {"a", "b", "c"}) database.members(context, set).put(name, "");
  database.members(context, set).set_deadline("a", at(2'000'000));
  database.set_deadline(set, at(4'000'000));
  const Slot zset = database.make_members(context, ValueType::zset, "z");
  database.members(context, zset).put("a", ScoreBytes(-0.0).view());
  database.members(context, zset).put("b", ScoreBytes(1.0 / 3).view(), at(3'000'000));
  database.members(context, zset).put("c", ScoreBytes(1e300).view());
  Lines lines = commands();
  ASSERT_EQ(lines.size(), 6u);
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (Lines{"PEXPIREAT s 4000000", "SADD s b c", "SADDEX s PXAT 2000000 MEMBERS 1 a",
                          "SELECT 0", "ZADD z 0 a 1e+300 c",
                          "ZADDEX z PXAT 3000000 MEMBERS 1 0.3333333333333333 b"}));
}

TEST_F(AofRewriteTest, ListsComeInPiecesOf64Elements) {
  keyspace.options().list_limits.fill = 10;
  Slot slot = database.make_list(context, "l");
  for (const char* text : {"a", "-7", ""}) database.list(slot).push(ListEnd::tail, text);
  database.set_deadline(slot, at(2'000'000));
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "RPUSH l a -7 ", "PEXPIREAT l 2000000"}));

  database.erase(slot);
  slot = database.make_list(context, "l");
  Lines expected = {"SELECT 0", "RPUSH l", "RPUSH l", "RPUSH l"};
  for (std::size_t i = 0; i < 130; ++i) {
    database.list(slot).push(ListEnd::tail, std::to_string(i));
    expected[1 + i / 64] += " " + std::to_string(i);
  }
  EXPECT_EQ(commands(), expected);
}

TEST_F(AofRewriteTest, StreamsAreWrittenWithTheirGroups) {
  auto stream = std::make_unique<Stream>();
  const std::vector<std::string_view> words = {"f", "v", "g", "7"};
  for (std::uint64_t i = 1; i <= 3; ++i) stream->append({i, 0}, words, {});
  stream->erase({2, 0});
  stream->set_last_id({9, 1});
  StreamGroup* const group = stream->make_group("g", {3, 0}, 3);
  StreamConsumer* const consumer = group->make_consumer("ann", at(5));
  group->make_consumer("bob", at(5));
  group->deliver({1, 0}, *consumer, at(900), 4);
  stream->make_group("h", {0, 0}, std::nullopt);
  const Slot slot = database.put_stream(context, "x", std::move(stream));
  database.set_deadline(slot, at(2'000'000));
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "XADD x 1-0 f v g 7", "XADD x 3-0 f v g 7",
                               "XSETID x 9-1 ENTRIESADDED 3 MAXDELETEDID 2-0",
                               "XGROUP CREATE x g 3-0 ENTRIESREAD 3",
                               "XGROUP CREATECONSUMER x g ann", "XGROUP CREATECONSUMER x g bob",
                               "XCLAIM x g ann 0 1-0 TIME 900 RETRYCOUNT 4 JUSTID FORCE",
                               "XGROUP CREATE x h 0-0 ENTRIESREAD -1", "PEXPIREAT x 2000000"}));
}

TEST_F(AofRewriteTest, AnEmptyStreamIsAddedAndTrimmed) {
  database.put_stream(context, "x", std::make_unique<Stream>());
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "XADD x MAXLEN 0 0-1 x y",
                               "XSETID x 0-0 ENTRIESADDED 0 MAXDELETEDID 0-0"}));
}

TEST_F(AofRewriteTest, WhatIsDueIsLeftOutOfHashesButKeysStay) {
  const Slot slot = make_hash("h", {"a", "b"});
  keyspace[0].members(context, slot).set_deadline("a", in(10));
  make_hash("gone", {"a"}, in(10));
  keyspace[0].set_deadline(keyspace[0].put_string(context, "s", "1"), in(10));
  advance(10);
  EXPECT_EQ(commands(), (Lines{"SELECT 0", "HSET h b b", "SET s 1 PXAT 1000010"}));
  EXPECT_EQ(keyspace[0].stored(), 3u);
}

TEST_F(AofRewriteTest, AsAnRdbFileItSaysThatItIsABase) {
  keyspace[0].put_string(context, "a", "1");
  StringSink sink;
  ASSERT_TRUE(write_aof_base(keyspace, sink, {}, true, {}));
  EXPECT_TRUE(sink.bytes.starts_with("REDIS0010"));
  EXPECT_NE(sink.bytes.find("aof-base"), std::string::npos);
}

TEST_F(AofRewriteTest, TellsHowFarItIs) {
  for (int i = 0; i < 3'000; ++i) keyspace[0].put_string(context, "k" + std::to_string(i), "v");
  StringSink sink;
  std::vector<std::uint64_t> keys;
  const auto progress = [&](const SaveProgress& done) { keys.push_back(done.keys); };
  const Result<SaveProgress> done =
      write_aof_base(keyspace, sink, {.format = {.now = context.now}}, false, progress);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->keys, 3'000u);
  ASSERT_EQ(keys.size(), 3'000u);
  EXPECT_EQ(keys.front(), 1u);
  EXPECT_EQ(keys.back(), 3'000u);
}

TEST_F(AofRewriteTest, SomeKeysOfOneDatabase) {
  keyspace[0].put_string(context, "a1", "1");
  keyspace[0].set_deadline(make_hash("b1", {"f"}), at(2'000'000));
  keyspace[0].put_string(context, "a2", "2");
  keyspace[1].put_string(context, "b2", "3");
  StringSink sink;
  const Result<SaveProgress> done = write_keys(
      keyspace[0], sink, context.now, [](std::string_view key) { return key[0] == 'b'; }, {});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->keys, 1u);
  EXPECT_EQ(lines_of(sink.bytes), (Lines{"HSET b1 f f", "PEXPIREAT b1 2000000"}));
}

TEST_F(AofRewriteTest, AFullDiskIsToldAndEndsIt) {
  for (int i = 0; i < 10'000; ++i)
    keyspace[0].put_string(context, "k" + std::to_string(i), "value");
  FakeDisk disk;
  disk.set_room(100'000);
  for (const bool rdb_preamble : {false, true}) {
    const Result<SaveProgress> done =
        write_aof_base_file(disk, "base", keyspace, {}, rdb_preamble, {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::full);
  }
  disk.heal();
  ASSERT_TRUE(write_aof_base_file(disk, "base", keyspace, {}, false, {}));
  ASSERT_TRUE(disk.sync_directory("."));
  const std::string bytes = disk.bytes("base");
  disk.power_cut();
  EXPECT_EQ(disk.bytes("base"), bytes);
}

}  // namespace aof_rewrite_test
}  // namespace mayfly
