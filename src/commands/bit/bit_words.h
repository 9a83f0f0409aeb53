// SPDX-License-Identifier: Apache-2.0
// Bits counted and searched many at a time, in words of 64.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mayfly {

inline std::uint64_t load_bits(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// How many bits are set. Uses the processor's instruction for that if it has one.
std::uint64_t count_ones(std::string_view bytes);

// The same without the instruction; for tests.
std::uint64_t count_ones_plainly(std::string_view bytes);

// The number of the first bit that is `on`, highest bit of the first byte first; 8 * bytes.size()
// if there is none.
std::uint64_t first_bit(std::string_view bytes, bool on);

}  // namespace mayfly
