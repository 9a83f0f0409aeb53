// SPDX-License-Identifier: Apache-2.0
// Patterns: examples of each sign, the plain recursive definition as a model, and the attack.

#include "resp/glob.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace mayfly {
namespace glob_test {

TEST(Glob, MatchesPlainBytes) {
  EXPECT_TRUE(glob_match("abc", "abc"));
  EXPECT_FALSE(glob_match("abc", "abcd"));
  EXPECT_FALSE(glob_match("abcd", "abc"));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match(std::string("a\0b", 3), std::string("a\0b", 3)));
}

TEST(Glob, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*", "anything"));
  EXPECT_TRUE(glob_match("h*llo", "heeeello"));
  EXPECT_TRUE(glob_match("h?llo", "hallo"));
  EXPECT_FALSE(glob_match("h?llo", "hllo"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_TRUE(glob_match("a**b", "ab"));
  EXPECT_TRUE(glob_match("*ab", "aab"));
  EXPECT_FALSE(glob_match("*ab", "abb"));
}

TEST(Glob, MatchesBrackets) {
  EXPECT_TRUE(glob_match("h[ae]llo", "hello"));
  EXPECT_FALSE(glob_match("h[ae]llo", "hillo"));
  EXPECT_FALSE(glob_match("h[^e]llo", "hello"));
  EXPECT_TRUE(glob_match("h[^e]llo", "hallo"));
  EXPECT_TRUE(glob_match("h[a-c]llo", "hbllo"));
  EXPECT_TRUE(glob_match("h[c-a]llo", "hbllo"));
  EXPECT_TRUE(glob_match("[\\]]", "]"));
  EXPECT_TRUE(glob_match("[-]", "-"));
  EXPECT_TRUE(glob_match("[a-]", "^"));  // a range from a to ], as Valkey has it
  EXPECT_TRUE(glob_match("[abc", "b"));
  EXPECT_FALSE(glob_match("[", "["));
  EXPECT_TRUE(glob_match("[^", "x"));
  EXPECT_FALSE(glob_match("[]", "]"));
}

TEST(Glob, TakesEscapedSignsAsTheyAre) {
  EXPECT_TRUE(glob_match("a\\*b", "a*b"));
  EXPECT_FALSE(glob_match("a\\*b", "axb"));
  EXPECT_TRUE(glob_match("a\\", "a\\"));
  EXPECT_TRUE(glob_match("\\[a]", "[a]"));
}

TEST(Glob, IgnoresCaseIfAsked) {
  EXPECT_FALSE(glob_match("MAX*", "maxmemory"));
  EXPECT_TRUE(glob_match("MAX*", "maxmemory", true));
  EXPECT_TRUE(glob_match("[A-C][x]", "bX", true));
}

TEST(Glob, IsNotSlowedDownByManyStars) {
  std::string pattern;
  for (int i = 0; i < 50'000; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(60'000, 'a')));
}

// The definition: the first sign matches and so does the rest. Exponential, so for short ones only.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  }
  const bool same = !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]);
  return same && matches(pattern.substr(1), text.substr(1));
}

TEST(Glob, AgreesWithItsDefinition) {
  EXPECT_TRUE(rc::check([] {
    const auto short_text = [](auto bytes, int size) {
      return *rc::gen::resize(size, rc::gen::container<std::string>(bytes));
    };
    const auto pattern = short_text(rc::gen::element('a', 'b', '*', '?'), 8);
    const auto text = short_text(rc::gen::element('a', 'b'), 12);
    RC_ASSERT(glob_match(pattern, text) == matches(pattern, text));
  }));
}

