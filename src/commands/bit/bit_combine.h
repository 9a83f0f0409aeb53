// SPDX-License-Identifier: Apache-2.0
// Strings combined bit by bit: what BITOP computes. Shorter strings count as if they had zeros at
// their ends.

#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace mayfly {

enum class BitOp {
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  diff,   // in the first, and in none of the others
  diff1,  // in one of the others, but not in the first
  andor,  // in the first, and in one of the others
  one,    // in exactly one
};

// Writes the first `size` bytes of the result. There is at least one source; for diff, diff1 and
// andor there are at least two. `in_place`: one of the sources is at `result`.
//
// Cost: a pass over the memory of each source, a word at a time.
void combine_bits(BitOp op, std::span<const std::string_view> sources, char* result,
                  std::size_t size, bool in_place);

}  // namespace mayfly
