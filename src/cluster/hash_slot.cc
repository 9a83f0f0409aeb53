// SPDX-License-Identifier: Apache-2.0
#include "cluster/hash_slot.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace mayfly {
namespace {

constexpr unsigned kPolynomial = 0x1021;
constexpr std::size_t kStep = 16;  // bytes
constexpr std::size_t kWord = sizeof(std::uint64_t);

using Table = std::array<std::uint16_t, 256>;

constexpr std::uint16_t shifted(unsigned crc) {
  for (int bit = 0; bit < 8; ++bit) {
    crc = (crc & 0x8000) != 0 ? crc << 1 ^ kPolynomial : crc << 1;
  }
  return static_cast<std::uint16_t>(crc);
}

// tables[k][b]: the remainder of the byte b followed by k zero bytes. 8 KiB.
constexpr std::array<Table, kStep> make_tables() {
  std::array<Table, kStep> tables{};
  for (unsigned byte = 0; byte < 256; ++byte) tables[0][byte] = shifted(byte << 8);
  for (std::size_t k = 1; k < kStep; ++k) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const unsigned before = tables[k - 1][byte];
      tables[k][byte] = static_cast<std::uint16_t>((before << 8 & 0xFFFF) ^ tables[0][before >> 8]);
    }
  }
  return tables;
}

constexpr std::array<Table, kStep> kTables = make_tables();

// The CRC of a text is the XOR of those of its bytes, each followed by as many zeros as there are
// bytes behind it. The CRC of what stands before the text counts as two more bytes.
template <std::size_t... kAt>
unsigned next_crc(unsigned crc, const unsigned char* bytes, std::index_sequence<kAt...>) {
  constexpr std::size_t kLast = 1 + sizeof...(kAt);
  const unsigned first = kTables[kLast][bytes[0] ^ crc >> 8];
  const unsigned second = kTables[kLast - 1][bytes[1] ^ (crc & 0xFF)];
  return ((first ^ second) ^ ... ^ kTables[kLast - 2 - kAt][bytes[2 + kAt]]);
}

template <std::size_t kBytes>
unsigned next_crc(unsigned crc, const unsigned char* bytes) {
  return next_crc(crc, bytes, std::make_index_sequence<kBytes - 2>());
}

unsigned crc16(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = bytes + text.size();
  unsigned crc = 0;
  for (; end - bytes >= 16; bytes += 16) crc = next_crc<16>(crc, bytes);
  if (end - bytes >= 8) {
    crc = next_crc<8>(crc, bytes);
    bytes += 8;
  }
  if (end - bytes >= 4) {
    crc = next_crc<4>(crc, bytes);
    bytes += 4;
  }
  for (; bytes != end; ++bytes) crc = (crc << 8 & 0xFFFF) ^ kTables[0][crc >> 8 ^ *bytes];
  return crc;
}

constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;

// Whether one of the eight bytes is a '{'.
bool has_open(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kWord);
  word ^= kOnes * '{';
  return ((word - kOnes) & ~word & kOnes << 7) != 0;
}

// Most keys have none: eight bytes at a time, the last ones twice.
bool has_open(std::string_view key) {
  if (key.size() < kWord) return key.find('{') != std::string_view::npos;
  const char* const last = key.data() + key.size() - kWord;
  for (const char* at = key.data(); at < last; at += kWord) {
    if (has_open(at)) return true;
  }
  return has_open(last);
}

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

HashSlot hash_slot(std::string_view key) {
  return static_cast<HashSlot>(crc16(has_open(key) ? hash_tag(key) : key) % kHashSlots);
}

}  // namespace mayfly
