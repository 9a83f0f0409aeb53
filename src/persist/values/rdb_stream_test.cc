// SPDX-License-Identifier: Apache-2.0
// Streams in RDB files: all three forms are read, each has the bytes that rdb_stream.h describes,
// and what does not fit together is refused by its name.

#include "persist/values/rdb_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hex.h"
#include "keyspace/keyspace_fixture.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_save.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_stream_test {

using Lines = std::vector<std::string>;
using rdb::Type;

void append_entry(Stream& stream, StreamId id, const std::vector<std::string_view>& words,
                  const StreamLimits& limits = {}) {
  stream.append(id, words, limits);
}

// Entries 1-1 and 2-0, and 1-2, which was deleted.
std::unique_ptr<Stream> small_stream() {
  auto stream = std::make_unique<Stream>();
  append_entry(*stream, {1, 1}, {"f", "v"});
  append_entry(*stream, {1, 2}, {"f", "w"});
  append_entry(*stream, {2, 0}, {"g", "7", "h", ""});
  stream->erase({1, 2});
  return stream;
}

// The blocks and numbers of that stream, and how many groups follow.
TestFile& add_small(TestFile& file, Type type, std::uint64_t groups) {
  file.blocks(*small_stream()).length(2).id({5, 0});
  if (type != Type::stream) file.id({1, 1}).id({1, 2}).length(3);
  return file.length(groups);
}

