// SPDX-License-Identifier: Apache-2.0
// LMOVE and its like, and the blocking commands where nobody may wait.

#include "commands/list/list_fixture.h"

namespace mayfly {
namespace list_move_test {

class ListMoveTest : public ListFixture {};
INSTANTIATE_TEST_SUITE_P(Lists, ListMoveTest, ListFixture::kForms, ListFixture::name);

TEST_P(ListMoveTest, AnElementGoesFromEndToEnd) {
  run("RPUSH l a b c d");
  EXPECT_EQ(run("LMOVE l m LEFT RIGHT"), "\"a\"");
  EXPECT_EQ(events(), "n:new:m l:rpush:m l:lpop:l");
  EXPECT_EQ(changed_keys(), "m l");
  EXPECT_EQ(propagated(), "LMOVE l m LEFT RIGHT");
  EXPECT_EQ(run("LMOVE l m right left"), "\"d\"");
  EXPECT_EQ(events(), "l:lpush:m l:rpop:l");
  EXPECT_EQ(run("RPOPLPUSH l m"), "\"c\"");
  EXPECT_EQ(propagated(), "RPOPLPUSH l m");
  EXPECT_EQ(elements("m"), "[c d a]");
  EXPECT_EQ(run("LMOVE l m LEFT LEFT"), "\"b\"");
  EXPECT_EQ(events(), "l:lpush:m l:lpop:l g:del:l");
  EXPECT_EQ(elements("m"), "[b c d a]");
  EXPECT_EQ(run("EXISTS l"), "(integer) 0");
}

TEST_P(ListMoveTest, AListIsRotated) {
  run("RPUSH l a b c");
  EXPECT_EQ(run("RPOPLPUSH l l"), "\"c\"");
  EXPECT_EQ(events(), "l:lpush:l l:rpop:l");
  EXPECT_EQ(elements("l"), "[c a b]");
  run("LMOVE l l LEFT RIGHT");
  EXPECT_EQ(elements("l"), "[a b c]");
  run("LMOVE l l LEFT LEFT");
  EXPECT_EQ(elements("l"), "[a b c]");
  run("RPUSH one 1");
  EXPECT_EQ(run("RPOPLPUSH one one"), "\"1\"");
  EXPECT_EQ(events(), "l:lpush:one l:rpop:one");
  EXPECT_EQ(elements("one"), "[1]");
}

TEST_P(ListMoveTest, NothingComesFromNothing) {
  run("SET s v");
  EXPECT_EQ(raw({"LMOVE", "none", "s", "LEFT", "LEFT"}), "$-1\r\n");
  EXPECT_EQ(raw({"RPOPLPUSH", "none", "l"}), "$-1\r\n");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("EXISTS l"), "(integer) 0");
}

TEST_P(ListMoveTest, ADestinationOfAnotherTypeIsRefused) {
  run("SET s v");
  run("RPUSH l a");
  EXPECT_EQ(run("RPOPLPUSH l s"), kWrongType);
  EXPECT_EQ(run("BLMOVE l s LEFT LEFT 0"), kWrongType);
  EXPECT_EQ(run("BRPOPLPUSH l s 0"), kWrongType);
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(elements("l"), "[a]");
}

TEST_P(ListMoveTest, EndsAreChecked) {
  EXPECT_EQ(run("LMOVE l m LEFT FOO"), kSyntax);
  EXPECT_EQ(run("LMOVE l m FOO LEFT"), kSyntax);
  EXPECT_EQ(run("BLMOVE l m LEFT FOO x"), kSyntax);
}

// ---- Blocking ----

TEST_P(ListMoveTest, BlockingFormsActAtOnceIfTheyCan) {
  run("RPUSH l a b c d e f");
  EXPECT_EQ(flat("BLPOP none l 0"), "[l a]");
  EXPECT_EQ(events(), "l:lpop:l");
  EXPECT_EQ(propagated(), "LPOP l");
  EXPECT_EQ(flat("BRPOP l none 0.5"), "[l f]");
  EXPECT_EQ(propagated(), "RPOP l");
  EXPECT_EQ(flat("BLMPOP 1 1 l RIGHT COUNT 2"), "[l [e d]]");
  EXPECT_EQ(propagated(), "RPOP l 2");
  EXPECT_EQ(run("BLMOVE l m left Right 0"), "\"b\"");
  EXPECT_EQ(events(), "n:new:m l:rpush:m l:lpop:l");
  EXPECT_EQ(propagated(), "LMOVE l m left Right");
  EXPECT_EQ(run("BRPOPLPUSH l m 0"), "\"c\"");
  EXPECT_EQ(propagated(), "RPOPLPUSH l m");
  EXPECT_EQ(events(), "l:lpush:m l:rpop:l g:del:l");
}

// The host of this test lets nobody wait.
TEST_P(ListMoveTest, BlockingFormsReplyNothingWhereNobodyMayWait) {
  EXPECT_EQ(raw({"BLPOP", "l", "0"}), "*-1\r\n");
  EXPECT_EQ(raw({"BRPOP", "l", "m", "0.001"}), "*-1\r\n");
  EXPECT_EQ(raw({"BLMPOP", "0", "1", "l", "LEFT"}), "*-1\r\n");
  EXPECT_EQ(raw({"BLMOVE", "l", "m", "LEFT", "LEFT", "0"}), "$-1\r\n");
  EXPECT_EQ(raw({"BRPOPLPUSH", "l", "m", "0"}), "$-1\r\n");
  EXPECT_EQ(propagated(), "");
}

TEST_P(ListMoveTest, TimeoutsAreChecked) {
  for (const std::string before : {"BLPOP l ", "BRPOPLPUSH l m ", "BLMOVE l m LEFT RIGHT "}) {
    EXPECT_EQ(run(before + "x"), "(error) ERR timeout is not a float or out of range");
    EXPECT_EQ(run(before + "-1"), "(error) ERR timeout is negative");
    EXPECT_EQ(run(before + "0x7FFFFFFFFFFFFF"), "(error) ERR timeout is out of range");
  }
  EXPECT_EQ(run("BLMPOP -0.01 1 l LEFT"), "(error) ERR timeout is negative");
  run("SET s v");
  EXPECT_EQ(run("BLPOP s x"), "(error) ERR timeout is not a float or out of range");
}

}  // namespace list_move_test
}  // namespace mayfly
