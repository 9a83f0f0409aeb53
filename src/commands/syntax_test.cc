// SPDX-License-Identifier: Apache-2.0
// What the syntax of a command means, and what is no syntax.

#include "commands/syntax.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace syntax_test {

// "name:type=TOKEN?*(parts)": an argument as a line that a person can compare.
std::string to_text(const std::vector<Argument>& arguments);

std::string to_text(const Argument& argument) {
  std::string text = argument.name;
  text.append(":").append(kind_name(argument.kind));
  if (!argument.token.empty()) text += "=" + argument.token;
  if (argument.is_optional) text += "?";
  if (argument.is_repeated) text += argument.repeats_token ? "**" : "*";
  if (argument.is_count) text += "#";
  if (!argument.parts.empty()) text += "(" + to_text(argument.parts) + ")";
  return text;
}

std::string to_text(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& argument : arguments) {
    if (!text.empty()) text += " ";
    text += to_text(argument);
  }
  return text;
}

std::string parsed(std::string_view syntax) {
  const auto arguments = parse_syntax(syntax);
  return arguments ? to_text(*arguments) : "error: " + arguments.error().message;
}

TEST(SyntaxTest, ValuesHaveTypes) {
  EXPECT_EQ(parsed(""), "");
  EXPECT_EQ(parsed("key value"), "key:key value:string");
  EXPECT_EQ(parsed("a:int b:double c:time d:pattern e:key n:count"),
            "a:integer b:double c:unix-time d:pattern e:key n:integer#");
}

TEST(SyntaxTest, ATokenBelongsToTheValuesBehindIt) {
  EXPECT_EQ(parsed("GET"), "get:pure-token=GET");
  EXPECT_EQ(parsed("[EX seconds:int]"), "seconds:integer=EX?");
  EXPECT_EQ(parsed("LIMIT offset:int count:int"),
            "limit:block=LIMIT(offset:integer count:integer)");
  EXPECT_EQ(parsed("FIELDS n:count field..."), "fields:block=FIELDS(n:integer# field:string*)");
  EXPECT_EQ(parsed("(NO ONE)"), "arguments:block(no:pure-token=NO one:pure-token=ONE)");
  EXPECT_EQ(parsed("[operator:(= | ~)] value"),
            "operator:oneof?(=:pure-token== ~:pure-token=~) value:string");
  EXPECT_EQ(parsed("(* | id) (id | $)"),
            "option:oneof(*:pure-token=* id:string) option:oneof(id:string $:pure-token=$)");
}

TEST(SyntaxTest, GroupsAreOptionalRepeatedOrChoices) {
  EXPECT_EQ(parsed("[key...]"), "key:key?*");
  EXPECT_EQ(parsed("(field value)..."), "arguments:block*(field:string value:string)");
  EXPECT_EQ(parsed("[GET pattern:pattern]..."), "pattern:pattern=GET?**");
  EXPECT_EQ(parsed("[ID id:int...]"), "id:integer=ID?*");
  EXPECT_EQ(parsed("[condition:(NX | XX)]"), "condition:oneof?(nx:pure-token=NX xx:pure-token=XX)");
  EXPECT_EQ(parsed("[NX | XX]"), "option:oneof?(nx:pure-token=NX xx:pure-token=XX)");
  EXPECT_EQ(parsed("FILTERBY by:(A a | B b)"), "by:oneof=FILTERBY(a:string=A b:string=B)");
}

TEST(SyntaxTest, CountsWords) {
  const auto count = [](std::string_view syntax) {
    const WordCount words = count_words(*parse_syntax(syntax));
    return std::to_string(words.least) + ".." + (words.most ? std::to_string(*words.most) : "");
  };
  EXPECT_EQ(count(""), "0..0");
  EXPECT_EQ(count("key value"), "2..2");
  EXPECT_EQ(count("key [EX seconds:int]"), "1..3");
  EXPECT_EQ(count("key [EX seconds:int | KEEPTTL]"), "1..3");
  EXPECT_EQ(count("(a | b c d)"), "1..3");
  EXPECT_EQ(count("key (field value)..."), "3..");
  EXPECT_EQ(count("key FIELDS numfields:count field..."), "4..");
  EXPECT_EQ(count("(a | (b c)...)"), "1..");
}

TEST(SyntaxTest, RefusesWhatIsNoSyntax) {
  for (const std::string_view wrong :
       {"[key", "key]", "(a | ", "()", "a:nosuch", "a | b", ")", "name:", "[]"}) {
    EXPECT_FALSE(parse_syntax(wrong).ok()) << wrong;
  }
}

}  // namespace syntax_test
}  // namespace mayfly
