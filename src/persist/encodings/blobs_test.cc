// SPDX-License-Identifier: Apache-2.0
// Listpacks, ziplists and zipmaps: each is read as written, and any other bytes do no harm.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "keyspace/listpack/listpack_writer.h"
#include "persist/encodings/listpack.h"

namespace mayfly {
namespace blobs_test {

std::string bytes_of(std::initializer_list<unsigned> bytes) {
  std::string text;
  for (const unsigned byte : bytes) text += static_cast<char>(byte);
  return text;
}

// All texts; what is wrong is the last one.
template <class Blob>
std::vector<std::string> read(std::string_view bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());  // so that ASan sees its end
  TextArena numbers;
  Blob blob({exact.data(), exact.size()}, numbers);
  std::vector<std::string> texts;
  while (const std::optional<std::string_view> text = blob.next()) texts.emplace_back(*text);
  if (!blob.wrong().empty()) texts.push_back("wrong: " + std::string(blob.wrong()));
  EXPECT_EQ(blob.next(), std::nullopt);
  return texts;
}

template <class Blob>
bool is_sound(std::string_view bytes) {
  const std::vector<std::string> texts = read<Blob>(bytes);
  return texts.empty() || !texts.back().starts_with("wrong: ");
}

using Texts = std::vector<std::string>;

TEST(Listpack, ReadsTextsAndIntegersOfAllSizes) {
  const Texts texts = {"",
                       "a",
                       std::string(63, 'b'),
                       std::string(64, 'c'),
                       "0",
                       "127",
                       "-1",
                       "4095",
                       "-4096",
                       "32767",
                       "-32768",
                       "8388607",
                       "-8388608",
                       "2147483647",
                       "-2147483648",
                       "9223372036854775807",
                       "-9223372036854775808",
                       "012",
                       std::string(5000, 'd')};
  ListpackWriter writer;
  for (const std::string& text : texts) writer.add(text);
  EXPECT_EQ(read<Listpack>(writer.finish()), texts);
}

RC_GTEST_PROP(ListpackModel, ReadsWhatTheWriterWrote, (const Texts& texts)) {
  ListpackWriter writer;
  for (const std::string& text : texts) writer.add(text);
  RC_ASSERT(read<Listpack>(writer.finish()) == texts);
}

TEST(Listpack, SeesThroughWrongHeaders) {
  ListpackWriter writer;
  writer.add("field");
  writer.add("12");
  const std::string sound(writer.finish());
  ASSERT_TRUE(is_sound<Listpack>(sound));
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(is_sound<Listpack>(sound.substr(0, size))) << size;
  }
  EXPECT_FALSE(is_sound<Listpack>(sound + "x"));
  std::string counted = sound;
  counted[4] = 3;
  EXPECT_FALSE(is_sound<Listpack>(counted));
  counted[4] = counted[5] = '\xFF';  // not counted
  EXPECT_TRUE(is_sound<Listpack>(counted));
}

TEST(Listpack, TakesAnyBytesWithoutHarm) {
  ListpackWriter writer;
  for (const char* text : {"field", "12", "-70000", "value", "1234567890123"}) writer.add(text);
  const std::string sound(writer.finish());
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(value);
      read<Listpack>(damaged);
      read<Ziplist>(damaged);
      read<Zipmap>(damaged);
    }
  }
}

// A header for these entries.
std::string ziplist(unsigned tail, unsigned count, const std::string& entries) {
  const auto size = static_cast<unsigned>(10 + entries.size() + 1);
  return bytes_of({size & 0xFF, size >> 8, 0, 0, tail & 0xFF, tail >> 8, 0, 0, count, 0}) +
         entries + '\xFF';
}

