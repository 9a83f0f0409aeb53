// SPDX-License-Identifier: Apache-2.0
// Lists in RDB files: all forms are read, each has the bytes that docs/formats.md gives, and what
// cannot be is refused by its name.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hex.h"
#include "keyspace/keyspace_fixture.h"
#include "keyspace/listpack/listpack_writer.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_save.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_list_test {

using Lines = std::vector<std::string>;
using rdb::Type;

const std::string kZiplist = {"\x11\0\0\0\x0D\0\0\0\2\0\0\1f\3\1v\xFF", 17};  // f v

std::string list_pack(const Lines& texts) {
  ListpackWriter writer;
  for (const std::string& text : texts) writer.add(text);
  return std::string(writer.finish());
}

Lines parse(const TestFile& file) { return RdbNotes::of(file.end()); }

// "damaged at offset N: WHAT, in key 'k' at offset 9" without the offsets.
std::string damage_of(Type type, const TestFile& value) {
  const Lines lines = parse(TestFile().type(type).text("k").raw(value.so_far()));
  const std::string& message = lines.back();
  const std::size_t begin = message.find(": ", 7);
  const std::size_t end = message.find(", in key 'k' at offset 9");
  if (begin == std::string::npos || end == std::string::npos) return message;
  return message.substr(begin + 2, end - begin - 2);
}

TEST(RdbList, IsReadInAllItsForms) {
  TestFile file;
  file.type(Type::list).text("list").length(3).text("a").byte(0xC0).byte(7).text("");
  file.type(Type::list_ziplist).text("zip").text(kZiplist);
  file.type(Type::list_quicklist).text("quick").length(2).text(kZiplist).text(kZiplist);
  file.type(Type::list_quicklist2).text("quick2").length(3).length(1).text("plain");
  file.length(2).text(list_pack({"x", "-12", ""})).length(2).text(list_pack({}));
  file.string_key("after", "all");
  EXPECT_EQ(parse(file), (Lines{"list 0:list", "a",
                                "7",           "",
                                "end",         "list 0:zip",
                                "f",           "v",
                                "end",         "list 0:quick",
                                "f",           "v",
                                "f",           "v",
                                "end",         "list 0:quick2",
                                "plain",       "x",
                                "-12",         "",
                                "end",         "string 0:after all"}));
}

TEST(RdbList, WithoutElementsIsToldAsSuch) {
  TestFile file;
  file.type(Type::list).text("a").length(0).type(Type::list_quicklist2).text("b").length(0);
  file.type(Type::list_quicklist2).text("c").length(1).length(2).text(list_pack({}));
  EXPECT_EQ(parse(file), (Lines{"list 0:a", "end", "list 0:b", "end", "list 0:c", "end"}));
}

