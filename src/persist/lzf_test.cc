// SPDX-License-Identifier: Apache-2.0
// LZF: known vectors, round trips and damaged input.

#include "persist/lzf.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "base/hex.h"

namespace mayfly {
namespace lzf_test {

std::string compressed(std::string_view text, std::size_t most = 1 << 20) {
  std::string out(most, '\0');
  out.resize(lzf_compress(text, out));
  return out;
}

std::string decompressed(std::string_view packed, std::size_t size) {
  std::string out(size, '\0');
  return lzf_decompress(packed, out) ? out : "invalid";
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Lzf, ReadsLiteralsAndBothFormsOfReferences) {
  EXPECT_EQ(decompressed(std::string_view("\x02"
                                          "abc"
                                          "\x40\x02",
                                          6),
                         7),
            "abcabca");
  EXPECT_EQ(decompressed(std::string_view("\x00"
                                          "a"
                                          "\xE0\x01\x00",
                                          5),
                         11),
            std::string(11, 'a'));
}

TEST(Lzf, WritesTheBytesOfLiblzf) {
  EXPECT_EQ(hex(compressed(std::string(21, 'a'))), "016161e00a00");
  EXPECT_EQ(hex(compressed("abcabcabcd")), "03616263614002016364");
  EXPECT_EQ(hex(compressed(std::string(300, 'a'))), "016161e0ff00e01700016161");
}

TEST(Lzf, AnyTextSurvivesARoundTrip) {
  EXPECT_TRUE(rc::check([] {
    const auto part = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\0', '\xFF'));
    const auto noise = *rc::gen::arbitrary<std::string>();
    const auto times = *rc::gen::inRange<std::size_t>(1, 200);
    const std::string text = noise + repeated(part + noise, times) + part;
    RC_ASSERT(decompressed(compressed(text), text.size()) == text);
  }));
}

TEST(Lzf, FindsRepetitionsAsFarBackAsTheFormatCanTell) {
  std::string noise;
  for (unsigned i = 0; noise.size() < 8'189; ++i) noise += std::to_string(i * 2'654'435'761u);
  noise.resize(8'189);
  const std::string near = "!xyz" + noise + "xyz!!";
  EXPECT_EQ(decompressed(compressed(near), near.size()), near);
  EXPECT_TRUE(compressed(near).ends_with("\x3F\xFF\x01!!"));
  const std::string far = "!xyz" + noise + "?xyz!!";
  EXPECT_EQ(decompressed(compressed(far), far.size()), far);
  EXPECT_TRUE(compressed(far).ends_with("xyz!!"));
}

TEST(Lzf, IsZeroWhereItDoesNotFit) {
  const std::string text = "abcabcabcd";  // 10 bytes compressed, and liblzf wants one more
  EXPECT_EQ(compressed(text, 11).size(), 10u);
  for (std::size_t most = 0; most < 11; ++most) EXPECT_EQ(compressed(text, most).size(), 0u);
  EXPECT_EQ(compressed("0123456789", 9), "");
}

TEST(Lzf, DamagedInputIsInvalid) {
  const std::string text = repeated("abcdefgh", 40) + "end";
  const std::string packed = compressed(text);
  EXPECT_EQ(decompressed(packed, text.size()), text);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(decompressed(packed.substr(0, size), text.size()), "invalid");
  }
  EXPECT_EQ(decompressed(packed, text.size() - 1), "invalid");
  EXPECT_EQ(decompressed(packed, text.size() + 1), "invalid");
  EXPECT_EQ(decompressed(std::string("\x00"
                                     "a"
                                     "\x20\x01",
                                     4),
                         4),
            "invalid");  // before the start
}

TEST(Lzf, AnyBytesDoNoHarm) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    std::string out(*rc::gen::inRange<std::size_t>(0, 300), '\0');
    lzf_decompress(bytes, out);
  }));
}

}  // namespace lzf_test
}  // namespace mayfly
