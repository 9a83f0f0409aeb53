// SPDX-License-Identifier: Apache-2.0
#include "resp/glob.h"

#include <cstddef>
#include <utility>

namespace mayfly {
namespace {

constexpr std::size_t kSmallPair = 4096;  // such a pair is compared sooner than prepared

unsigned char fold(char byte, bool ignore_case) {
  const bool upper = ignore_case && byte >= 'A' && byte <= 'Z';
  return static_cast<unsigned char>(upper ? byte + ('a' - 'A') : byte);
}

bool equal(char a, char b, bool ignore_case) {
  return fold(a, ignore_case) == fold(b, ignore_case);
}

bool in_range(char byte, char low, char high, bool ignore_case) {
  unsigned char from = fold(low, ignore_case);
  unsigned char to = fold(high, ignore_case);
  if (from > to) std::swap(from, to);
  const unsigned char folded = fold(byte, ignore_case);
  return from <= folded && folded <= to;
}

// Whether `byte` is in the brackets whose inside begins at `at`, which is moved past them.
bool match_brackets(std::string_view pattern, std::size_t& at, char byte, bool ignore_case) {
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;

  bool found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    const std::string_view rest = pattern.substr(at);
    if (rest[0] == '\\' && rest.size() >= 2) {
      found |= rest[1] == byte;
      at += 2;
    } else if (rest.size() >= 3 && rest[1] == '-') {
      found |= in_range(byte, rest[0], rest[2], ignore_case);
      at += 3;
    } else {
      found |= equal(rest[0], byte, ignore_case);
      at += 1;
    }
  }
  if (at < pattern.size()) ++at;
  return found != negated;
}

// Whether the sign of the pattern at `at`, which is no star, matches `byte`. Moves `at` past it.
bool match_one(std::string_view pattern, std::size_t& at, char byte, bool ignore_case) {
  const char sign = pattern[at++];
  if (sign == '?') return true;
  if (sign == '[') return match_brackets(pattern, at, byte, ignore_case);
  const bool escaped = sign == '\\' && at < pattern.size();
  return equal(escaped ? pattern[at++] : sign, byte, ignore_case);
}

// As the pattern is written, without preparing anything. Cost: O(pattern * text) at worst.
bool match_plainly(std::string_view pattern, std::string_view text, bool ignore_case) {
  std::size_t at = 0;
  std::size_t byte = 0;
  // Where to go on when a byte does not match: behind the last star, which takes one byte more. An
  // earlier star never has to, because what stands between the two was matched as early as it can.
  std::size_t after_star = std::string_view::npos;
  std::size_t taken = 0;

  while (byte < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      after_star = ++at;
      taken = byte;
      if (at == pattern.size()) return true;
      continue;
    }
    if (at < pattern.size() && match_one(pattern, at, text[byte], ignore_case)) {
      ++byte;
      continue;
    }
    if (after_star == std::string_view::npos) return false;
    at = after_star;
    byte = ++taken;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace

std::string_view pattern_error(std::string_view pattern) {
  if (pattern.size() > kPatternMost) return kPatternTooLong;
  const bool is_costly =
      pattern.size() > kSignsMost && GlobRuns(pattern, false).longest_search() > kSignsMost;
  return is_costly ? kPatternTooCostly : std::string_view();
}

bool GlobPattern::matches(std::string_view text) const {
  if (!runs_ && pattern_.size() * text.size() <= kSmallPair) {
    return match_plainly(pattern_, text, ignore_case_);
  }
  if (!runs_) runs_.emplace(pattern_, ignore_case_);
  return runs_->matches(text);
}

}  // namespace mayfly
