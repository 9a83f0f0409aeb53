// SPDX-License-Identifier: Apache-2.0
// Pops from sorted sets, and the commands that wait for them.

#include "commands/zset/zset_fixture.h"

namespace mayfly {
namespace zset_pop_test {

class ZsetPopTest : public ZsetFixture {
 protected:
  void make() { run("ZADD z 1 a 2 b 3 c"); }
};
INSTANTIATE_TEST_SUITE_P(Zsets, ZsetPopTest, kBothForms, form_name);

TEST_P(ZsetPopTest, ZpopminAndZpopmaxTakeTheEnds) {
  make();
  EXPECT_EQ(flat("ZPOPMIN z"), "a 1");
  EXPECT_EQ(events(), "z:zpopmin:z");
  EXPECT_EQ(propagated(), "ZPOPMIN z");
  EXPECT_EQ(changed_keys(), "z");
  EXPECT_EQ(flat("ZPOPMAX z 5"), "c 3 b 2");
  EXPECT_EQ(events(), "z:zpopmax:z g:del:z");
  EXPECT_EQ(propagated(), "ZPOPMAX z 5");
  EXPECT_EQ(run("ZPOPMIN z"), "[]");
  EXPECT_EQ(run("ZPOPMAX z 3"), "[]");
  EXPECT_EQ(propagated(), "");
}

TEST_P(ZsetPopTest, ZpopminRefusesWrongCounts) {
  make();
  const std::string not_positive = "(error) ERR value is out of range, must be positive";
  EXPECT_EQ(run("ZPOPMIN z -1"), not_positive);
  EXPECT_EQ(run("ZPOPMIN z x"), not_positive);
  EXPECT_EQ(run("ZPOPMIN z 1 2"), kSyntax);
  EXPECT_EQ(run("ZPOPMIN z 0"), "[]");
  put_string("s");
  EXPECT_EQ(run("ZPOPMIN s 0"), kWrongType);
  EXPECT_EQ(run("ZPOPMAX s"), kWrongType);
  EXPECT_EQ(run("ZCARD z"), "(integer) 3");
}

TEST_P(ZsetPopTest, Resp3NestsPairsIfThereIsACount) {
  make();
  set_protocol(3);
  EXPECT_EQ(raw({"ZPOPMIN", "z"}), "*2\r\n$1\r\na\r\n,1\r\n");
  EXPECT_EQ(raw({"ZPOPMIN", "z", "1"}), "*1\r\n*2\r\n$1\r\nb\r\n,2\r\n");
  EXPECT_EQ(raw({"ZPOPMIN", "none"}), "*0\r\n");
  EXPECT_EQ(raw({"ZMPOP", "1", "none", "MIN"}), "_\r\n");
  EXPECT_EQ(raw({"BZPOPMIN", "z", "0"}), "*3\r\n$1\r\nz\r\n$1\r\nc\r\n,3\r\n");
}

TEST_P(ZsetPopTest, ZmpopTakesTheFirstKeyThatExists) {
  make();
  run("ZADD y 7 g");
  EXPECT_EQ(run("ZMPOP 3 none z y MIN COUNT 2"), R"(["z", [["a", "1"], ["b", "2"]]])");
  EXPECT_EQ(propagated(), "ZPOPMIN z 2");
  EXPECT_EQ(run("ZMPOP 2 z y MAX"), R"(["z", [["c", "3"]]])");
  EXPECT_EQ(run("ZMPOP 2 z y max"), R"(["y", [["g", "7"]]])");
  EXPECT_EQ(raw({"ZMPOP", "2", "z", "y", "max"}), "*-1\r\n");
  put_string("s");
  EXPECT_EQ(run("ZMPOP 2 none s MIN"), kWrongType);
}

TEST_P(ZsetPopTest, ZmpopRefusesWrongRequests) {
  make();
  for (const std::string number : {"0", "-1", "x"}) {
    EXPECT_EQ(run("ZMPOP " + number + " z MIN"), "(error) ERR numkeys should be greater than 0");
    EXPECT_EQ(run("BZMPOP x " + number + " z MIN"), "(error) ERR numkeys should be greater than 0");
    EXPECT_EQ(run("ZMPOP 1 z MIN COUNT " + number), "(error) ERR count should be greater than 0");
  }
  for (const std::string words : {"1 z MID", "2 z MIN", "9223372036854775807 z MIN",
                                  "1 z MIN COUNT", "1 z MIN COUNT 1 COUNT 1", "1 z MIN FOO 1"}) {
    EXPECT_EQ(run("ZMPOP " + words), kSyntax) << words;
  }
  EXPECT_EQ(run("ZMPOP 1 z"), arity_error("zmpop"));
  EXPECT_EQ(run("ZCARD z"), "(integer) 3");
}

TEST_P(ZsetPopTest, BlockingFormsPopAtOnceIfTheyCan) {
  make();
  EXPECT_EQ(flat("BZPOPMIN none z 0"), "z a 1");
  EXPECT_EQ(events(), "z:zpopmin:z");
  EXPECT_EQ(propagated(), "ZPOPMIN z");
  EXPECT_EQ(flat("BZPOPMAX z none 0.5"), "z c 3");
  EXPECT_EQ(run("BZMPOP 1 1 z MIN COUNT 5"), R"(["z", [["b", "2"]]])");
  EXPECT_EQ(events(), "z:zpopmin:z g:del:z");
  EXPECT_EQ(propagated(), "ZPOPMIN z 1");
}

// The host of this test lets nobody wait.
TEST_P(ZsetPopTest, BlockingFormsReplyNothingWhereNobodyMayWait) {
  EXPECT_EQ(raw({"BZPOPMIN", "z", "0"}), "*-1\r\n");
  EXPECT_EQ(raw({"BZPOPMAX", "z", "y", "0.001"}), "*-1\r\n");
  EXPECT_EQ(raw({"BZMPOP", "0", "1", "z", "MIN"}), "*-1\r\n");
  put_string("s");
  EXPECT_EQ(run("BZPOPMIN none s 0"), kWrongType);
}

TEST_P(ZsetPopTest, TimeoutsAreChecked) {
  for (const std::string word : {"x", "nan", "1e99999"}) {
    EXPECT_EQ(run("BZPOPMIN z " + word), "(error) ERR timeout is not a float or out of range");
    EXPECT_EQ(run("BZMPOP " + word + " 1 z MIN"),
              "(error) ERR timeout is not a float or out of range");
  }
  EXPECT_EQ(run("BZPOPMIN z -1"), "(error) ERR timeout is negative");
  EXPECT_EQ(run("BZPOPMIN z 1e30"), "(error) ERR timeout is out of range");
  EXPECT_EQ(run("BZPOPMIN z inf"), "(error) ERR timeout is out of range");
  EXPECT_EQ(run("BZPOPMIN z 9223372036854775.8"), "(error) ERR timeout is out of range");
}

// ---- Deadlines ----

TEST_P(ZsetPopTest, NothingDueIsPopped) {
  make_partly_due();
  EXPECT_EQ(flat("ZPOPMIN z"), "a 1");
  EXPECT_TRUE(propagated().ends_with("ZREM z a")) << propagated();
  EXPECT_EQ(flat("BZPOPMAX z 0"), "z l 7");
  EXPECT_EQ(flat("ZPOPMIN z 99"), "b 2 c 3");
  EXPECT_EQ(run("EXISTS z"), "(integer) 0");
}

TEST_P(ZsetPopTest, AKeyOfDueMembersIsEmpty) {
  run("ZADD z 1 a");
  expire_in("z", "a", Millis(10));
  advance(Millis(10));
  EXPECT_EQ(run("BZPOPMIN z 0"), "(nil)");
  EXPECT_EQ(propagated(), "UNLINK z");
}

}  // namespace zset_pop_test
}  // namespace mayfly
