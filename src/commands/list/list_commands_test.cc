// SPDX-License-Identifier: Apache-2.0
// The commands that add, read, change and remove elements of lists: replies, events, errors.

#include <cstdint>
#include <string>
#include <vector>

#include "commands/list/list_fixture.h"

namespace mayfly {
namespace list_commands_test {

class ListCommandsTest : public ListFixture {};
INSTANTIATE_TEST_SUITE_P(Lists, ListCommandsTest, ListFixture::kForms, ListFixture::name);

// ---- Pushing ----

TEST_P(ListCommandsTest, PushesAddAtBothEnds) {
  EXPECT_EQ(run("RPUSH l a b c"), "(integer) 3");
  EXPECT_EQ(events(), "n:new:l l:rpush:l");
  EXPECT_EQ(changed_keys(), "l");
  EXPECT_EQ(propagated(), "RPUSH l a b c");
  EXPECT_EQ(run("LPUSH l 1 2"), "(integer) 5");
  EXPECT_EQ(events(), "l:lpush:l");
  EXPECT_EQ(elements("l"), "[2 1 a b c]");
  EXPECT_EQ(run("TYPE l"), "list");
}

TEST_P(ListCommandsTest, PushesOfTheXKindNeedAList) {
  EXPECT_EQ(run("LPUSHX l a"), "(integer) 0");
  EXPECT_EQ(run("RPUSHX l a b"), "(integer) 0");
  EXPECT_EQ(events() + propagated() + changed_keys(), "");
  EXPECT_EQ(run("EXISTS l"), "(integer) 0");
  run("RPUSH l m");
  EXPECT_EQ(run("LPUSHX l a b"), "(integer) 3");
  EXPECT_EQ(events(), "l:lpush:l");
  EXPECT_EQ(run("RPUSHX l y z"), "(integer) 5");
  EXPECT_EQ(propagated(), "RPUSHX l y z");
  EXPECT_EQ(elements("l"), "[b a m y z]");
}

TEST_P(ListCommandsTest, ElementsAreAnyBytes) {
  const std::string large(20'000, 'x');
  const std::vector<std::string> texts = {"",    "0",   "-1", "007", "9223372036854775807",
                                          "-0",  " 1",  "+1", large, "9223372036854775808",
                                          "1e3", "\r\n"};
  for (const std::string& text : texts) run({"RPUSH", "l", text});
  for (const std::string& text : texts) {
    const std::string reply = raw({"LPOP", "l"});
    EXPECT_EQ(reply, "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  }
  EXPECT_EQ(run("EXISTS l"), "(integer) 0");
}

// ---- Popping ----

TEST_P(ListCommandsTest, PopsTakeFromBothEnds) {
  run("RPUSH l a b c");
  EXPECT_EQ(run("LPOP l"), "\"a\"");
  EXPECT_EQ(events(), "l:lpop:l");
  EXPECT_EQ(changed_keys(), "l");
  EXPECT_EQ(propagated(), "LPOP l");
  EXPECT_EQ(run("RPOP l"), "\"c\"");
  EXPECT_EQ(events(), "l:rpop:l");
  EXPECT_EQ(run("RPOP l"), "\"b\"");
  EXPECT_EQ(events(), "l:rpop:l g:del:l");
  EXPECT_EQ(propagated(), "RPOP l");
  EXPECT_EQ(run("EXISTS l"), "(integer) 0");
}

TEST_P(ListCommandsTest, PopsWithACountTakeTheNearestFirst) {
  run("RPUSH l a b c d e f");
  EXPECT_EQ(flat("LPOP l 2"), "[a b]");
  EXPECT_EQ(propagated(), "LPOP l 2");
  EXPECT_EQ(flat("RPOP l 3"), "[f e d]");
  EXPECT_EQ(events(), "l:rpop:l");
  EXPECT_EQ(flat("RPOP l 0"), "[]");
  EXPECT_EQ(events() + propagated() + changed_keys(), "");
  EXPECT_EQ(flat("LPOP l 9223372036854775807"), "[c]");
  EXPECT_EQ(events(), "l:lpop:l g:del:l");
}

TEST_P(ListCommandsTest, NullsOfPopsDependOnTheCount) {
  EXPECT_EQ(raw({"LPOP", "l"}), "$-1\r\n");
  EXPECT_EQ(raw({"RPOP", "l"}), "$-1\r\n");
  EXPECT_EQ(raw({"LPOP", "l", "0"}), "*-1\r\n");
  EXPECT_EQ(raw({"RPOP", "l", "2"}), "*-1\r\n");
  EXPECT_EQ(raw({"LMPOP", "1", "l", "LEFT"}), "*-1\r\n");
  EXPECT_EQ(events() + propagated(), "");
  set_protocol(3);
  EXPECT_EQ(raw({"LPOP", "l"}), "_\r\n");
  EXPECT_EQ(raw({"LPOP", "l", "0"}), "_\r\n");
  EXPECT_EQ(raw({"LMPOP", "1", "l", "LEFT"}), "_\r\n");
}

TEST_P(ListCommandsTest, PopsRefuseWrongCounts) {
  run("RPUSH l a");
  EXPECT_EQ(run("LPOP l -1"), kNotPositive);
  EXPECT_EQ(run("RPOP l x"), kNotPositive);
  EXPECT_EQ(run("LPOP none -1"), kNotPositive);
  EXPECT_EQ(run("LPOP l 1 1"), arity_error("lpop"));
  EXPECT_EQ(run("RPOP none 1 1"), arity_error("rpop"));
  EXPECT_EQ(elements("l"), "[a]");
}

TEST_P(ListCommandsTest, LmpopTakesFromTheFirstKeyThatExists) {
  run("RPUSH l a b c d");
  run("RPUSH m 1 2");
  EXPECT_EQ(flat("LMPOP 3 none l m LEFT"), "[l [a]]");
  EXPECT_EQ(propagated(), "LPOP l 1");
  EXPECT_EQ(events(), "l:lpop:l");
  EXPECT_EQ(flat("LMPOP 2 l m right COUNT 2"), "[l [d c]]");
  EXPECT_EQ(propagated(), "RPOP l 2");
  EXPECT_EQ(flat("LMPOP 2 l m right COUNT 9"), "[l [b]]");
  EXPECT_EQ(events(), "l:rpop:l g:del:l");
  EXPECT_EQ(propagated(), "RPOP l 1");
  EXPECT_EQ(flat("LMPOP 2 l m left count 9"), "[m [1 2]]");
  EXPECT_EQ(propagated(), "LPOP m 2");
  EXPECT_EQ(run("LMPOP 2 l m left count 9"), "(nil)");
  EXPECT_EQ(propagated(), "");
}

TEST_P(ListCommandsTest, LmpopRefusesWrongRequests) {
  run("RPUSH l a b");
  for (const std::string number : {"0", "-1", "x"}) {
    EXPECT_EQ(run("LMPOP " + number + " l LEFT"), "(error) ERR numkeys should be greater than 0");
    EXPECT_EQ(run("BLMPOP x " + number + " l LEFT"),
              "(error) ERR numkeys should be greater than 0");
    EXPECT_EQ(run("LMPOP 1 l LEFT COUNT " + number), "(error) ERR count should be greater than 0");
  }
  for (const std::string words :
       {"1 l MIN", "2 l LEFT", "9223372036854775807 l LEFT", "1 l LEFT COUNT", "1 l COUNT 1",
        "1 l LEFT RIGHT", "1 l LEFT COUNT 1 COUNT 1", "1 l LEFT FOO 1"}) {
    EXPECT_EQ(run("LMPOP " + words), kSyntax) << words;
    EXPECT_EQ(run("BLMPOP 0 " + words), kSyntax) << words;
  }
  EXPECT_EQ(run("LMPOP 1 l"), arity_error("lmpop"));
  EXPECT_EQ(elements("l"), "[a b]");
}

// ---- Reading ----

TEST_P(ListCommandsTest, LlenAndLindex) {
  EXPECT_EQ(run("LLEN l"), "(integer) 0");
  EXPECT_EQ(run("LINDEX l 0"), "(nil)");
  EXPECT_EQ(run("LINDEX l x"), "(nil)");  // there is no list to look at
  EXPECT_EQ(lookups(), "m");
  run("RPUSH l a 2 c");
  EXPECT_EQ(run("LLEN l"), "(integer) 3");
  EXPECT_EQ(lookups(), "h");
  EXPECT_EQ(run("LINDEX l 0"), "\"a\"");
  EXPECT_EQ(run("LINDEX l 1"), "\"2\"");
  EXPECT_EQ(run("LINDEX l -1"), "\"c\"");
  EXPECT_EQ(run("LINDEX l -3"), "\"a\"");
  EXPECT_EQ(raw({"LINDEX", "l", "3"}), "$-1\r\n");
  EXPECT_EQ(run("LINDEX l -4"), "(nil)");
  EXPECT_EQ(run("LINDEX l -9223372036854775808"), "(nil)");
  EXPECT_EQ(run("LINDEX l x"), kNoInteger);
}

TEST_P(ListCommandsTest, LrangeCutsItsRange) {
  EXPECT_EQ(run("LRANGE l 0 -1"), "[]");
  run("RPUSH l a b c d e");
  EXPECT_EQ(flat("LRANGE l 0 -1"), "[a b c d e]");
  EXPECT_EQ(flat("LRANGE l 1 3"), "[b c d]");
  EXPECT_EQ(flat("LRANGE l -2 -1"), "[d e]");
  EXPECT_EQ(flat("LRANGE l -100 100"), "[a b c d e]");
  EXPECT_EQ(flat("LRANGE l 0 -5"), "[a]");
  EXPECT_EQ(flat("LRANGE l 0 -6"), "[]");
  EXPECT_EQ(flat("LRANGE l 3 2"), "[]");
  EXPECT_EQ(flat("LRANGE l 5 9"), "[]");
  EXPECT_EQ(flat("LRANGE l -9223372036854775808 9223372036854775807"), "[a b c d e]");
  EXPECT_EQ(flat("LRANGE l 9223372036854775807 -9223372036854775808"), "[]");
  EXPECT_EQ(run("LRANGE l x 1"), kNoInteger);
  EXPECT_EQ(run("LRANGE none 1 x"), kNoInteger);
}

TEST_P(ListCommandsTest, LposFindsElements) {
  run("RPUSH l a b c 1 2 3 c c");
  EXPECT_EQ(run("LPOS l a"), "(integer) 0");
  EXPECT_EQ(run("LPOS l c"), "(integer) 2");
  EXPECT_EQ(run("LPOS l 2"), "(integer) 4");
  EXPECT_EQ(run("LPOS l 02"), "(nil)");
  EXPECT_EQ(run("LPOS l c RANK 2"), "(integer) 6");
  EXPECT_EQ(run("LPOS l c RANK 4"), "(nil)");
  EXPECT_EQ(run("LPOS l c RANK -1"), "(integer) 7");
  EXPECT_EQ(run("LPOS l c RANK -3"), "(integer) 2");
  EXPECT_EQ(run("LPOS l c RANK 9223372036854775807"), "(nil)");
  EXPECT_EQ(flat("LPOS l c COUNT 0"), "[(integer) 2 (integer) 6 (integer) 7]");
  EXPECT_EQ(flat("LPOS l c COUNT 1"), "[(integer) 2]");
  EXPECT_EQ(flat("LPOS l c COUNT 2 RANK -1"), "[(integer) 7 (integer) 6]");
  EXPECT_EQ(flat("LPOS l c count 0 rank 2"), "[(integer) 6 (integer) 7]");
  EXPECT_EQ(flat("LPOS l x COUNT 0"), "[]");
  EXPECT_EQ(flat("LPOS l c COUNT 0 MAXLEN 3"), "[(integer) 2]");
  EXPECT_EQ(flat("LPOS l c COUNT 0 MAXLEN 2"), "[]");
  EXPECT_EQ(flat("LPOS l c COUNT 0 MAXLEN 3 RANK -1"), "[(integer) 7 (integer) 6]");
  EXPECT_EQ(run("LPOS l c MAXLEN 2"), "(nil)");
  EXPECT_EQ(run("LPOS l c MAXLEN 0"), "(integer) 2");
  EXPECT_EQ(run("LPOS l c MAXLEN 9223372036854775807 RANK -1"), "(integer) 7");
  EXPECT_EQ(run("LPOS none c"), "(nil)");
  EXPECT_EQ(run("LPOS none c COUNT 0"), "[]");
}

TEST_P(ListCommandsTest, LposRefusesWrongOptions) {
  EXPECT_EQ(run("LPOS none c RANK 0"),
            "(error) ERR RANK can't be zero: use 1 to start from the first match, 2 from the "
            "second ... or use negative to start from the end of the list");
  EXPECT_EQ(run("LPOS none c RANK -9223372036854775808"), kNotSymmetric);
  EXPECT_EQ(run("LPOS none c RANK x"), kNoInteger);
  EXPECT_EQ(run("LPOS none c COUNT -1"), "(error) ERR COUNT can't be negative");
  EXPECT_EQ(run("LPOS none c COUNT x"), "(error) ERR COUNT can't be negative");
  EXPECT_EQ(run("LPOS none c MAXLEN -1"), "(error) ERR MAXLEN can't be negative");
  EXPECT_EQ(run("LPOS none c MAXLEN x COUNT"), "(error) ERR MAXLEN can't be negative");
  EXPECT_EQ(run("LPOS none c COUNT"), kSyntax);
  EXPECT_EQ(run("LPOS none c FOO 1"), kSyntax);
}

// ---- Changing ----

TEST_P(ListCommandsTest, LsetReplacesAnElement) {
  run("RPUSH l a b c");
  EXPECT_EQ(run("LSET l 0 x"), "OK");
  EXPECT_EQ(events(), "l:lset:l");
  EXPECT_EQ(changed_keys(), "l");
  EXPECT_EQ(propagated(), "LSET l 0 x");
  run("LSET l -1 12");
  EXPECT_EQ(elements("l"), "[x b 12]");
  EXPECT_EQ(run("LSET l 3 x"), "(error) ERR index out of range");
  EXPECT_EQ(run("LSET l -4 x"), "(error) ERR index out of range");
  EXPECT_EQ(run("LSET l x x"), kNoInteger);
  EXPECT_EQ(run("LSET none x x"), "(error) ERR no such key");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_P(ListCommandsTest, LinsertFindsTheFirstPivot) {
  run("RPUSH l a b a 5");
  EXPECT_EQ(run("LINSERT l BEFORE a x"), "(integer) 5");
  EXPECT_EQ(events(), "l:linsert:l");
  EXPECT_EQ(propagated(), "LINSERT l BEFORE a x");
  EXPECT_EQ(run("LINSERT l after b y"), "(integer) 6");
  EXPECT_EQ(run("LINSERT l after 5 z"), "(integer) 7");
  EXPECT_EQ(elements("l"), "[x a b y a 5 z]");
  EXPECT_EQ(run("LINSERT l before none x"), "(integer) -1");
  EXPECT_EQ(run("LINSERT none before a x"), "(integer) 0");
  EXPECT_EQ(events() + propagated() + changed_keys(), "");
  EXPECT_EQ(run("LINSERT none around a x"), kSyntax);
}

TEST_P(ListCommandsTest, LremRemovesFromEitherEnd) {
  run("RPUSH l a b a c a 1 a");
  EXPECT_EQ(run("LREM l 1 a"), "(integer) 1");
  EXPECT_EQ(events(), "l:lrem:l");
  EXPECT_EQ(propagated(), "LREM l 1 a");
  EXPECT_EQ(elements("l"), "[b a c a 1 a]");
  EXPECT_EQ(run("LREM l -2 a"), "(integer) 2");
  EXPECT_EQ(elements("l"), "[b a c 1]");
  EXPECT_EQ(run("LREM l 0 none"), "(integer) 0");
  EXPECT_EQ(events() + propagated() + changed_keys(), "");
  EXPECT_EQ(run("LREM l 0 01"), "(integer) 0");
  EXPECT_EQ(run("LREM l 0 1"), "(integer) 1");
  run("LREM l 5 b");
  run("LREM l -9223372036854775807 a");
  EXPECT_EQ(run("LREM l 0 c"), "(integer) 1");
  EXPECT_EQ(events(), "l:lrem:l g:del:l");
  EXPECT_EQ(changed_keys(), "l");
  EXPECT_EQ(run("LREM none 0 c"), "(integer) 0");
  EXPECT_EQ(run("LREM none x c"), kNoInteger);
  EXPECT_EQ(run("LREM none -9223372036854775808 c"), kNotSymmetric);
}

TEST_P(ListCommandsTest, LtrimKeepsARange) {
  run("RPUSH l a b c d e f");
  EXPECT_EQ(run("LTRIM l 1 -2"), "OK");
  EXPECT_EQ(events(), "l:ltrim:l");
  EXPECT_EQ(propagated(), "LTRIM l 1 -2");
  EXPECT_EQ(elements("l"), "[b c d e]");
  EXPECT_EQ(run("LTRIM l -100 100"), "OK");  // it removes nothing and says it did something
  EXPECT_EQ(events(), "l:ltrim:l");
  EXPECT_EQ(propagated() + changed_keys(), "");
  run("LTRIM l 0 2");
  EXPECT_EQ(elements("l"), "[b c d]");
  run("LTRIM l -1 -1");
  EXPECT_EQ(elements("l"), "[d]");
  run("LTRIM l 5 9");
  EXPECT_EQ(events(), "l:ltrim:l g:del:l");
  EXPECT_EQ(propagated(), "LTRIM l 5 9");
  EXPECT_EQ(run("LTRIM l 0 1"), "OK");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("LTRIM l x 1"), kNoInteger);
  EXPECT_EQ(run("LTRIM l 1 x"), kNoInteger);
}

// ---- All of them ----

TEST_P(ListCommandsTest, KeysOfOtherTypesAreRefused) {
  run("SET s v");
  for (const std::string line :
       {"LPUSH s a", "RPUSHX s a", "LPOP s", "RPOP s 0", "LMPOP 2 none s LEFT", "LLEN s",
        "LRANGE s 0 1", "LINDEX s x", "LPOS s a", "LSET s x a", "LINSERT s AFTER a b", "LREM s 0 a",
        "LTRIM s 0 1", "BLPOP none s 0", "BLMPOP 0 1 s LEFT", "LMOVE s l LEFT LEFT",
        "BRPOPLPUSH s l 0"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
  }
  run("RPUSH l a");
  for (const std::string line : {"GET l", "HGET l f", "SADD l a", "ZADD l 1 a", "INCR l"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
  }
}

TEST_P(ListCommandsTest, AListThatIsDueIsGone) {
  run("RPUSH l a b c");
  run("PEXPIRE l 10");
  advance(Millis(10));
  EXPECT_EQ(run("LLEN l"), "(integer) 0");
  run("RPUSH l a");
  run("PEXPIRE l 10");
  advance(Millis(10));
  EXPECT_EQ(run("RPUSH l b"), "(integer) 1");
  EXPECT_EQ(run("TTL l"), "(integer) -1");
}

TEST_P(ListCommandsTest, ChangesKeepTheDeadline) {
  run("RPUSH l a b c");
  run("EXPIRE l 100");
  for (const std::string line : {"LPUSH l x", "LPOP l", "LSET l 0 y", "LTRIM l 0 1", "LREM l 1 y",
                                 "LINSERT l AFTER b z", "LMOVE l l LEFT RIGHT"}) {
    run(line);
    EXPECT_EQ(run("TTL l"), "(integer) 100") << line;
  }
}

}  // namespace list_commands_test
}  // namespace mayfly
