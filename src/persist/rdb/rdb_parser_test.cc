// SPDX-License-Identifier: Apache-2.0
// RdbParser: reads every type and opcode as written, and refuses what cannot be, saying where.

#include "persist/rdb/rdb_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keyspace/listpack/listpack_writer.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_parser_test {

using Lines = std::vector<std::string>;
using rdb::Opcode;
using rdb::Type;

std::string listpack(const std::vector<std::string>& texts) {
  ListpackWriter writer;
  for (const std::string& text : texts) writer.add(text);
  return std::string(writer.finish());
}

Lines parse(const TestFile& file) { return RdbNotes::of(file.end()); }

std::string error_of(const TestFile& file) {
  const Lines lines = parse(file);
  return lines.empty() || !lines.back().starts_with("error: ") ? "none" : lines.back().substr(7);
}

TEST(RdbParser, TellsAllThatIsAboutAKey) {
  TestFile file;
  file.op(Opcode::aux).text("redis-ver").text("7.0.15");
  file.op(Opcode::select_db).length(3).op(Opcode::resize_db).length(4).length(2);
  file.op(Opcode::slot_info).length(1).length(2).length(300);
  file.op(Opcode::expire_ms).number(4'102'444'800'000).string_key("ms", "a");
  file.op(Opcode::expire_seconds).raw({"\x10\x27\0\0", 4}).string_key("seconds", "b");
  file.op(Opcode::idle).length(500).string_key("idle", "c");
  file.op(Opcode::freq).byte(200).string_key("often", "d");
  file.op(Opcode::function2).text("#!lua");
  file.string_key("plain", "e");
  EXPECT_EQ(parse(file),
            (Lines{"aux redis-ver 7.0.15", "database 3 4 2", "string 3:ms @4102444800000 a",
                   "string 3:seconds @10000000 b", "string 3:idle idle 500 c",
                   "string 3:often frequency 200 d", "function #!lua", "string 3:plain e"}));
}

TEST(RdbParser, ReadsHashesInAllTheirForms) {
  const std::string ziplist = {"\x11\0\0\0\x0D\0\0\0\2\0\0\1f\3\1v\xFF", 17};
  TestFile file;
  file.type(Type::hash).text("plain").length(2).text("a").text("1").text("b").byte(0xC0).byte(7);
  file.type(Type::hash_zipmap).text("zipmap").text({"\1\1f\1\0v\xFF", 7});
  file.type(Type::hash_ziplist).text("ziplist").text(ziplist);
  file.type(Type::hash_listpack).text("listpack").text(listpack({"f", "-5", "g", ""}));
  EXPECT_EQ(parse(file),
            (Lines{"hash 0:plain 2", "a=1", "b=7", "end", "hash 0:zipmap 1", "f=v", "end",
                   "hash 0:ziplist 1", "f=v", "end", "hash 0:listpack 2", "f=-5", "g=", "end"}));
}

TEST(RdbParser, ReadsDeadlinesAsValkeyWritesThem) {
  TestFile file("VALKEY080");
  file.type(Type::hash2).text("h").length(3);
  file.text("a").text("1").number(1'000).text("b").text("2").number(-1).text("c").text("3").number(
      0);
  EXPECT_EQ(parse(file), (Lines{"hash 0:h 3", "a=1 @1000", "b=2", "c=3 @0", "end"}));
}

