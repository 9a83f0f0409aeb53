// SPDX-License-Identifier: Apache-2.0
// Reads the pieces of a StreamBlock: the entries of its listpack. Trusts the bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "keyspace/listpack/listpack_entry.h"

namespace mayfly {

inline std::size_t stream_listpack_bytes(const char* listpack) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, listpack, sizeof bytes);
  return bytes;
}

// next_entry(), inline for short texts and small numbers: most entries are such.
inline const char* skip_piece(const char* at) {
  const auto first = static_cast<unsigned char>(*at);
  if (first < 0x80) return at + 2;
  return first < 0xC0 ? at + 2 + (first & 0x3F) : next_entry(at);
}

inline std::int64_t read_piece(const char*& at) {
  if (const auto first = static_cast<unsigned char>(*at); first < 0x80) {
    at += 2;
    return first;
  }
  ListpackValue value;
  at = read_entry(at, value);
  return value.number;
}

inline std::size_t read_piece_size(const char*& at) {
  return static_cast<std::size_t>(read_piece(at));
}

}  // namespace mayfly
