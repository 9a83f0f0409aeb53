// SPDX-License-Identifier: Apache-2.0
// Sixteen bytes a step ("slicing"): table k tells what a byte does to the sum when k more follow.
// So the sixteen look-ups of a step do not wait for each other.

#include "persist/crc64.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace mayfly {
namespace {

constexpr std::uint64_t kPolynomial = 0x95ac9329ac4bc9b5;  // ad93d23594c935a9, the last bit first
constexpr std::size_t kStep = 16;

using Tables = std::array<std::array<std::uint64_t, 256>, kStep>;  // 32 KiB

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t follow = 1; follow < kStep; ++follow) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t crc = tables[follow - 1][byte];
      tables[follow][byte] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load(const char* from) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// What the eight bytes of a word do when `follow` more come after them.
std::uint64_t effect(std::uint64_t word, std::size_t follow) {
  return kTables[follow + 7][word & 0xFF] ^ kTables[follow + 6][word >> 8 & 0xFF] ^
         kTables[follow + 5][word >> 16 & 0xFF] ^ kTables[follow + 4][word >> 24 & 0xFF] ^
         kTables[follow + 3][word >> 32 & 0xFF] ^ kTables[follow + 2][word >> 40 & 0xFF] ^
         kTables[follow + 1][word >> 48 & 0xFF] ^ kTables[follow][word >> 56];
}

}  // namespace

std::uint64_t crc64(std::uint64_t crc, std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kStep; left -= kStep, at += kStep) {
    crc = effect(load(at) ^ crc, 8) ^ effect(load(at + 8), 0);
  }
  for (; left > 0; --left, ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xFF];
  }
  return crc;
}

}  // namespace mayfly