// A group with a pending entry for one consumer; another consumer has none.
void add_group(TestFile& file, Type type) {
  file.text("group").id({1, 1});
  if (type != Type::stream) file.length(1);
  file.length(1).id_key({1, 1}).number(900).length(3).length(2).text("ann").number(1'000);
  if (type == Type::stream3) file.number(900);
  file.length(1).id_key({1, 1}).text("bob").number(2'000);
  if (type == Type::stream3) file.number(-1);
  file.length(0);
}

TestFile small_file(Type type) {
  TestFile file;
  add_group(add_small(file.type(type).text("k"), type, 1), type);
  return file;
}

Lines parse(const TestFile& file) { return RdbNotes::of(file.end()); }

TEST(RdbStreamRead, ReadsTheThreeForms) {
  const Lines third = parse(small_file(Type::stream3));
  EXPECT_EQ(third, (Lines{"stream 0:k", "1-1 f v", "2-0 g 7 h ", "last 5-0 deleted 1-2 added 3",
                          "group group last 1-1 read 1", "consumer ann seen 1000 active 900",
                          "consumer bob seen 2000 active never",
                          "pending 1-1 for ann since 900 times 3", "end"}));
  Lines second = third;
  second[5] = "consumer ann seen 1000 active 1000";
  second[6] = "consumer bob seen 2000 active 2000";
  EXPECT_EQ(parse(small_file(Type::stream2)), second);
  Lines first = second;
  first[3] = "last 5-0 deleted 0-0 added 2";
  EXPECT_EQ(parse(small_file(Type::stream)), first);
}

TEST(RdbStreamRead, EstimatesWhatAGroupOfTheFirstFormHasRead) {
  const auto read_of = [](StreamId last) {
    TestFile file;
    add_small(file.type(Type::stream).text("k"), Type::stream, 1);
    file.text("g").id(last).length(0).length(0);
    return parse(file)[4];
  };
  EXPECT_EQ(read_of({0, 0}), "group g last 0-0 read 0");
  EXPECT_EQ(read_of({1, 1}), "group g last 1-1 read 1");
  EXPECT_EQ(read_of({5, 0}), "group g last 5-0 read 2");
}

TEST(RdbStreamRead, ReadsAnUnknownCountOfEntriesRead) {
  TestFile file;
  add_small(file.type(Type::stream2).text("k"), Type::stream2, 1);
  file.text("g").id({1, 1}).length(~0ull).length(0).length(0);
  EXPECT_EQ(parse(file)[4], "group g last 1-1 read ?");
}

TEST(RdbStreamRead, ReadsAnEmptyStream) {
  TestFile file;
  file.type(Type::stream2).text("k").length(0).length(0).id({0, 0}).id({0, 0}).id({0, 0});
  EXPECT_EQ(parse(file.length(0).length(0)),
            (Lines{"stream 0:k", "last 0-0 deleted 0-0 added 0", "end"}));
}

TEST(RdbStreamRead, ComesInParts) {
  Stream large;
  const std::string text(1'000, 'x');
  for (std::uint64_t i = 1; i <= 3'000; ++i) append_entry(large, {i, 0}, {"f", text});
  TestFile file;
  file.type(Type::stream2).text("k").blocks(large).length(3'000).id({3'000, 0}).id({1, 0});
  file.id({0, 0}).length(3'000).length(3);
  for (const char* name : {"a", "b", "c"}) file.text(name).id({0, 0}).length(0).length(0).length(0);
  const std::string bytes = file.end();
  for (const std::size_t piece : {100u, 10'000'000u}) {
    PieceSource source(bytes, piece);
    RdbNotes notes;
    RdbParser parser(source, notes);
    std::size_t steps = 0;
    std::uint64_t longest = 0;
    Result<bool> ended = false;
    while (ended && !*ended) {
      const std::uint64_t before = parser.offset();
      ended = parser.step();
      longest = std::max(longest, parser.offset() - before);
      ++steps;
    }
    ASSERT_TRUE(ended);
    EXPECT_EQ(notes.lines.size(), 3'000u + 6);
    EXPECT_LT(longest, 300'000u) << "bytes in one step";
    EXPECT_GT(steps, 12u);
  }
}

// ---- What cannot be ----

// "damaged at offset N: WHAT, in key 'k' at offset 9" without the offsets.
std::string damage_of(const TestFile& value, Type type = Type::stream3) {
  const std::string message = parse(TestFile().type(type).text("k").raw(value.so_far())).back();
  const std::size_t begin = message.find(": ", 7);
  const std::size_t end = message.find(", in key 'k' at offset 9");
  if (begin == std::string::npos || end == std::string::npos) return message;
  return message.substr(begin + 2, end - begin - 2);
}

TEST(RdbStreamDamage, OfBlocksAndNumbers) {
  EXPECT_EQ(damage_of(TestFile("").length(1).text("short").text("x")),
            "a block of a stream without its id");
  EXPECT_EQ(damage_of(TestFile("").length(1).length(16).id_key({1, 0}).text("x")),
            check_stream_block({1, 0}, "x"));
  const auto numbers = [](std::uint64_t entries, StreamId last, std::uint64_t added) {
    TestFile file("");
    file.blocks(*small_stream()).length(entries).id(last).id({1, 1}).id({1, 2}).length(added);
    return damage_of(file.length(0));
  };
  EXPECT_EQ(numbers(2, {2, 0}, 2), "end");
  EXPECT_EQ(numbers(3, {2, 0}, 3), "a stream of 2 entries that claims 3");
  EXPECT_EQ(numbers(1, {2, 0}, 3), "a stream of 2 entries that claims 1");
  EXPECT_EQ(numbers(2, {1, 9}, 3), "a stream whose last id is before that of an entry");
  EXPECT_EQ(numbers(2, {2, 0}, 1), "a stream with more entries than were added");

  TestFile twice("");
  twice.length(2);
  const std::unique_ptr<Stream> stream = small_stream();
  for (int i = 0; i < 2; ++i) {
    stream->each_block([&](StreamId first, std::string_view listpack) {
      twice.length(16).id_key(first).text(listpack);
    });
  }
  EXPECT_EQ(damage_of(twice), "stream blocks out of order");
}

// A stream with one group: pending entries, and consumers with theirs.
struct Owner {
  std::string name;
  std::vector<StreamId> pending;
};
std::string group_damage(const std::vector<StreamId>& pending, const std::vector<Owner>& owners) {
  TestFile file("");
  add_small(file, Type::stream3, 1).text("g").id({1, 1}).length(1).length(pending.size());
  for (const StreamId id : pending) file.id_key(id).number(5).length(1);
  file.length(owners.size());
  for (const Owner& owner : owners) {
    file.text(owner.name).number(5).number(5).length(owner.pending.size());
    for (const StreamId id : owner.pending) file.id_key(id);
  }
  return damage_of(file);
}

TEST(RdbStreamDamage, OfGroups) {
  const StreamId one{1, 1};
  const StreamId two{2, 0};
  EXPECT_EQ(group_damage({one, two}, {{"a", {two}}, {"b", {one}}}), "end");
  EXPECT_EQ(group_damage({two, one}, {{"a", {one, two}}}), "end") << "the order does not matter";
  EXPECT_EQ(group_damage({one, one}, {{"a", {one}}}), "duplicate pending entry in a group");
  EXPECT_EQ(group_damage({one, two}, {{"a", {one}}}), "a pending entry without a consumer");
  EXPECT_EQ(group_damage({one}, {{"a", {two}}}),
            "an entry pending for a consumer, but not in its group");
  EXPECT_EQ(group_damage({one}, {{"a", {one}}, {"b", {one}}}),
            "an entry pending for two consumers");
  EXPECT_EQ(group_damage({one}, {{"a", {one, one}}}), "an entry pending for two consumers");
  EXPECT_EQ(group_damage({}, {{"a", {}}, {"a", {}}}), "duplicate consumer in a group");

  TestFile twice("");
  add_small(twice, Type::stream3, 2);
  for (int i = 0; i < 2; ++i) twice.text("g").id({1, 1}).length(1).length(0).length(0);
  EXPECT_EQ(damage_of(twice), "duplicate group in a stream");
  TestFile early("");
  add_small(early, Type::stream3, 1).text("g").id({1, 1}).length(1);
  early.length(1).id_key({1, 1}).number(-1).length(1).length(0);
  EXPECT_EQ(damage_of(early), "a time of -1");
}

// ---- Writing ----

class RdbStreamWrite : public testing::Test, protected KeyspaceFixture {
 protected:
  Slot put(std::unique_ptr<Stream> stream) {
    return database.put_stream(context, "stream", std::move(stream));
  }

  // The payload without version and checksum.
  std::string dump(Slot slot, Type newest = Type::stream3) {
    const std::string payload =
        dump_value(database, slot, {.compresses = false, .streams = newest});
    EXPECT_EQ(payload[payload.size() - 10], newest == Type::stream ? 9 : 10) << "the version";
    return payload.substr(0, payload.size() - 10);
  }

  static StreamConsumer& add_consumer(Stream& stream, const char* name) {
    StreamGroup* group = stream.group("g");
    if (group == nullptr) group = stream.make_group("g", {1, 1}, 1);
    return *group->make_consumer(name, at(1'000));
  }
};

TEST_F(RdbStreamWrite, HasTheseBytes) {
  std::unique_ptr<Stream> stream = small_stream();
  StreamConsumer& consumer = add_consumer(*stream, "ann");
  consumer.active = at(1'000);
  stream->group("g")->deliver({1, 1}, consumer, at(900), 3);
  std::string block;
  stream->each_block([&](StreamId, std::string_view listpack) { block = hex(listpack); });
  const Slot slot = put(std::move(stream));
  const std::string blocks =
      "01"
      "10"
      "0000000000000001"
      "0000000000000001";
  const std::string size = hex(std::string(1, static_cast<char>(block.size() / 2)));
  const std::string numbers =
      "02"
      "0200"
      "0101"
      "0102"
      "03";
  const std::string group =
      "01"
      "0167"
      "0101"
      "01"
      "01"
      "0000000000000001"
      "0000000000000001"
      "8403000000000000"
      "03"
      "01"
      "03616e6e"
      "e803000000000000";
  const std::string pending =
      "01"
      "0000000000000001"
      "0000000000000001";
  EXPECT_EQ(hex(dump(slot)), "13" + blocks + size + block + numbers + group + pending);

  database.stream(slot).group("g")->consumer("ann")->active = at(900);
  EXPECT_EQ(hex(dump(slot)),
            "15" + blocks + size + block + numbers + group + "8403000000000000" + pending);
}

TEST_F(RdbStreamWrite, IsTypeTwentyOneOnlyIfAnActiveTimeWouldBeLost) {
  const Slot slot = put(small_stream());
  EXPECT_EQ(dump(slot)[0], 19);
  Stream& stream = database.stream(slot);
  StreamConsumer& consumer = add_consumer(stream, "ann");
  consumer.active = consumer.seen;
  EXPECT_EQ(dump(slot)[0], 19);
  add_consumer(stream, "bob").active.reset();
  EXPECT_EQ(dump(slot)[0], 21);
  EXPECT_EQ(dump(slot, Type::stream2)[0], 19) << "for a file that Redis 7.0 may have to load";
  EXPECT_EQ(dump(slot, Type::stream)[0], 15) << "for Redis 6";
}

TEST_F(RdbStreamWrite, ComesBackAsItWas) {
  auto stream = std::make_unique<Stream>();
  for (std::uint64_t i = 1; i <= 2'000; ++i) {
    const std::string number = std::to_string(i);
    append_entry(*stream, {i * 1'000'000, i}, {"field", number, "x", ""});
    if (i % 7 == 0) stream->erase({i * 1'000'000, i});
  }
  stream->set_last_id({~0ull, ~0ull - 1});
  for (const char* name : {"ann", "bob", "eve"}) {
    StreamConsumer& consumer = add_consumer(*stream, name);
    consumer.active = name[0] == 'e' ? std::nullopt : std::optional(at(500));
    for (std::uint64_t i = 1; i <= 200; ++i) {
      const StreamId id{i * 1'000'000, i};
      stream->group("g")->deliver(id, consumer, at(static_cast<std::int64_t>(i)), i * i);
    }
  }
  stream->make_group("empty", kStreamIdMax, std::nullopt);
  const Lines before = stream_lines(*stream);
  const Slot slot = put(std::move(stream));
  for (const bool compresses : {false, true}) {
    const std::string payload = dump_value(database, slot, {.compresses = compresses});
    const Result<Slot> copy = restore_value(context, database, "copy", payload);
    ASSERT_TRUE(copy);
    EXPECT_TRUE(stream_lines(database.stream(*copy)) == before);
    EXPECT_EQ(database.check_invariants(), "");
    database.erase(*copy);
  }
}

}  // namespace rdb_stream_test
}  // namespace mayfly
