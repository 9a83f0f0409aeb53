// SPDX-License-Identifier: Apache-2.0
// Patterns of KEYS, SCAN, PSUBSCRIBE and CONFIG GET.
//
//   glob_match("user:*:[0-9]?", "user:anna:42")   true
//
//   *        any bytes, none too        [abc]    one of these
//   ?        one byte                   [^a-z]   one that is not in the range
//   \x       x itself, in brackets too
//
// A pattern that ends in the middle of brackets is closed there, and a range may run backwards.
//
// Cost: O(pattern * text) at worst, whatever the pattern: a*a*a*a*b against many a's is no attack.

#pragma once

#include <cstddef>
#include <string_view>

namespace mayfly {

// A longer pattern is refused by commands that match many texts, as it would keep them busy.
inline constexpr std::size_t kPatternMost = 64 * 1024;
inline constexpr char kPatternTooLong[] = "ERR pattern is too long (at most 64 KiB)";

// Whether `pattern` matches the whole of `text`. `ignore_case` is about the letters of ASCII.
bool glob_match(std::string_view pattern, std::string_view text, bool ignore_case = false);

}  // namespace mayfly
