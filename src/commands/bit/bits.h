// SPDX-License-Identifier: Apache-2.0
// What the commands on bits of strings share.
//
// Bit 0 of a string is the highest bit of its first byte. Bits beyond its end are zero.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "commands/call.h"

namespace mayfly {

// Word `i` as the number of a bit. If `width` is not 0, #n means n * width. An error reply and
// nothing if it is no number, negative, or beyond the longest string allowed.
std::optional<std::uint64_t> bit_offset(Call& call, std::size_t i, std::uint64_t width = 0);

// A string that is long enough to be written, and whether it had to grow.
struct BitsToWrite {
  unsigned char* bytes = nullptr;  // null after an error
  bool has_grown = false;
};

// The string at `key`, with zeros at its end so that it has bit `last`; created if it does not
// exist. Its deadline stays.
BitsToWrite bits_to_write(Call& call, std::string_view key, std::uint64_t last);

// Bits of a string were changed: notifies of `setbit`.
void report_bits(Call& call, std::string_view key, std::int64_t changes);

inline unsigned bit_mask(std::uint64_t bit) { return 0x80u >> (bit % 8); }

inline bool bit_at(std::string_view bytes, std::uint64_t bit) {
  return bit / 8 < bytes.size() &&
         (static_cast<unsigned char>(bytes[bit / 8]) & bit_mask(bit)) != 0;
}

}  // namespace mayfly