TEST(Ziplist, ReadsTextsAndIntegersOfAllSizes) {
  EXPECT_EQ(read<Ziplist>(ziplist(10, 0, "")), Texts{});
  EXPECT_EQ(read<Ziplist>(ziplist(14, 2, bytes_of({0, 2, 'h', 'i', 4, 0xF1}))), (Texts{"hi", "0"}));
  EXPECT_EQ(read<Ziplist>(ziplist(10, 1, bytes_of({0, 0xFD}))), Texts{"12"});
  EXPECT_EQ(read<Ziplist>(ziplist(10, 1, bytes_of({0, 0xFE, 0x80}))), Texts{"-128"});
  EXPECT_EQ(read<Ziplist>(ziplist(10, 1, bytes_of({0, 0xC0, 0x39, 0x30}))), Texts{"12345"});
  EXPECT_EQ(read<Ziplist>(ziplist(10, 1, bytes_of({0, 0xF0, 0, 0, 0x80}))), Texts{"-8388608"});
  EXPECT_EQ(read<Ziplist>(ziplist(10, 1, bytes_of({0, 0xD0, 0, 0, 0, 0x80}))),
            Texts{"-2147483648"});
  EXPECT_EQ(read<Ziplist>(ziplist(10, 1, bytes_of({0, 0xE0, 1, 0, 0, 0, 0, 1, 0, 0}))),
            Texts{"1099511627777"});
}

TEST(Ziplist, ReadsLongTextsAndWhatFollowsThem) {
  const std::string long_text(300, 'x');
  const std::string entries = bytes_of({0, 0x41, 0x2C}) + long_text +
                              bytes_of({0xFE, 0x2F, 1, 0, 0, 0x80, 0, 0, 0, 1, 'y'});
  EXPECT_EQ(read<Ziplist>(ziplist(10 + 303, 2, entries)), (Texts{long_text, "y"}));
}

TEST(Ziplist, SeesThroughWrongNumbers) {
  const std::string entries = bytes_of({0, 2, 'h', 'i', 4, 0xF1});
  EXPECT_FALSE(is_sound<Ziplist>(ziplist(10, 2, entries)));  // the last one begins elsewhere
  EXPECT_FALSE(is_sound<Ziplist>(ziplist(14, 3, entries)));
  EXPECT_FALSE(is_sound<Ziplist>(ziplist(14, 2, bytes_of({0, 2, 'h', 'i', 5, 0xF1}))));
  EXPECT_FALSE(is_sound<Ziplist>(ziplist(10, 1, bytes_of({0, 0xC1, 0}))));
  EXPECT_FALSE(is_sound<Ziplist>(ziplist(10, 1, bytes_of({0, 9, 'h'}))));
  const std::string sound = ziplist(14, 2, entries);
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(is_sound<Ziplist>(sound.substr(0, size))) << size;
  }
}

TEST(Zipmap, ReadsFieldsAndValuesWithTheirUnusedBytes) {
  EXPECT_EQ(read<Zipmap>(bytes_of({0, 0xFF})), Texts{});
  EXPECT_EQ(read<Zipmap>(bytes_of({1, 1, 'f', 2, 3, 'v', 'w', 0, 0, 0, 0xFF})), (Texts{"f", "vw"}));
  const std::string long_text(300, 'x');
  EXPECT_EQ(read<Zipmap>(bytes_of({0xFE, 1, 'f', 0xFE, 0x2C, 1, 0, 0, 0}) + long_text + '\xFF'),
            (Texts{"f", long_text}));
}

TEST(Zipmap, SeesThroughWrongNumbers) {
  const std::string sound = bytes_of({1, 1, 'f', 1, 1, 'v', 0, 0xFF});
  ASSERT_TRUE(is_sound<Zipmap>(sound));
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(is_sound<Zipmap>(sound.substr(0, size))) << size;
  }
  EXPECT_FALSE(is_sound<Zipmap>(bytes_of({2, 1, 'f', 1, 1, 'v', 0, 0xFF})));
  EXPECT_FALSE(is_sound<Zipmap>(bytes_of({1, 1, 'f', 0xFF})));
  EXPECT_FALSE(is_sound<Zipmap>(bytes_of({1, 0xFE, 1, 0, 0, 0, 'f', 1, 0, 'v', 0xFF})))
      << "a short size must have the short form";
  EXPECT_FALSE(is_sound<Zipmap>(sound + "x"));
}

}  // namespace blobs_test
}  // namespace mayfly
