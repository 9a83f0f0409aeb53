// SPDX-License-Identifier: Apache-2.0
// RdbReader: lengths and strings in all their forms, views that stay good, lengths that lie.

#include "persist/rdb/rdb_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_reader_test {

std::string bytes_of(std::initializer_list<unsigned> bytes) {
  std::string text;
  for (const unsigned byte : bytes) text += static_cast<char>(byte);
  return text;
}

std::uint64_t length_of(const std::string& bytes) {
  StringSource source(bytes);
  RdbReader reader(source);
  const std::uint64_t length = reader.length();
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(reader.offset(), bytes.size());
  return length;
}

TEST(RdbReader, ReadsLengthsInAllTheirForms) {
  EXPECT_EQ(length_of(bytes_of({0})), 0u);
  EXPECT_EQ(length_of(bytes_of({63})), 63u);
  EXPECT_EQ(length_of(bytes_of({0x41, 2})), 258u);
  EXPECT_EQ(length_of(bytes_of({0x7F, 0xFF})), 16383u);
  EXPECT_EQ(length_of(bytes_of({0x80, 1, 2, 3, 4})), 0x01020304u);
  EXPECT_EQ(length_of(bytes_of({0x81, 1, 2, 3, 4, 5, 6, 7, 8})), 0x0102030405060708u);
}

std::string string_in(const std::string& bytes) {
  StringSource source(bytes);
  RdbReader reader(source);
  const std::string text(reader.string());
  return reader.failed() ? "failed: " + reader.error().message : text;
}

TEST(RdbReader, ReadsStringsInAllTheirForms) {
  EXPECT_EQ(string_in(bytes_of({0})), "");
  EXPECT_EQ(string_in(bytes_of({2, 'h', 'i'})), "hi");
  EXPECT_EQ(string_in(bytes_of({0xC0, 0x85})), "-123");
  EXPECT_EQ(string_in(bytes_of({0xC1, 0x39, 0x30})), "12345");
  EXPECT_EQ(string_in(bytes_of({0xC2, 0, 0, 0, 0x80})), "-2147483648");
  // A literal "ab", then ten bytes from two before.
  EXPECT_EQ(string_in(bytes_of({0xC3, 6, 12, 1, 'a', 'b', 0xE0, 1, 1})), "abababababab");
}

TEST(RdbReader, RefusesWhatCannotBe) {
  EXPECT_TRUE(string_in(bytes_of({0xC4})).starts_with("failed: a string cannot have the form 4"));
  EXPECT_TRUE(string_in(bytes_of({0x82})).starts_with("failed: a length cannot begin"));
  EXPECT_EQ(string_in(bytes_of({5, 'h', 'i'})), "failed: a string of 5 bytes with 2 left");
  // Twelve bytes were promised, but there are eleven; then more than LZF can make of six.
  EXPECT_TRUE(string_in(bytes_of({0xC3, 6, 11, 1, 'a', 'b', 0xE0, 1, 1})).starts_with("failed: a"));
  EXPECT_EQ(string_in(bytes_of({0xC3, 1, 0x44, 0, 'a'})),
            "failed: 1024 bytes cannot be compressed to 1");
  EXPECT_EQ(string_in(bytes_of({0xC3, 1, 0, 'a'})), "failed: 0 bytes cannot be compressed to 1");
}

TEST(RdbReader, KeepsTheFirstFailureAndReadsZerosAfterIt) {
  const std::string bytes = bytes_of({1, 'a', 0x82, 7, 7, 7});
  StringSource source(bytes);
  RdbReader reader(source);
  EXPECT_EQ(reader.string(), "a");
  EXPECT_EQ(reader.length(), 0u);
  EXPECT_EQ(reader.string(), "");
  EXPECT_EQ(reader.byte(), 0);
  EXPECT_EQ(reader.offset(), 3u);
  reader.fail(Code::io, "another");
  EXPECT_EQ(reader.error().code, Code::corrupt);
}

TEST(RdbReader, CountsAtMostWhatTheBytesLeftCanHold) {
  const std::string bytes = bytes_of({3, 0, 0, 0, 0, 0});
  for (const std::uint64_t each : {1u, 2u}) {
    StringSource source(bytes);
    RdbReader reader(source);
    EXPECT_EQ(reader.count(each), each == 1 ? 3u : 0u);
    EXPECT_EQ(reader.failed(), each == 2);
  }
}

// Strings of many sizes, some longer than a block of the reader.
std::vector<std::string> sample() {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t size = i % 97 == 50 ? 1'500'000 + i : i * 37 % 5'000;
    texts.emplace_back(size, static_cast<char>('a' + i % 26));
  }
  return texts;
}

TEST(RdbReader, ViewsStayGoodUntilTheyAreReleased) {
  TestFile file("");
  const std::vector<std::string> texts = sample();
  for (const std::string& text : texts) file.text(text);
  const std::uint64_t crc = crc64(0, file.so_far());

  for (const std::size_t piece : {0u, 1'000u, 300'000u}) {
    StringSource whole(file.so_far());
    PieceSource pieces(file.so_far(), piece);
    RdbReader reader(piece == 0 ? static_cast<ByteSource&>(whole) : pieces);
    std::vector<std::string_view> views;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      views.push_back(reader.string());
      if (views.size() < 100) continue;
      for (std::size_t j = 0; j < views.size(); ++j) {
        ASSERT_TRUE(views[j] == texts[i + 1 - views.size() + j]) << i << " " << j;
      }
      views.clear();
      reader.release();
    }
    EXPECT_FALSE(reader.failed());
    EXPECT_EQ(reader.offset(), file.so_far().size());
    EXPECT_EQ(reader.checksum(), crc);
  }
}

TEST(RdbReader, SkipsWithoutHolding) {
  TestFile file("");
  file.text(std::string(3'000'000, 'x')).text("y").byte(0xC0).byte(5).text("z");
  for (const std::size_t piece : {100'000u, 10'000'000u}) {
    PieceSource source(file.so_far(), piece);
    RdbReader reader(source);
    reader.skip_string();
    EXPECT_EQ(reader.held(), 0u);
    reader.skip_string();
    reader.skip_string();
    EXPECT_EQ(reader.string(), "z");
    EXPECT_EQ(reader.checksum(), crc64(0, file.so_far()));
  }
}

TEST(RdbReader, BelievesALongStringOnlyAsItsBytesArrive) {
  // 4 GiB are claimed, but the source ends soon; ASan would see an allocation of that size.
  const std::string bytes = bytes_of({0x80, 0xFF, 0xFF, 0xFF, 0xFF}) + std::string(5'000'000, 'x');
  PieceSource source(bytes, 1'000'000);
  RdbReader reader(source);
  EXPECT_EQ(reader.string(), "");
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.offset(), bytes.size());
}

TEST(RdbReader, PassesTheErrorOfItsSourceOn) {
  class Broken final : public ByteSource {
    Result<std::size_t> read(std::span<char>) override { return Error{Code::io, "no disk"}; }
  } source;
  RdbReader reader(source);
  EXPECT_EQ(reader.byte(), 0);
  EXPECT_EQ(reader.error().message, "no disk");
  EXPECT_EQ(reader.error().code, Code::io);
}

}  // namespace rdb_reader_test
}  // namespace mayfly
