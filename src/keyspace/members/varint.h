// SPDX-License-Identifier: Apache-2.0
// Sizes in as few bytes as they need: seven bits a byte, the least first, and the highest bit of
// all bytes but the last is set. One byte below 128, five for what four bytes hold.

#pragma once

#include <cstddef>

namespace mayfly {

inline std::size_t varint_size(std::size_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Returns where it ends.
inline char* write_varint(char* to, std::size_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

// Moves `from` to where it ends. REQUIRES: it was written by write_varint().
inline std::size_t read_varint(const char*& from) {
  std::size_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    value |= std::size_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace mayfly
