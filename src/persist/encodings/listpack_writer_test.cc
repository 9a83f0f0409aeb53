// SPDX-License-Identifier: Apache-2.0
// Listpacks as Redis writes them, and read back by a reader of our own.

#include "keyspace/listpack/listpack_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <string>
#include <vector>

#include "base/hex.h"

namespace mayfly {
namespace listpack_writer_test {

std::string listpack(const std::vector<std::string>& texts) {
  ListpackWriter writer;
  for (const std::string& text : texts) writer.add(text);
  return std::string(writer.finish());
}

// The bytes between the header and the end.
std::string body(const std::string& text) {
  const std::string bytes = listpack({text});
  return hex(std::string_view(bytes).substr(6, bytes.size() - ListpackWriter::kEmptySize));
}

// Reads a listpack from its begin, and checks each way back. It trusts nobody else's code.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::vector<std::string> read() {
    EXPECT_EQ(number(0, 4), bytes_.size());
    std::vector<std::string> texts;
    for (at_ = 6; byte(at_) != 0xFF;) texts.push_back(entry());
    EXPECT_EQ(at_ + 1, bytes_.size());
    EXPECT_EQ(number(4, 2), std::min<std::size_t>(texts.size(), 65'535));
    return texts;
  }

 private:
  std::uint64_t byte(std::size_t at) const { return static_cast<unsigned char>(bytes_.at(at)); }
  std::uint64_t number(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= byte(at + i) << i * 8;
    return value;
  }
  std::string integer(std::size_t head, std::size_t size) {
    const unsigned unused = static_cast<unsigned>(64 - size * 8);
    const auto value = static_cast<std::int64_t>(number(at_ + head, size) << unused) >> unused;
    return ended(std::to_string(value), head + size);
  }
  std::string text(std::size_t head, std::size_t size) {
    return ended(std::string(bytes_.substr(at_ + head, size)), head + size);
  }

  // Goes over the way back, reading it from its last byte as a reader from the end does.
  std::string ended(std::string content, std::size_t size) {
    std::size_t end = at_ + size + 1;
    while (end < bytes_.size() && (byte(end) & 0x80) != 0 && end - at_ - size < way_size(size)) {
      ++end;
    }
    std::uint64_t way = 0;
    unsigned shift = 0;
    for (std::size_t i = end; i > at_ + size; --i, shift += 7) {
      way |= (byte(i - 1) & 0x7F) << shift;
      EXPECT_EQ((byte(i - 1) & 0x80) != 0, i - 1 > at_ + size);
    }
    EXPECT_EQ(way, size);
    at_ = end;
    return content;
  }
  static std::size_t way_size(std::size_t size) {
    std::size_t bytes = 1;
    for (; size > 127; size >>= 7) ++bytes;
    return bytes;
  }

  std::string entry() {
    const std::uint64_t first = byte(at_);
    if (first < 0x80) return ended(std::to_string(first), 1);
    if (first < 0xC0) return text(1, first & 0x3F);
    if (first < 0xE0) {
      const auto value = static_cast<int>((first & 0x1F) << 8 | byte(at_ + 1));
      return ended(std::to_string(value >= 4096 ? value - 8192 : value), 2);
    }
    if (first < 0xF0) return text(2, (first & 0x0F) << 8 | byte(at_ + 1));
    if (first == 0xF0) return text(5, number(at_ + 1, 4));
    if (first == 0xF4) return integer(1, 8);
    EXPECT_LE(first, 0xF3u);
    return integer(1, first - 0xF1 + 2);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

TEST(ListpackWriter, WritesAnEmptyListpack) {
  EXPECT_EQ(hex(ListpackWriter().finish()), "070000000000ff");
  EXPECT_EQ(ListpackWriter().finish().size(), ListpackWriter::kEmptySize);
}

// From DUMP of Redis 7.0.15: HSET h f v n -5 m 300 o -4096 p 4096, and others.
TEST(ListpackWriter, WritesWhatRedisWrites) {
  EXPECT_EQ(hex(listpack({"f", "v", "n", "-5", "m", "300", "o", "-4096", "p", "4096"})),
            "260000000a00816602817602816e02dffb02816d02c12c02816f02d00002817002f1001003ff");
  EXPECT_EQ(hex(listpack({"f", ""})), "0c00000002008166028001ff");
  EXPECT_EQ(hex(listpack({"a", "1"})),
            "0c0000000200"
            "816102"
            "0101"
            "ff");
}

TEST(ListpackWriter, KeepsIntegersInTheLeastFormThatHoldsThem) {
  EXPECT_EQ(body("0"), "0001");
  EXPECT_EQ(body("127"), "7f01");
  EXPECT_EQ(body("128"), "c08002");
  EXPECT_EQ(body("-1"), "dfff02");
  EXPECT_EQ(body("4095"), "cfff02");
  EXPECT_EQ(body("4096"), "f1001003");
  EXPECT_EQ(body("-4097"), "f1ffef03");
  EXPECT_EQ(body("32767"), "f1ff7f03");
  EXPECT_EQ(body("32768"), "f200800004");
  EXPECT_EQ(body("-8388608"), "f200008004");
  EXPECT_EQ(body("-8388609"), "f3ffff7fff05");
  EXPECT_EQ(body("2147483648"), "f4000000800000000009");
  EXPECT_EQ(body("9223372036854775807"), "f4ffffffffffffff7f09");
  EXPECT_EQ(body("-9223372036854775808"), "f4000000000000008009");
}

TEST(ListpackWriter, KeepsOtherSpellingsOfNumbersAsTexts) {
  EXPECT_EQ(body("9223372036854775808"),
            "9339323233333732303336383534373735383038"
            "14");
  EXPECT_EQ(body("042"), "8330343204");
  EXPECT_EQ(body("-0"), "822d3003");
  EXPECT_EQ(body("+1"), "822b3103");
  EXPECT_EQ(body("-"), "812d02");
}

TEST(ListpackWriter, ChoosesHeadAndWayBackBySize) {
  const auto overhead = [](std::size_t size) {
    return listpack({std::string(size, 'x')}).size() - size - ListpackWriter::kEmptySize;
  };
  EXPECT_EQ(overhead(63), 1u + 1u);
  EXPECT_EQ(overhead(64), 2u + 1u);
  EXPECT_EQ(overhead(125), 2u + 1u);
  EXPECT_EQ(overhead(126), 2u + 2u);
  EXPECT_EQ(overhead(4095), 2u + 2u);
  EXPECT_EQ(overhead(4096), 5u + 2u);
  EXPECT_EQ(overhead(16'378), 5u + 2u);
  EXPECT_EQ(overhead(16'379), 5u + 3u);
}

TEST(ListpackWriter, ServesAgainAfterClear) {
  ListpackWriter writer;
  writer.add(std::string(1000, 'x'));
  EXPECT_EQ(Decoder(writer.finish()).read(), std::vector<std::string>{std::string(1000, 'x')});
  writer.clear();
  writer.add("short");
  EXPECT_EQ(Decoder(writer.finish()).read(), std::vector<std::string>{"short"});
}

TEST(ListpackWriter, SaysThatTheCountIsUnknownWhenItIsTooGreat) {
  for (const std::size_t count : {65'534u, 65'535u, 70'000u}) {
    const std::vector<std::string> texts(count, "7");
    EXPECT_EQ(Decoder(listpack(texts)).read().size(), count);
  }
}

TEST(ListpackWriter, IsReadBackWhateverTheTexts) {
  const auto sized = rc::gen::exec([] {
    const auto size = *rc::gen::element<std::size_t>(0, 1, 20, 63, 64, 127, 4095, 4096, 16'384);
    return std::string(size, *rc::gen::arbitrary<char>());
  });
  const auto number =
      rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange(0, 63)),
                   [](const std::pair<std::int64_t, int>& drawn) {
                     return std::to_string(drawn.first >> drawn.second);
                   });
  EXPECT_TRUE(rc::check([&] {
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::oneOf(rc::gen::arbitrary<std::string>(), sized, number));
    const std::string bytes = listpack(texts);
    RC_ASSERT(Decoder(bytes).read() == texts);
  }));
}

}  // namespace listpack_writer_test
}  // namespace mayfly
