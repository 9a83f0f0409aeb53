// SPDX-License-Identifier: Apache-2.0
#include "cluster/hash_slot.h"

#include <array>
#include <cstddef>

namespace mayfly {
namespace {

constexpr unsigned kPolynomial = 0x1021;
constexpr std::size_t kStep = 8;  // bytes

using Table = std::array<std::uint16_t, 256>;

constexpr std::uint16_t shifted(unsigned crc) {
  for (int bit = 0; bit < 8; ++bit) {
    crc = (crc & 0x8000) != 0 ? crc << 1 ^ kPolynomial : crc << 1;
  }
  return static_cast<std::uint16_t>(crc);
}

// tables[k][b]: the remainder of the byte b followed by k zero bytes.
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

unsigned crc16(std::string_view bytes) {
  unsigned crc = 0;
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(bytes[i]));
  };
  while (bytes.size() >= kStep) {
    crc = kTables[7][byte(0) ^ crc >> 8] ^ kTables[6][byte(1) ^ (crc & 0xFF)] ^
          kTables[5][byte(2)] ^ kTables[4][byte(3)] ^ kTables[3][byte(4)] ^ kTables[2][byte(5)] ^
          kTables[1][byte(6)] ^ kTables[0][byte(7)];
    bytes.remove_prefix(kStep);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    crc = (crc << 8 & 0xFFFF) ^ kTables[0][crc >> 8 ^ byte(i)];
  }
  return crc;
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
  return static_cast<HashSlot>(crc16(hash_tag(key)) % kHashSlots);
}

}  // namespace mayfly
