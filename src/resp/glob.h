// SPDX-License-Identifier: Apache-2.0
// Patterns of KEYS, SCAN, PSUBSCRIBE and CONFIG GET.
//
//   glob_match("user:*:[0-9]?", "user:anna:42")   true
//
//   const GlobPattern pattern("user:*");          // for many texts
//   pattern.matches("user:anna")                  true
//
//   *        any bytes, none too        [abc]    one of these
//   ?        one byte                   [^a-z]   one that is not in the range
//   \x       x itself, in brackets too
//
// A pattern that ends in the middle of brackets is closed there, and a range may run backwards.
//
// Cost: some nanoseconds for each byte of the text, for any pattern that pattern_error() accepts;
// and once as much for each byte of the pattern, when it is first compared with a long text. Small
// pairs are compared without this preparation.

#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

// A longer pattern is refused by commands that match many texts, as it would keep them busy.
inline constexpr std::size_t kPatternMost = 64 * 1024;
// Between two stars: a text is searched for these signs, which only plain bytes make cheap.
inline constexpr std::size_t kSignsMost = 256;

inline constexpr char kPatternTooLong[] = "ERR pattern is too long (at most 64 KiB)";
inline constexpr char kPatternTooCostly[] =
    "ERR pattern is too costly (at most 256 signs between two *, if there are ? or [] among them)";

// Why a command refuses the pattern: the reply. Empty if it does not.
std::string_view pattern_error(std::string_view pattern);

// A pattern without its syntax: runs of signs, with a star between each two.
class GlobRuns {
 public:
  GlobRuns(std::string_view pattern, bool ignore_case);

  bool matches(std::string_view text);

  // The most signs of a run between two stars that has not only plain bytes.
  std::size_t longest_search() const;

 private:
  using Set = std::bitset<256>;
  using Sign = std::uint32_t;  // a byte, or 256 and the number of a set

  struct Run {
    std::size_t begin;
    std::size_t end;
    bool is_plain = true;
    std::vector<std::uint64_t> masks = {};  // for each byte: a bit for each sign that it matches

    std::size_t size() const { return end - begin; }
  };

  void add_byte(char byte, bool ignore_case);
  void add_set(const Set& set);
  std::size_t add_brackets(std::string_view pattern, std::size_t at, bool ignore_case);
  bool is_match(Sign sign, char byte) const;
  bool is_at(const Run& run, std::string_view text) const;
  std::size_t find(Run& run, std::string_view text) const;
  std::size_t find_by_masks(Run& run, std::string_view text) const;
  void fill_masks(Run& run) const;

  std::vector<Sign> signs_;
  std::string bytes_;      // of the signs that are one, as a text to search for
  std::vector<Set> sets_;  // the first has all bytes: ?
  std::vector<Run> runs_;
};

class GlobPattern {
 public:
  // A view of the pattern, which stays. `ignore_case` is about the letters of ASCII.
  explicit GlobPattern(std::string_view pattern, bool ignore_case = false)
      : pattern_(pattern), ignore_case_(ignore_case) {}

  std::string_view text() const { return pattern_; }

  // Whether it matches the whole of `text`.
  bool matches(std::string_view text) const;

 private:
  std::string_view pattern_;
  bool ignore_case_;
  mutable std::optional<GlobRuns> runs_;  // made for the first long text
};

inline bool glob_match(std::string_view pattern, std::string_view text, bool ignore_case = false) {
  return GlobPattern(pattern, ignore_case).matches(text);
}

}  // namespace mayfly
