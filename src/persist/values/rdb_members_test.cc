// SPDX-License-Identifier: Apache-2.0
// Sets and sorted sets in RDB files: all forms are read, each has the bytes that docs/formats.md
// gives, and what cannot be is refused by its name.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "base/hex.h"
#include "keyspace/keyspace_fixture.h"
#include "keyspace/listpack/listpack_writer.h"
#include "persist/encodings/intset.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_save.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_members_test {

using Lines = std::vector<std::string>;
using rdb::Type;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string listpack(const Lines& texts) {
  ListpackWriter writer;
  for (const std::string& text : texts) writer.add(text);
  return std::string(writer.finish());
}

template <class Integer>
std::string intset(const std::vector<Integer>& numbers, std::uint32_t width = sizeof(Integer)) {
  std::string bytes;
  const auto count = static_cast<std::uint32_t>(numbers.size());
  bytes.append(reinterpret_cast<const char*>(&width), sizeof width);
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  for (const Integer number : numbers) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

std::string score(double value) { return std::string(ScoreBytes(value).view()); }

Lines parse(const TestFile& file) { return RdbNotes::of(file.end()); }

// What loading the file ends with.
std::string error_of(const TestFile& file) {
  KeyspaceFixture fixture;
  const std::string bytes = file.end();
  StringSource source(bytes);
  RdbLoader loader(source, fixture.keyspace, {.now = fixture.context.now});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(10);
  EXPECT_EQ(fixture.database.check_invariants(), "");
  return ended ? "none" : ended.error().message;
}

// "damaged at offset N: WHAT, in key 'k' at offset 9" without the offsets.
std::string damage_of(Type type, const TestFile& value) {
  const bool is_ours = type >= Type::set_deadlines;
  const std::string message = error_of(
      TestFile(is_ours ? "VALKEY080" : "REDIS0010").type(type).text("k").raw(value.so_far()));
  const std::size_t begin = message.find(": ");
  const std::size_t end = message.find(", in key 'k' at offset 9");
  if (begin == std::string::npos || end == std::string::npos) return message;
  return message.substr(begin + 2, end - begin - 2);
}

TEST(RdbMembers, ReadsSetsInAllTheirForms) {
  TestFile file;
  file.type(Type::set).text("set").length(2).text("a").byte(0xC0).byte(7);
  file.type(Type::set_intset).text("2").text(intset<std::int16_t>({-5, 0, 300}));
  file.type(Type::set_intset).text("4").text(intset<std::int32_t>({-100'000, 7}));
  file.type(Type::set_intset).text("8").text(intset<std::int64_t>({INT64_MIN, 7, INT64_MAX}));
  file.type(Type::set_listpack).text("pack").text(listpack({"x", "-12", ""}));
  EXPECT_EQ(parse(file), (Lines{"set 0:set 2",
                                "a",
                                "7",
                                "end",
                                "set 0:2 3",
                                "-5",
                                "0",
                                "300",
                                "end",
                                "set 0:4 2",
                                "-100000",
                                "7",
                                "end",
                                "set 0:8 3",
                                "-9223372036854775808",
                                "7",
                                "9223372036854775807",
                                "end",
                                "set 0:pack 3",
                                "x",
                                "-12",
                                "",
                                "end"}));
}

TEST(RdbMembers, ReadsSortedSetsInAllTheirForms) {
  TestFile file;
  file.type(Type::zset).text("text").length(4).text("a").byte(3).raw("1.5");
  file.text("b").byte(254).text("c").byte(255).text("d").byte(6).raw("5e-324");
  file.type(Type::zset2).text("zset2").length(2).text("a").raw(score(-0.0));
  file.text("b").raw(score(-kInfinity));
  file.type(Type::zset_listpack).text("pack");
  file.text(listpack({"a", "1", "b", "1e+300", "c", "inf", "d", "5e-324"}));
  EXPECT_EQ(parse(file), (Lines{"zset 0:text 4", "a=1.5", "b=inf", "c=-inf", "d=5e-324", "end",
                                "zset 0:zset2 2", "a=0", "b=-inf", "end", "zset 0:pack 4", "a=1",
                                "b=1e+300", "c=inf", "d=5e-324", "end"}));
  const std::string scored = {"\x10\0\0\0\x0D\0\0\0\2\0\0\1m\3\xF8\xFF", 16};
  EXPECT_EQ(parse(TestFile().type(Type::zset_ziplist).text("zip").text(scored)),
            (Lines{"zset 0:zip 1", "m=7", "end"}));
}

TEST(RdbMembers, ReadsDeadlinesInFilesOfVersion80Only) {
  TestFile value("");
  value.type(Type::set_deadlines).text("s").length(2).text("a").number(1'000).text("b").number(-1);
  value.type(Type::zset_deadlines).text("z").length(1).text("a").raw(score(1.5)).number(0);
  EXPECT_EQ(parse(TestFile("VALKEY080").raw(value.so_far())),
            (Lines{"set 0:s 2", "a @1000", "b", "end", "zset 0:z 1", "a=1.5 @0", "end"}));
  EXPECT_EQ(parse(TestFile("REDIS0012").raw(value.so_far())).back(),
            "error: the type 200 is unknown in files of version 12: key 's' at offset 9");
}

TEST(RdbMembers, LoadsThemSkippingWhatIsDue) {
  KeyspaceFixture fixture;
  TestFile file("VALKEY080");
  file.type(Type::set_deadlines).text("all due").length(1).text("a").number(5);
  file.type(Type::zset_deadlines).text("z").length(2).text("a").raw(score(1)).number(5);
  file.text("b").raw(score(2)).number(5'000'000);
  const std::string bytes = file.end();
  StringSource source(bytes);
  RdbLoader loader(source, fixture.keyspace, {.now = fixture.context.now});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(10);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(loader.report().keys, 1u);
  EXPECT_EQ(loader.report().members, 1u);
  EXPECT_EQ(loader.report().due_keys, 1u);
  EXPECT_EQ(loader.report().due_members, 2u);
  const Slot slot = fixture.database.find(fixture.context, "z");
  ASSERT_NE(slot, kNoSlot);
  const std::optional<Member> member = fixture.database.members(fixture.context, slot).find("b");
  ASSERT_TRUE(member);
  EXPECT_EQ(member->score(), 2);
  EXPECT_EQ(member->deadline, at(5'000'000));
}

TEST(RdbMembers, LoadsLargeOnesInParts) {
  for (const Type type : {Type::set, Type::zset2, Type::zset}) {
    TestFile file("");
    file.type(type).length(20'000);
    for (int i = 0; i < 20'000; ++i) {
      file.text("member " + std::to_string(i));
      if (type == Type::zset2) file.raw(score(i));
      if (type == Type::zset) file.text(std::to_string(i));
    }
    KeyspaceFixture fixture;
    const Result<Slot> slot =
        restore_value(fixture.context, fixture.database, "large", file.payload());
    ASSERT_TRUE(slot);
    MembersRef members = fixture.database.members(fixture.context, *slot);
    EXPECT_EQ(members.size(), 20'000u);
    const std::optional<Member> last = members.find("member 19999");
    ASSERT_TRUE(last);
    if (type != Type::set) {
      EXPECT_EQ(last->score(), 19'999);
    }
    EXPECT_EQ(fixture.database.check_invariants(), "");
  }
}

TEST(RdbMembers, LeavesOutEmptyOnesOfThePlainTypes) {
  TestFile file;
  file.type(Type::set).text("s").length(0).type(Type::zset2).text("z").length(0);
  file.type(Type::set_intset).text("i").text(intset<std::int16_t>({}));
  file.type(Type::set_listpack).text("l").text(listpack({}));
  EXPECT_EQ(error_of(file), "none");
  EXPECT_EQ(damage_of(Type::set_deadlines, TestFile("").length(0).raw(std::string(20, 'x'))),
            "a set without members");
  EXPECT_EQ(damage_of(Type::zset_deadlines, TestFile("").length(0).raw(std::string(20, 'x'))),
            "a zset without members");
}

TEST(RdbMembers, RefusesSetsThatCannotBe) {
  const auto ints = [](const std::string& blob) {
    return damage_of(Type::set_intset, TestFile("").text(blob));
  };
  const std::string unsorted = "a set of integers that do not ascend";
  EXPECT_EQ(ints(intset<std::int16_t>({2, 1})), unsorted);
  EXPECT_EQ(ints(intset<std::int32_t>({1, 1})), unsorted);
  EXPECT_EQ(ints(intset<std::int16_t>({1, 2}, 3)), "a set of integers of an unknown width");
  EXPECT_EQ(ints("\2"), "a set of integers of an unknown width");
  const std::string other_size = "a set of integers of another size than it says";
  EXPECT_EQ(ints(intset<std::int16_t>({1, 2}, 4)), other_size);
  const std::string sound = intset<std::int16_t>({1, 2});
  EXPECT_EQ(ints(sound.substr(0, sound.size() - 1)), other_size);
  EXPECT_EQ(ints(sound + "x"), other_size);

  EXPECT_EQ(error_of(TestFile().type(Type::set).text("k").length(2).text("a").text("a")),
            "duplicate member in a set: key 'k' at offset 9");
  EXPECT_EQ(error_of(TestFile().type(Type::set_listpack).text("k").text(listpack({"1", "1"}))),
            "duplicate member in a set: key 'k' at offset 9");
  EXPECT_EQ(damage_of(Type::set_listpack, TestFile("").text(listpack({"a"}).substr(0, 9))),
            "a listpack of another size than it says");
  EXPECT_EQ(damage_of(Type::set_deadlines, TestFile("").length(1).text("a").number(-2)),
            "a deadline of -2");
  EXPECT_EQ(damage_of(Type::set, TestFile("").length(100)),
            "100 elements cannot be in the 9 bytes left");
}

TEST(RdbMembers, RefusesSortedSetsThatCannotBe) {
  const std::string not_a_number = "a score that is not a number";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(damage_of(Type::zset, TestFile("").length(1).text("a").byte(253)), not_a_number);
  EXPECT_EQ(damage_of(Type::zset, TestFile("").length(1).text("a").text("nan")), not_a_number);
  EXPECT_EQ(damage_of(Type::zset2, TestFile("").length(1).text("a").raw(score(nan))), not_a_number);
  EXPECT_EQ(damage_of(Type::zset_listpack, TestFile("").text(listpack({"a", "nan"}))),
            not_a_number);
  EXPECT_EQ(damage_of(Type::zset, TestFile("").length(1).text("a").text("one")),
            "a score of 'one'");
  EXPECT_EQ(damage_of(Type::zset, TestFile("").length(1).text("a").text("")), "a score of ''");
  EXPECT_EQ(damage_of(Type::zset_listpack, TestFile("").text(listpack({"a", "1 "}))),
            "a score of '1 '");
  EXPECT_EQ(damage_of(Type::zset_listpack, TestFile("").text(listpack({"a", "1", "b"}))),
            "a member without its score");
  EXPECT_EQ(
      damage_of(Type::zset_ziplist, TestFile("").text({"\x0E\0\0\0\x0A\0\0\0\1\0\0\1m\xFF", 14})),
      "a member without its score");
  EXPECT_EQ(
      error_of(TestFile().type(Type::zset_listpack).text("k").text(listpack({"a", "1", "a", "2"}))),
      "duplicate member in a zset: key 'k' at offset 9");
  EXPECT_EQ(damage_of(Type::zset2, TestFile("").length(2).text("a").raw(score(1))),
            "a string cannot have the form 63");
}

// ---- Writing ----

class RdbMembersWriting : public testing::Test, public KeyspaceFixture {
 protected:
  Slot make(ValueType type) {
    return database.make_members(context, type, "key " + std::to_string(keys_++));
  }
  Slot make_zset(const std::vector<std::pair<std::string, double>>& members) {
    const Slot slot = make(ValueType::zset);
    for (const auto& [name, value] : members) {
      database.members(context, slot).put(name, score(value));
    }
    return slot;
  }
  std::string value(Slot slot) {
    StringSink sink;
    RdbWriter writer(sink, {});
    writer.value(database, slot);
    EXPECT_TRUE(writer.flush().ok());
    return hex(sink.bytes);
  }
  Type type(Slot slot) { return RdbWriter::type_of(database, slot, {}); }

  // The value has these bytes, and docs/formats.md shows them.
  void expect_bytes(Slot slot, const std::string& bytes) {
    EXPECT_EQ(value(slot), bytes);
    std::ifstream file("docs/formats.md");
    std::string page((std::istreambuf_iterator<char>(file)), {});
    std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
    EXPECT_NE(page.find(bytes), std::string::npos) << bytes;
  }

  // The value after DUMP and RESTORE: its members with scores and deadlines, sorted.
  Lines restored(Slot slot) {
    const Result<Slot> copy =
        restore_value(context, database, "copy", dump_value(database, slot, {}));
    EXPECT_TRUE(copy);
    if (!copy) return {};
    EXPECT_EQ(database.type(*copy), database.type(slot));
    Lines lines = members_of(*copy);
    EXPECT_EQ(lines, members_of(slot));
    EXPECT_EQ(database.check_invariants(), "");
    database.erase(*copy);
    return lines;
  }

 private:
  Lines members_of(Slot slot) {
    const ExecContext all{.now = context.now, .policy = Policy::show};
    Lines lines;
    database.members(all, slot).each([&](const Member& member) {
      lines.push_back(std::string(member.name) + "=" + hex(member.value) + " " +
                      std::to_string(member.deadline.time_since_epoch().count()));
      return true;
    });
    std::ranges::sort(lines);
    return lines;
  }

  int keys_ = 0;
};

// As DUMP of Redis 7.0 has them: the bytes that docs/formats.md shows.
TEST_F(RdbMembersWriting, WritesASetMemberByMember) {
  const Slot slot = make(ValueType::set);
  for (const char* name : {"ann", "bob"}) database.members(context, slot).put(name, "");
  EXPECT_EQ(type(slot), Type::set);
  expect_bytes(slot, "0203616e6e03626f62");
  EXPECT_EQ(restored(slot).size(), 2u);
}

TEST_F(RdbMembersWriting, WritesASetOfIntegersAsAnIntset) {
  const Slot slot = make(ValueType::set);
  for (const char* name : {"300", "-5", "7"}) database.members(context, slot).put(name, "");
  EXPECT_EQ(type(slot), Type::set_intset);
  expect_bytes(slot,
               "0e"
               "02000000"
               "03000000"
               "fbff"
               "0700"
               "2c01");
  EXPECT_EQ(restored(slot).size(), 3u);
  database.members(context, slot).put("9223372036854775807", "");
  EXPECT_EQ(type(slot), Type::set_intset);
  EXPECT_EQ(restored(slot).size(), 4u);
  database.members(context, slot).set_deadline("7", in(10));
  EXPECT_EQ(type(slot), Type::set_deadlines);
  EXPECT_EQ(restored(slot).size(), 4u);
}

TEST_F(RdbMembersWriting, WritesASmallSortedSetAsAListpackInItsOrder) {
  const Slot slot = make_zset({{"c", 2}, {"b", 1.5}, {"d", 2}, {"a", -3}});
  EXPECT_EQ(type(slot), Type::zset_listpack);
  expect_bytes(slot,
               "1f"
               "1f000000"
               "0800"
               "816102"
               "dffd02"
               "816202"
               "83312e3504"
               "816302"
               "0201"
               "816402"
               "0201"
               "ff");
  EXPECT_EQ(restored(slot).size(), 4u);
}

TEST_F(RdbMembersWriting, WritesALargeSortedSetWithBinaryScores) {
  const Slot slot = make_zset({{std::string(65, 'x'), 1.5}});
  EXPECT_EQ(type(slot), Type::zset2);
  expect_bytes(slot,
               "01"
               "c3094041017878e03400017878"
               "000000000000f83f");
  EXPECT_EQ(restored(slot).size(), 1u);
}

TEST_F(RdbMembersWriting, WritesMembersWithDeadlinesInTypesOfOurOwn) {
  const Slot set = make(ValueType::set);
  database.members(context, set).put("ann", "", at(0x0102030405));
  database.members(context, set).put("bob", "");
  EXPECT_EQ(type(set), Type::set_deadlines);
  expect_bytes(set,
               "02"
               "03616e6e"
               "0504030201000000"
               "03626f62"
               "ffffffffffffffff");
  EXPECT_EQ(restored(set).size(), 2u);

  const Slot zset = make_zset({{"bob", -1}});
  database.members(context, zset).put("ann", score(1.5), at(0x0102030405));
  EXPECT_EQ(type(zset), Type::zset_deadlines);
  expect_bytes(zset,
               "02"
               "03626f62"
               "000000000000f0bf"
               "ffffffffffffffff"
               "03616e6e"
               "000000000000f83f"
               "0504030201000000");
  EXPECT_EQ(restored(zset).size(), 2u);
  EXPECT_EQ(hex(dump_value(database, zset, {})).substr(0, 2), "c9");
  EXPECT_EQ(hex(dump_value(database, zset, {})).substr(2 * (1 + 1 + 2 * 20), 4), "5000");
}

TEST_F(RdbMembersWriting, KeepsScoresToTheLastBit) {
  const Slot slot = make_zset({{"-0", -0.0},
                               {"0", 0.0},
                               {"third", 1.0 / 3},
                               {"least", 5e-324},
                               {"most", std::numeric_limits<double>::max()},
                               {"inf", kInfinity},
                               {"-inf", -kInfinity},
                               {"integer", 9007199254740992.0},
                               {"beyond", 1e20}});
  EXPECT_EQ(type(slot), Type::zset_listpack);
  EXPECT_EQ(restored(slot).size(), 9u);
  database.members(context, slot).set_deadline("third", in(1));
  EXPECT_EQ(restored(slot).size(), 9u);
}

TEST_F(RdbMembersWriting, RestoresWhatIsDueHidden) {
  const Slot slot = make(ValueType::set);
  database.members(context, slot).put("a", "", in(10));
  const std::string payload = dump_value(database, slot, {});
  advance(20);
  const Result<Slot> copy = restore_value(context, database, "copy", payload);
  ASSERT_TRUE(copy);
  EXPECT_EQ(database.members(context, *copy).stored(), 1u);
  EXPECT_EQ(database.find(context, "copy"), kNoSlot);
}

}  // namespace rdb_members_test
}  // namespace mayfly
