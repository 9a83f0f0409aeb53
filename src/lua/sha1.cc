// SPDX-License-Identifier: Apache-2.0
// FIPS 180-4, section 6.1.

#include "lua/sha1.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mayfly {
namespace {

constexpr std::size_t kBlock = 64;

struct Sha1 {
  std::array<std::uint32_t, 5> state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};

  void add_block(const char* bytes) {
    std::array<std::uint32_t, 80> words;
    for (std::size_t i = 0; i < 16; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, bytes + 4 * i, sizeof word);
      words[i] = __builtin_bswap32(word);
    }
    for (std::size_t i = 16; i < words.size(); ++i) {
      words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = state;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto [mixed, constant] = round(i, b, c, d);
      const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
  }

 private:
  struct Round {
    std::uint32_t mixed;
    std::uint32_t constant;
  };
  static Round round(std::size_t i, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    if (i < 20) return {(b & c) | (~b & d), 0x5A827999};
    if (i < 40) return {b ^ c ^ d, 0x6ED9EBA1};
    if (i < 60) return {(b & c) | (b & d) | (c & d), 0x8F1BBCDC};
    return {b ^ c ^ d, 0xCA62C1D6};
  }
};

}  // namespace

std::string sha1_hex(std::string_view text, const std::function<void(std::size_t)>& counted) {
  constexpr std::size_t kPiece = 1024 * kBlock;
  Sha1 sha;
  std::size_t done = 0;
  for (; text.size() - done >= kBlock; done += kBlock) {
    if (counted && done % kPiece == 0) counted(std::min(kPiece, text.size() - done));
    sha.add_block(text.data() + done);
  }

  // The rest, a one bit, zeros, and the number of bits in 8 bytes.
  std::array<char, 2 * kBlock> last{};
  const std::size_t rest = text.size() - done;
  if (rest > 0) std::memcpy(last.data(), text.data() + done, rest);
  last[rest] = '\x80';
  const std::size_t size = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  const std::uint64_t bits = __builtin_bswap64(std::uint64_t{text.size()} * 8);
  std::memcpy(last.data() + size - sizeof bits, &bits, sizeof bits);
  for (std::size_t at = 0; at < size; at += kBlock) sha.add_block(last.data() + at);

  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::uint32_t word : sha.state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += kDigits[word >> shift & 15];
  }
  return hex;
}

}  // namespace mayfly