// Prepared patterns have three ways to find what is between two stars: plain bytes, a few signs,
// and many of them. Half of the patterns are made from the text, so that many match it.
TEST(Glob, MatchesAlikeWhetherPreparedOrNot) {
  EXPECT_TRUE(rc::check([] {
    const bool is_made = *rc::gen::arbitrary<bool>();
    const bool ignore_case = *rc::gen::arbitrary<bool>();
    const auto letters = rc::gen::weightedElement<char>({{40, 'a'}, {5, 'b'}, {2, 'B'}, {1, ']'}});
    const std::string text = *rc::gen::resize(120, rc::gen::container<std::string>(letters));
    const auto signs = rc::gen::weightedElement<std::string>({{40, "a"},
                                                              {8, "*"},
                                                              {6, "?"},
                                                              {5, "[ab]"},
                                                              {3, "[^b]"},
                                                              {2, "[a-B]"},
                                                              {2, "\\a"},
                                                              {1, "[\\B]"},
                                                              {1, "["},
                                                              {1, "\\"}});
    std::string pattern;
    for (const char byte : text.substr(0, text.size() * 3 / 4)) {
      const std::string sign = *signs;
      const bool is_kept = is_made && sign != "*" && !glob_match(sign, {&byte, 1}, ignore_case);
      pattern += is_kept ? std::string(1, byte) : sign;
    }
    if (is_made) pattern += "*" + text.substr(text.size() * 9 / 10);
    if (pattern.size() * text.size() > 4096) RC_DISCARD("is prepared anyway");
    GlobRuns runs(pattern, ignore_case);
    const bool expected = glob_match(pattern, text, ignore_case);
    RC_TAG(expected ? "matches" : "does not");
    RC_ASSERT(runs.matches(text) == expected);
  }));
}

TEST(Glob, FindsTheFirstPlaceOfEachRun) {
  const std::string as(40'000, 'a');
  EXPECT_TRUE(glob_match("*" + as + "*b*", as + "ab"));
  EXPECT_FALSE(glob_match("*" + as + "*" + as, as + "a"));
  EXPECT_TRUE(glob_match("*[ab]" + std::string(200, 'a') + "c*c", as + "cc"));
  EXPECT_FALSE(glob_match("*[ab]" + std::string(200, 'a') + "c*c", as + "c"));
  EXPECT_TRUE(glob_match("x*?" + std::string(64, '?') + "y*z", "x" + as + "yz"));
}

// Each of these took minutes when a text was compared with the pattern as it is written.
TEST(Glob, IsNotSlowedDownByLongRuns) {
  const std::string text(std::size_t{4} << 20, 'a');
  EXPECT_FALSE(glob_match("*[" + std::string(65'000, 'y') + "]", text));
  EXPECT_FALSE(glob_match("*[" + std::string(65'000, 'y') + "]*", text));
  EXPECT_FALSE(glob_match("*" + std::string(65'000, 'a') + "b*", text));
  EXPECT_FALSE(glob_match("*b" + std::string(65'000, 'a') + "*", text));
  EXPECT_FALSE(glob_match("*[ac]" + std::string(kSignsMost - 2, 'a') + "b*", text));
}

TEST(Glob, RefusesWhatWouldBeCostly) {
  const std::string most(kSignsMost, 'a');
  EXPECT_EQ(pattern_error(std::string(kPatternMost, '*')), "");
  EXPECT_EQ(pattern_error(std::string(kPatternMost + 1, '*')), kPatternTooLong);
  EXPECT_EQ(pattern_error("*?" + most + "*"), kPatternTooCostly);
  EXPECT_EQ(pattern_error("*[a" + most + "]" + most.substr(1) + "*"), "");
  EXPECT_EQ(pattern_error("*[ab]" + most.substr(1) + "*"), "");
  EXPECT_EQ(pattern_error("?" + most + "*" + most + "a*" + most + "?"), "");  // no search for it
}

TEST(Glob, EndsOnAnyPattern) {
  EXPECT_TRUE(rc::check([] {
    const auto signs = rc::gen::element('a', '-', '[', ']', '^', '\\', '*', '?');
    const auto pattern = *rc::gen::container<std::string>(signs);
    const auto text = *rc::gen::container<std::string>(signs);
    (void)glob_match(pattern, text, *rc::gen::arbitrary<bool>());
  }));
}

}  // namespace glob_test
}  // namespace mayfly
