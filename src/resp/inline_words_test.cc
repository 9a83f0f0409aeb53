// SPDX-License-Identifier: Apache-2.0
// Quoting, as redis-cli and Valkey's sdssplitargs have it.

#include "resp/inline_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mayfly {
namespace inline_words_test {

// The words between < and >, or "unbalanced".
std::string split(std::string_view line) {
  std::vector<std::string_view> words;
  std::string unquoted;
  if (!split_inline(line, words, unquoted)) return "unbalanced";
  std::string out;
  for (const std::string_view word : words) out.append("<").append(word).append(">");
  return out;
}

TEST(InlineWords, AreSeparatedByAnyWhiteSpace) {
  EXPECT_EQ(split(""), "");
  EXPECT_EQ(split(" \t\r\v\f "), "");
  EXPECT_EQ(split(" a\tbc  d "), "<a><bc><d>");
}

TEST(InlineWords, UndoDoubleQuotes) {
  EXPECT_EQ(split(R"("a b" "")"), "<a b><>");
  EXPECT_EQ(split(R"("\n\r\t\b\a\\\"\q")"), "<\n\r\t\b\a\\\"q>");
  EXPECT_EQ(split(R"("\x41\xfF\x4g\x")"), "<A\xffx4gx>");
}

TEST(InlineWords, UndoSingleQuotes) {
  EXPECT_EQ(split(R"('a "b"' '')"), "<a \"b\"><>");
  EXPECT_EQ(split(R"('it\'s \n \\ ')"), R"(<it's \n \\ >)");
}

TEST(InlineWords, MayHaveAQuoteInTheMiddle) {
  EXPECT_EQ(split(R"(foo"bar baz")"), "<foobar baz>");
  EXPECT_EQ(split("a\\nb"), "<a\\nb>");
}

TEST(InlineWords, MayQuoteAnyPartOfThemselves) {
  EXPECT_EQ(split(R"("te"st'-'key)"), "<test-key>");
  EXPECT_EQ(split(R"("""tes"t-'k'e"y" "test"'-'value)"), "<test-key><test-value>");
  EXPECT_EQ(split(R"("a""b" 'a''b' "a"'b' ""''c)"), "<ab><ab><ab><c>");
  EXPECT_EQ(split(R"("a"b 'c'd)"), "<ab><cd>");
}

TEST(InlineWords, MustCloseTheirQuotes) {
  for (const char* line : {"\"a", "'a", "\"a\\", "\"a\\\"", "'a\\'", "b'a'r'", "'b'a\"r"}) {
    EXPECT_EQ(split(line), "unbalanced") << line;
  }
}

TEST(InlineWords, StayWhereTheyAreWhenMoreFollow) {
  std::string line;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    line += "\"word\\n\" plain ";
    expected += "<word\n><plain>";
  }
  EXPECT_EQ(split(line), expected);
}

}  // namespace inline_words_test
}  // namespace mayfly
