// SPDX-License-Identifier: Apache-2.0
// Entries of a listpack: their bytes, all kinds and sizes of them, and walks in both directions.

#include "keyspace/listpack/listpack_entry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "mayfly/random.h"

namespace mayfly {
namespace listpack_entry_test {

std::string entry_of(const ListpackText& text) {
  std::string entry(text.bytes(), '?');
  EXPECT_EQ(text.write(entry.data()), entry.data() + entry.size());
  return entry;
}
std::string entry_of(std::string_view text) { return entry_of(ListpackText(text)); }

std::string text_of(const ListpackValue& value) {
  char digits[24];
  return std::string(value.as_text(digits));
}

// Reads an entry in every way.
ListpackValue read(const std::string& entry) {
  const char* const end = entry.data() + entry.size();
  ListpackValue value;
  EXPECT_EQ(read_entry(entry.data(), value), end);
  EXPECT_EQ(next_entry(entry.data()), end);
  EXPECT_EQ(previous_entry(end), entry.data());
  return value;
}

// The bytes are those of the format.
TEST(ListpackEntryTest, WritesTheBytesOfTheFormat) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::string text;
    for (const int value : values) text.push_back(static_cast<char>(value));
    return text;
  };
  EXPECT_EQ(entry_of("0"), bytes({0x00, 1}));
  EXPECT_EQ(entry_of("127"), bytes({0x7F, 1}));
  EXPECT_EQ(entry_of("128"), bytes({0xC0, 0x80, 2}));
  EXPECT_EQ(entry_of("4095"), bytes({0xCF, 0xFF, 2}));
  EXPECT_EQ(entry_of("-1"), bytes({0xDF, 0xFF, 2}));
  EXPECT_EQ(entry_of("-4096"), bytes({0xD0, 0x00, 2}));
  EXPECT_EQ(entry_of("4096"), bytes({0xF1, 0x00, 0x10, 3}));
  EXPECT_EQ(entry_of("-32768"), bytes({0xF1, 0x00, 0x80, 3}));
  EXPECT_EQ(entry_of("32768"), bytes({0xF2, 0x00, 0x80, 0x00, 4}));
  EXPECT_EQ(entry_of("8388608"), bytes({0xF3, 0x00, 0x00, 0x80, 0x00, 5}));
  EXPECT_EQ(entry_of("-2147483649"),
            bytes({0xF4, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 9}));
  EXPECT_EQ(entry_of(""), bytes({0x80, 1}));
  EXPECT_EQ(entry_of("abc"), bytes({0x83, 'a', 'b', 'c', 4}));
  EXPECT_EQ(entry_of(std::string(64, 'x')), bytes({0xE0, 64}) + std::string(64, 'x') + bytes({66}));
  EXPECT_EQ(entry_of(std::string(300, 'x')),
            bytes({0xE1, 0x2C}) + std::string(300, 'x') + bytes({2, 0x80 | 46}));
  EXPECT_EQ(entry_of(std::string(4'096, 'x')),
            bytes({0xF0, 0x00, 0x10, 0x00, 0x00}) + std::string(4'096, 'x') + bytes({32, 0x85}));
}

TEST(ListpackEntryTest, KeepsIntegersOfAllWidths) {
  std::vector<std::int64_t> numbers = {std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  for (const int bits : {0, 7, 12, 15, 16, 23, 24, 31, 32, 48, 62}) {
    for (const std::int64_t near : {-2, -1, 0, 1, 2}) {
      numbers.push_back((std::int64_t{1} << bits) + near);
      numbers.push_back(-(std::int64_t{1} << bits) + near);
    }
  }
  for (const std::int64_t number : numbers) {
    const std::string text = std::to_string(number);
    const std::string entry = entry_of(text);
    EXPECT_EQ(entry, entry_of(ListpackText(number))) << number;
    const ListpackValue value = read(entry);
    EXPECT_TRUE(value.is_number) << number;
    EXPECT_EQ(value.number, number);
    EXPECT_EQ(text_of(value), text);
    EXPECT_LE(entry.size(), 10u);
  }
}

TEST(ListpackEntryTest, KeepsTextsThatAreNoIntegersAsTheyAre) {
  for (const std::string text :
       {"-0", "+1", "01", " 1", "1 ", "1.0", "-", "--1", "0x10", "9223372036854775808",
        "-9223372036854775809", "99999999999999999999", "1e3"}) {
    const std::string entry = entry_of(text);
    const ListpackValue value = read(entry);
    EXPECT_FALSE(value.is_number) << text;
    EXPECT_EQ(value.text, text);
  }
}

// Up to sizes on both sides of what takes a byte more, in front or behind.
TEST(ListpackEntryTest, KeepsTextsOfAllSizes) {
  std::vector<std::size_t> sizes = {100'000, 3'000'000};
  for (std::size_t size = 0; size < 300; ++size) sizes.push_back(size);
  for (const std::size_t near : {4'096u, 16'384u, 65'536u, 2'097'152u}) {
    for (std::size_t size = near - 8; size < near + 8; ++size) sizes.push_back(size);
  }
  for (const std::size_t size : sizes) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + size);
    const std::string entry = entry_of(text);
    ASSERT_LE(entry.size(), size + kListpackEntryOverhead);
    const ListpackValue value = read(entry);
    ASSERT_FALSE(value.is_number) << size;
    ASSERT_EQ(value.text, text) << size;
  }
}

TEST(ListpackEntryTest, CountsTheBytesOfAHugeText) {
  // Nothing is read: only the size of the view counts.
  const char byte = 'x';
  const std::size_t most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(ListpackText(std::string_view(&byte, most)).bytes(), most + kListpackEntryOverhead);
  EXPECT_EQ(ListpackText(std::string_view(&byte, (1 << 28) - 6)).bytes(), (1u << 28) - 1 + 4);
  EXPECT_EQ(ListpackText(std::string_view(&byte, (1 << 28) - 5)).bytes(), (1u << 28) + 5);
}

TEST(ListpackEntryTest, ComparesWithTexts) {
  const auto equal = [](std::string_view a, std::string_view b) {
    const std::string entry = entry_of(a);
    ListpackValue value;
    read_entry(entry.data(), value);
    return value.equals(ListpackText(b));
  };
  EXPECT_TRUE(equal("abc", "abc"));
  EXPECT_TRUE(equal("", ""));
  EXPECT_TRUE(equal("-17", "-17"));
  EXPECT_FALSE(equal("abc", "abd"));
  EXPECT_FALSE(equal("abc", "ab"));
  EXPECT_FALSE(equal("17", "18"));
  EXPECT_FALSE(equal("17", "017"));
  EXPECT_FALSE(equal("0", ""));
  EXPECT_FALSE(equal("0", "a"));
}

TEST(ListpackEntryTest, WalksForwardAndBackward) {
  Random random(5);
  std::vector<std::string> texts;
  std::string bytes;
  for (int i = 0; i < 3'000; ++i) {
    const bool is_number = random.below(2) == 0;
    texts.push_back(
        is_number ? std::to_string(static_cast<std::int64_t>(random.next()) >> random.below(64))
                  : std::string(random.below(1u << random.below(14)), 'x'));
    bytes += entry_of(texts.back());
  }
  const char* at = bytes.data();
  ListpackValue value;
  for (const std::string& text : texts) {
    const char* const next = next_entry(at);
    ASSERT_EQ(read_entry(at, value), next);
    ASSERT_EQ(text_of(value), text);
    at = next;
  }
  ASSERT_EQ(at, bytes.data() + bytes.size());
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) {
    at = previous_entry(at);
    read_entry(at, value);
    ASSERT_EQ(text_of(value), *text);
  }
  ASSERT_EQ(at, bytes.data());
}

}  // namespace listpack_entry_test
}  // namespace mayfly
