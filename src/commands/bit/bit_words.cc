// SPDX-License-Identifier: Apache-2.0
#include "commands/bit/bit_words.h"

#include <algorithm>
#include <bit>

namespace mayfly {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr std::uint64_t kByteEach = 0x0101010101010101;

// The bytes of a string that is shorter than a word; the rest are zeros.
std::uint64_t load_rest(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return word;
}

// Each byte of the result is the number of bits that are set in that byte.
std::uint64_t ones_by_byte(std::uint64_t word) {
  word -= word >> 1 & kByteEach * 0x55;
  word = (word & kByteEach * 0x33) + (word >> 2 & kByteEach * 0x33);
  return (word + (word >> 4)) & kByteEach * 0x0F;
}

// The sum of the bytes of a word.
std::uint64_t sum_of_bytes(std::uint64_t word) {
  constexpr std::uint64_t kEven = 0x00FF00FF00FF00FF;
  word = (word & kEven) + (word >> 8 & kEven);
  return word * 0x0001000100010001 >> 48;
}

#if defined(__x86_64__)
// Four sums, because each addition would wait for the one before.
__attribute__((target("popcnt"))) std::uint64_t count_by_instruction(std::string_view bytes) {
  std::uint64_t sums[4] = {};
  std::size_t at = 0;
  for (; at + 4 * kWordBytes <= bytes.size(); at += 4 * kWordBytes) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint64_t word = load_bits(bytes.data() + at + i * kWordBytes);
      sums[i] += static_cast<std::uint64_t>(__builtin_popcountll(word));
    }
  }
  for (; at < bytes.size(); at += kWordBytes) {
    const std::uint64_t word = load_rest(bytes.substr(at, kWordBytes));
    sums[0] += static_cast<std::uint64_t>(__builtin_popcountll(word));
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}
#endif

}  // namespace

std::uint64_t count_ones_plainly(std::string_view bytes) {
  constexpr std::size_t kWordsAtOnce = 31;  // a byte holds their sum: 31 * 8 < 256
  std::uint64_t count = 0;
  while (bytes.size() >= kWordBytes) {
    const std::size_t words = std::min(bytes.size() / kWordBytes, kWordsAtOnce);
    std::uint64_t sums = 0;
    for (std::size_t i = 0; i < words; ++i) {
      sums += ones_by_byte(load_bits(bytes.data() + i * kWordBytes));
    }
    count += sum_of_bytes(sums);
    bytes.remove_prefix(words * kWordBytes);
  }
  return count + (bytes.empty() ? 0 : sum_of_bytes(ones_by_byte(load_rest(bytes))));
}

std::uint64_t count_ones(std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("popcnt") != 0;
  if (has_instruction) return count_by_instruction(bytes);
#endif
  return count_ones_plainly(bytes);
}

std::uint64_t first_bit(std::string_view bytes, bool on) {
  const std::uint64_t without = on ? 0 : ~std::uint64_t{0};
  std::size_t at = 0;
  while (at + kWordBytes <= bytes.size() && load_bits(bytes.data() + at) == without) {
    at += kWordBytes;
  }
  const std::string_view rest = bytes.substr(at, kWordBytes);
  if (rest.empty()) return at * 8;
  // Bits that are sought are set now. Beyond the end they are clear, or the first one is found.
  const std::uint64_t sought = load_rest(rest) ^ without;
  if (sought == 0) return bytes.size() * 8;
  return at * 8 + static_cast<std::uint64_t>(std::countl_zero(__builtin_bswap64(sought)));
}

}  // namespace mayfly
