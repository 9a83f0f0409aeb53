// SPDX-License-Identifier: Apache-2.0
// Counting, finding and combining many bits at a time, against one bit at a time.

#include "commands/bit/bit_words.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "commands/bit/bit_combine.h"

namespace mayfly {
namespace bit_words_test {

class BitWordsTest : public testing::Test {
 protected:
  std::size_t below(std::size_t end) { return random_() % end; }

  // Random bytes, zeros or ones; many of them short, some longer than what is combined at once.
  std::string some_bytes() {
    const std::size_t sizes[] = {below(20), below(300), 4080 + below(30), below(9000)};
    std::string bytes(sizes[below(4)], below(2) == 0 ? '\0' : '\xFF');
    const std::size_t changes = below(3) == 0 ? bytes.size() : below(3);
    for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
      bytes[below(bytes.size())] = static_cast<char>(random_());
    }
    return bytes;
  }

  std::mt19937_64 random_{17};
};

bool is_on(std::string_view bytes, std::size_t bit) {
  return bit / 8 < bytes.size() && (bytes[bit / 8] << bit % 8 & 0x80) != 0;
}

TEST_F(BitWordsTest, CountsAndFindsAtAnyAddressAndSize) {
  for (int round = 0; round < 600; ++round) {
    const std::string all = some_bytes();
    const std::string_view bytes =
        std::string_view(all).substr(std::min<std::size_t>(all.size(), below(9)));
    std::uint64_t count = 0;
    std::uint64_t first[2] = {bytes.size() * 8, bytes.size() * 8};
    for (std::size_t bit = bytes.size() * 8; bit-- > 0;) {
      const bool on = is_on(bytes, bit);
      count += on;
      first[on] = bit;
    }
    ASSERT_EQ(count_ones(bytes), count) << bytes.size();
    ASSERT_EQ(count_ones_plainly(bytes), count) << bytes.size();
    ASSERT_EQ(first_bit(bytes, false), first[0]) << bytes.size();
    ASSERT_EQ(first_bit(bytes, true), first[1]) << bytes.size();
  }
}

bool combined_bit(BitOp op, std::span<const std::string> sources, std::size_t bit) {
  std::size_t on = 0;
  for (const std::string& source : sources) on += is_on(source, bit);
  const bool first = is_on(sources.front(), bit);
  const std::size_t others = on - first;
  switch (op) {
    case BitOp::bit_and:
      return on == sources.size();
    case BitOp::bit_or:
      return on > 0;
    case BitOp::bit_xor:
      return on % 2 == 1;
    case BitOp::bit_not:
      return !first;
    case BitOp::diff:
      return first && others == 0;
    case BitOp::diff1:
      return !first && others > 0;
    case BitOp::andor:
      return first && others > 0;
    case BitOp::one:
      return on == 1;
  }
  return false;
}

TEST_F(BitWordsTest, CombinesAsOneBitAtATime) {
  for (int round = 0; round < 400; ++round) {
    const auto op = static_cast<BitOp>(below(8));
    std::vector<std::string> sources(op == BitOp::bit_not ? 1 : 2 + below(4));
    std::size_t size = 0;
    for (std::string& source : sources) {
      source = some_bytes();
      size = std::max(size, source.size());
    }
    std::string expected(size, '\0');
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      if (!combined_bit(op, sources, bit)) continue;
      expected[bit / 8] = static_cast<char>(expected[bit / 8] | 0x80 >> bit % 8);
    }

    std::vector<std::string_view> views(sources.begin(), sources.end());
    std::string result(size, 'x');
    combine_bits(op, views, result.data(), size, false);
    ASSERT_EQ(result, expected) << "operation " << static_cast<int>(op) << ", round " << round;

    const std::size_t target = below(sources.size());
    sources[target].resize(size);
    views.assign(sources.begin(), sources.end());
    combine_bits(op, views, sources[target].data(), size, true);
    ASSERT_EQ(sources[target], expected) << "operation " << static_cast<int>(op) << " in place";
  }
}

TEST_F(BitWordsTest, AndOrXorAndOneOfASingleSourceCopyIt) {
  const std::string source = "\x01\x80\xFF";
  const std::string_view sources[] = {source};
  for (const BitOp op : {BitOp::bit_and, BitOp::bit_or, BitOp::bit_xor, BitOp::one}) {
    std::string result(source.size(), 'x');
    combine_bits(op, sources, result.data(), result.size(), false);
    EXPECT_EQ(result, source) << static_cast<int>(op);
  }
}

}  // namespace bit_words_test
}  // namespace mayfly