TEST(RdbParser, ReadsDeadlinesAsRedisWritesThem) {
  TestFile file("REDIS0012");
  file.type(Type::hash_metadata).text("h").number(1'000).length(3);
  file.length(0).text("a").text("1").length(1).text("b").text("2").length(300).text("c").text("3");
  file.type(Type::hash_listpackex).text("p").number(1'000);
  file.text(listpack({"a", "1", "1000", "b", "2", "0"}));
  EXPECT_EQ(parse(file), (Lines{"hash 0:h 3", "a=1", "b=2 @1000", "c=3 @1299", "end", "hash 0:p 2",
                                "a=1 @1000", "b=2", "end"}));
}

TEST(RdbParser, HandsALargeHashOverInParts) {
  TestFile file("VALKEY080");
  file.type(Type::hash2).text("h").length(10'000);
  for (int i = 0; i < 10'000; ++i) {
    file.text("field " + std::to_string(i)).text("v").number(i);
  }
  const std::string bytes = file.end();
  StringSource source(bytes);
  RdbNotes notes;
  RdbParser parser(source, notes);
  std::vector<std::size_t> sizes;
  Result<bool> ended = false;
  while (ended && !*ended) {
    ended = parser.step();
    sizes.push_back(notes.lines.size());
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 4097, 8193, 10'002, 10'002}));
  EXPECT_EQ(notes.lines[10'000], "field 9999=v @9999");
}

TEST(RdbParser, ReadsTheSameHoweverTheBytesCome) {
  TestFile file;
  file.type(Type::hash).text("h").length(300);
  for (int i = 0; i < 300; ++i) file.text(std::to_string(i)).text(std::string(5'000, 'v'));
  file.string_key("long", std::string(700'000, 'x'));
  const std::string bytes = file.end();
  const Lines whole = RdbNotes::of(bytes);
  ASSERT_EQ(whole.size(), 303u);
  for (const std::size_t piece : {7u, 4'096u, 1'000'000u}) {
    PieceSource source(bytes, piece);
    EXPECT_TRUE(RdbNotes::of(source) == whole) << piece;
  }
}

TEST(RdbParser, RefusesOtherFiles) {
  for (const char* start : {"", "REDI"}) {
    EXPECT_EQ(RdbNotes::of(start), Lines{"error: not an RDB file: it is too short for that"});
  }
  EXPECT_EQ(RdbNotes::of("*3\r\n$3\r\nSET"),
            Lines{"error: not an RDB file: it begins with '*3\\x0d\\x0a$3\\x0d\\x0aS'"});
  for (const char* magic : {"REDIS0013", "REDIS0080", "VALKEY079", "VALKEY081", "VALKEY011"}) {
    EXPECT_EQ(error_of(TestFile(magic)), std::string("the format ") + magic +
                                             " is not supported; REDIS0001 to REDIS0012 and "
                                             "VALKEY080 are");
  }
}

TEST(RdbParser, TriesNewerFilesIfThatIsAllowed) {
  const RdbChecks checks{.allows_newer = true};
  for (const char* magic : {"REDIS0013", "REDIS0079", "VALKEY081", "VALKEY900", "REDIS0010"}) {
    EXPECT_EQ(RdbNotes::of(TestFile(magic).string_key("k", "v").end(), checks),
              Lines{"string 0:k v"});
  }
  for (const char* magic : {"REDIS0080", "VALKEY079", "VALKEY011"}) {
    EXPECT_TRUE(RdbNotes::of(TestFile(magic).end(), checks).back().starts_with("error: the format"))
        << magic;
  }
}

TEST(RdbParser, PassesOverAWrongChecksumIfThatIsAskedFor) {
  std::string bytes = TestFile().string_key("k", "v").end();
  bytes.back() ^= 1;
  EXPECT_TRUE(RdbNotes::of(bytes).back().starts_with("error: the checksum is wrong"));
  EXPECT_EQ(RdbNotes::of(bytes, {.checksum = false}), Lines{"string 0:k v"});
}

TEST(RdbParser, ChecksTheChecksum) {
  const std::string sound = TestFile().string_key("k", "v").end();
  std::string wrong = sound;
  wrong[wrong.size() - 9 - 1] ^= 1;  // the value
  EXPECT_TRUE(RdbNotes::of(wrong).back().starts_with("error: the checksum is wrong"));
  wrong.replace(wrong.size() - 8, 8, 8, '\0');
  EXPECT_EQ(RdbNotes::of(wrong).size(), 1u);  // not checked

  const std::string old = std::string(TestFile("REDIS0004").string_key("k", "v").so_far()) + '\xFF';
  EXPECT_EQ(RdbNotes::of(old), Lines{"string 0:k v"});
}

TEST(RdbParser, SaysWhereTheFileEnds) {
  EXPECT_EQ(RdbNotes::of(TestFile().string_key("name", "value").so_far().substr(0, 17)).back(),
            "error: damaged at offset 16: a string of 5 bytes with 1 left, in key 'name' at "
            "offset 9");
  EXPECT_EQ(RdbNotes::of(TestFile().so_far()).back(),
            "error: damaged at offset 9: the file ends in the middle");
}

TEST(RdbParser, RefusesHashesThatCannotBe) {
  const auto with = [](Type type, const TestFile& rest) {
    const bool is_valkeys = type == Type::hash2;
    return error_of(
        TestFile(is_valkeys ? "VALKEY080" : "REDIS0012").type(type).text("k").raw(rest.so_far()));
  };
  EXPECT_EQ(with(Type::hash2, TestFile("").length(0)),
            "damaged at offset 13: a hash without fields, in key 'k' at offset 9");
  EXPECT_EQ(with(Type::hash2, TestFile("").length(1).text("f").text("v").number(-2)),
            "damaged at offset 25: a deadline of -2, in key 'k' at offset 9");
  EXPECT_EQ(with(Type::hash2, TestFile("").length(100)),
            "damaged at offset 21: 100 elements cannot be in the 9 bytes left, in key 'k' at "
            "offset 9");
  EXPECT_EQ(with(Type::hash_metadata, TestFile("").number(-1).length(1)),
            "damaged at offset 20: a negative deadline, in key 'k' at offset 9");
  TestFile late("");
  late.number(9'000'000'000'000'000'000).length(1).length(1'000'000'000'000'000'000);
  late.text("f").text("v");
  EXPECT_EQ(with(Type::hash_metadata, late),
            "damaged at offset 30: a deadline beyond the end of time, in key 'k' at offset 9");
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{}, {"f"}, {"f", "v"}, {"f", "v", "x"}, {"f", "v", "-3"}}) {
    EXPECT_TRUE(with(Type::hash_listpackex, TestFile("").number(0).text(listpack(texts)))
                    .starts_with("damaged at offset"));
  }
  EXPECT_TRUE(with(Type::hash_listpack, TestFile("").text(listpack({"f"})))
                  .starts_with("damaged at offset"));
}

TEST(RdbParser, RefusesWhatItCannotLoad) {
  EXPECT_EQ(error_of(TestFile().type(Type::module2).text("m\n")),
            "modules cannot be loaded: key 'm\\x0a' at offset 9");
  EXPECT_EQ(error_of(TestFile().op(Opcode::module_aux)),
            "modules, and what they have written, cannot be loaded: at offset 9");
  EXPECT_EQ(error_of(TestFile("REDIS0012").byte(22).text("k")),
            "the format of hashes of a release candidate of Redis 7.4 is not supported: key 'k' at "
            "offset 9");
  EXPECT_EQ(error_of(TestFile("VALKEY080").byte(24).text("k")),
            "the type 24 is unknown in files of version 80: key 'k' at offset 9");
  EXPECT_EQ(error_of(TestFile().byte(99).text("k")),
            "the type 99 is unknown in files of version 10: key 'k' at offset 9");
  EXPECT_EQ(error_of(TestFile().byte(243)),
            "slots that are being imported cannot be loaded: at offset 9");
  EXPECT_EQ(error_of(TestFile().op(Opcode::select_db).length(1ull << 40)),
            "damaged at offset 19: a database of the number 1099511627776");
}

TEST(RdbParser, ShortensAndEscapesNamesInMessages) {
  EXPECT_EQ(printable("it's\n\xFF"), "it\\x27s\\x0a\\xff");
  EXPECT_EQ(printable(std::string(100, 'x')), std::string(64, 'x') + "...");
}

}  // namespace rdb_parser_test
}  // namespace mayfly