TEST(RdbList, ComesInParts) {
  TestFile file;
  file.type(Type::list).text("l").length(10'000);
  for (int i = 0; i < 10'000; ++i) file.text(std::to_string(i));
  file.type(Type::list_quicklist2).text("m").length(3);
  for (int i = 0; i < 3; ++i) file.length(1).text(std::string(1 << 20, 'x'));
  const std::string bytes = file.end();
  for (const std::size_t piece : {100u, 10'000'000u}) {
    PieceSource source(bytes, piece);
    RdbNotes notes;
    RdbParser parser(source, notes);
    std::vector<std::size_t> sizes;
    Result<bool> ended = false;
    while (ended && !*ended) {
      ended = parser.step();
      sizes.push_back(notes.lines.size());
    }
    ASSERT_TRUE(ended);
    EXPECT_EQ(sizes,
              (std::vector<std::size_t>{0, 4'097, 8'193, 10'002, 10'004, 10'005, 10'007, 10'007}));
    EXPECT_EQ(notes.lines[10'000], "9999");
  }
}

TEST(RdbList, ThatCannotBeIsRefused) {
  EXPECT_EQ(damage_of(Type::list, TestFile("").length(100)),
            "100 elements cannot be in the 9 bytes left");
  EXPECT_EQ(damage_of(Type::list_quicklist2, TestFile("").length(1).length(3).text("x")),
            "a node of a list of the unknown kind 3");
  EXPECT_EQ(damage_of(Type::list_quicklist2, TestFile("").length(1).length(1).text("")),
            "an empty node of a list");
  std::string wrong = list_pack({"x", "y"});
  wrong[4] = 3;
  EXPECT_EQ(damage_of(Type::list_quicklist2, TestFile("").length(1).length(2).text(wrong)),
            "a listpack of another count");
  EXPECT_EQ(damage_of(Type::list_quicklist2, TestFile("").length(1).length(2).text("")),
            "a listpack of another size than it says");
  EXPECT_EQ(damage_of(Type::list_ziplist, TestFile("").text(kZiplist.substr(0, 16))),
            "a ziplist of another size than it says");
  EXPECT_EQ(damage_of(Type::list_quicklist, TestFile("").length(1).text(list_pack({"x"}))),
            "a ziplist of another size than it says");
}

class RdbListWrite : public testing::Test, protected KeyspaceFixture {
 protected:
  Slot make(const Lines& elements) {
    const Slot slot = database.make_list(context, "list");
    for (const std::string& element : elements) database.list(slot).push(ListEnd::tail, element);
    return slot;
  }

  // The payload without version and checksum.
  static std::string body(const std::string& payload) {
    return hex(payload.substr(0, payload.size() - 10));
  }

  static Lines elements_of(const ListRef& list) {
    Lines elements;
    list.each(0, SIZE_MAX, true, [&](const ListpackValue& value) {
      char scratch[24];
      elements.emplace_back(value.as_text(scratch));
      return true;
    });
    return elements;
  }

  // What is restored from the dump of this list.
  Lines restored(Slot slot) {
    const std::string payload = dump_value(database, slot, {});
    EXPECT_EQ(payload[0], 18);
    EXPECT_EQ(hex(payload.substr(payload.size() - 10, 2)), "0a00");
    const Result<Slot> copy = restore_value(context, database, "copy", payload);
    if (!copy) return {copy.error().message};
    EXPECT_EQ(database.check_invariants(), "");
    EXPECT_EQ(encoding_name(database.node(*copy)), encoding_name(database.node(slot)));
    const Lines elements = elements_of(database.list(*copy));
    database.erase(*copy);
    return elements;
  }
};

TEST_F(RdbListWrite, HasTheseBytes) {
  EXPECT_EQ(body(dump_value(database, make({"a", "-3", "300"}), {.compresses = false})),
            "12"
            "01"
            "02"
            "10"
            "10000000"
            "0300"
            "816102"
            "dffd02"
            "c12c02"
            "ff");
}

TEST_F(RdbListWrite, IsAChunkANodeAndALongElementANodeOfItsOwn) {
  keyspace.options().list_limits.fill = 2;
  const std::string long_text(9'000, 'x');
  const Slot slot = make({"a", "b", long_text, "c"});
  const std::string bytes = body(dump_value(database, slot, {.compresses = false}));
  EXPECT_TRUE(
      bytes.starts_with("12"
                        "03"
                        "02"
                        "0d"
                        "0d000000"
                        "0200"
                        "816102"
                        "816202"
                        "ff"
                        "01"
                        "6328"
                        "7878"))
      << bytes.substr(0, 100);
  EXPECT_TRUE(
      bytes.ends_with("7878"
                      "02"
                      "0a"
                      "0a000000"
                      "0100"
                      "816302"
                      "ff"));
  EXPECT_EQ(restored(slot), (Lines{"a", "b", long_text, "c"}));
}

TEST_F(RdbListWrite, ComesBackAsItWas) {
  EXPECT_EQ(restored(make({""})), Lines{""});
  database.erase(database.find(context, "list"));
  Lines elements;
  for (int i = 0; i < 20'000; ++i) {
    const std::string number = std::to_string(i * 7'777'777ll);
    elements.push_back(i % 3 == 0 ? number : std::string(static_cast<std::size_t>(i % 100), 'x'));
  }
  for (const int fill : {-1, -5, 1, 128}) {
    keyspace.options().list_limits.fill = fill;
    const Slot slot = make(elements);
    EXPECT_TRUE(restored(slot) == elements) << fill;
    database.erase(slot);
  }
}

}  // namespace rdb_list_test
}  // namespace mayfly
