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
