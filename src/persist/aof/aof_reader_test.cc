// SPDX-License-Identifier: Apache-2.0
// Finding commands in a file of the log, and telling damage from an early end.

#include "persist/aof/aof_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "resp/encode.h"

namespace mayfly {
namespace aof_reader_test {

// Gives its bytes in pieces of a few.
class SlowSource final : public ByteSource {
 public:
  SlowSource(std::string_view bytes, std::size_t piece) : source_(bytes), piece_(piece) {}
  Result<std::size_t> read(std::span<char> room) override {
    return source_.read(room.first(std::min(room.size(), piece_)));
  }

 private:
  StringSource source_;
  const std::size_t piece_;
};

// The commands, one a line, then how it ended.
std::string read_all(std::string_view bytes, std::size_t piece = 1000) {
  SlowSource source(bytes, piece);
  AofReader reader(source, 0, bytes.size());
  std::string text;
  for (;;) {
    const Result<AofReader::Found> found = reader.next();
    if (!found) return text + found.error().message;
    if (*found == AofReader::Found::command) {
      for (const std::string_view word : reader.words()) text.append(word).append(" ");
      text += "\n";
      continue;
    }
    const std::string end = std::to_string(reader.end());
    if (*found == AofReader::Found::end) return text + "end " + end;
    if (*found == AofReader::Found::truncated) return text + "truncated " + end;
    return text + reader.error() + " at " + std::to_string(reader.error_offset());
  }
}

TEST(AofReader, FindsCommandsAndSkipsRemarks) {
  EXPECT_EQ(read_all("#TS:17\r\n*1\r\n$4\r\nPING\r\n#TS:18\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n"),
            "PING \nGET  \nend 49");
  EXPECT_EQ(read_all(""), "end 0");
  EXPECT_EQ(read_all("#TS:17\r\n"), "end 8");
}

TEST(AofReader, AnEarlyEndIsToldWithTheEndOfTheLastWholeCommand) {
  const std::string whole = "#a\n*1\r\n$4\r\nPING\r\n";
  const std::string next = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
  for (std::size_t cut = 1; cut < next.size(); ++cut) {
    EXPECT_EQ(read_all(whole + next.substr(0, cut)), "PING \ntruncated 17") << cut;
  }
  EXPECT_EQ(read_all(whole + "#TS"), "PING \ntruncated 17");
}

TEST(AofReader, WhatIsNotWrittenTheOneWayIsDamage) {
  EXPECT_EQ(read_all("PING\r\n"), "a command must begin with '*' at 0");
  EXPECT_EQ(read_all(std::string(4, '\0')), "a command must begin with '*' at 0");
  EXPECT_EQ(read_all("*0\r\n"), "a command without words at 0");
  EXPECT_EQ(read_all("*-1\r\n"), "a length without digits at 1");
  EXPECT_EQ(read_all("*01\r\n$1\r\na\r\n"), "a length that begins with 0 at 1");
  EXPECT_EQ(read_all("*1\n$1\r\na\r\n"), "the end of a line must be here at 2");
  EXPECT_EQ(read_all("*1\r\n:1\r\n"), "a word must begin with '$' at 4");
  EXPECT_EQ(read_all("*1\r\n$-1\r\n"), "a length without digits at 5");
  EXPECT_EQ(read_all("*1\r\n$1\r\nab\r\n"), "the end of a line must be here at 9");
  EXPECT_EQ(read_all("*9999999999999999999\r\n"), "a length with too many digits at 1");
  EXPECT_EQ(read_all("#" + std::string(5000, 'x')), "an annotation without an end at 0");
}

TEST(AofReader, AWordLongerThanTheFileNeedsNoMemory) {
  EXPECT_EQ(read_all("*1\r\n$999999999999999999\r\nabc"), "truncated 0");
}

// A key or a value of that size would be cut off.
TEST(AofReader, AWordOfFourGibibytesIsDamage) {
  StringSource source("*2\r\n$3\r\nGET\r\n$4294967296\r\nabc");
  AofReader reader(source, 0, std::uint64_t{1} << 40);  // so long is the file, it seems
  const Result<AofReader::Found> found = reader.next();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, AofReader::Found::malformed);
  EXPECT_EQ(reader.error(), "a word of more than 4294967295 bytes");
  EXPECT_EQ(reader.error_offset(), 13u);
}

TEST(AofReader, FindsTheSameHoweverTheBytesCome) {
  EXPECT_TRUE(rc::check([] {
    const auto commands = *rc::gen::container<std::vector<std::vector<std::string>>>(
        rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::string>>()));
    std::string bytes;
    std::string expected;
    for (const auto& words : commands) {
      append_request(bytes, words);
      for (const std::string& word : words) expected.append(word).append(" ");
      expected += "\n";
    }
    expected += "end " + std::to_string(bytes.size());
    RC_ASSERT(read_all(bytes, *rc::gen::inRange<std::size_t>(1, 50)) == expected);
  }));
}

TEST(AofReader, CommandsLongerThanItsBufferAreWhole) {
  std::string bytes;
  std::string expected;
  for (const std::size_t size : {10u, 70'000u, 3u, 65'530u, 300'000u, 1u}) {
    const std::string value(size, static_cast<char>('a' + size % 26));
    append_request(bytes, std::vector<std::string>{"SET", "k", value});
    expected += "SET k " + value + " \n";
  }
  EXPECT_EQ(read_all(bytes, 1'000'000), expected + "end " + std::to_string(bytes.size()));
}

TEST(AofReader, OffsetsCountFromTheBeginOfTheFile) {
  const std::string bytes = "*1\r\n$4\r\nPING\r\n";
  StringSource source(bytes);
  AofReader reader(source, 100, 100 + bytes.size());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.begin(), 100u);
  EXPECT_EQ(reader.end(), 114u);
}

TEST(AofReader, AFailureToReadIsNoEnd) {
  class Broken final : public ByteSource {
    Result<std::size_t> read(std::span<char>) override { return Error{Code::io, "broken"}; }
  } broken;
  AofReader reader(broken, 0, 100);
  const Result<AofReader::Found> found = reader.next();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "broken");
}

TEST(AofUnit, GivesBackWhatWasAdded) {
  AofUnit unit;
  for (int round = 0; round < 2; ++round) {
    unit.add(1, std::vector<std::string_view>{"SET", "a", ""});
    unit.add(2, std::vector<std::string_view>{"DEL", "b"});
    ASSERT_EQ(unit.size(), 2u);
    EXPECT_EQ(unit.database(1), 2);
    EXPECT_EQ(unit.words(0).size(), 3u);
    EXPECT_EQ(unit.words(0)[1], "a");
    EXPECT_EQ(unit.words(1)[1], "b");
    unit.clear();
  }
}

}  // namespace aof_reader_test
}  // namespace mayfly
