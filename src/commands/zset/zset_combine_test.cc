// SPDX-License-Identifier: Apache-2.0
// Unions, intersections and differences of sorted sets, and of sets.

#include "commands/zset/zset_fixture.h"

namespace mayfly {
namespace zset_combine_test {

class ZsetCombineTest : public ZsetFixture {
 protected:
  void make() {
    run("ZADD x 1 a 2 b 3 c");
    run("ZADD y 1 b 2 c 3 d 9 e");
  }
};
INSTANTIATE_TEST_SUITE_P(Zsets, ZsetCombineTest, kBothForms, form_name);

TEST_P(ZsetCombineTest, Unions) {
  make();
  EXPECT_EQ(flat("ZUNION 2 x y"), "a b d c e");
  EXPECT_EQ(flat("ZUNION 2 x y WITHSCORES"), "a 1 b 3 d 3 c 5 e 9");
  EXPECT_EQ(flat("ZUNION 2 x y WEIGHTS 2 -1 WITHSCORES"), "e -9 d -3 a 2 b 3 c 4");
  EXPECT_EQ(flat("ZUNION 2 x y AGGREGATE MIN WITHSCORES"), "a 1 b 1 c 2 d 3 e 9");
  EXPECT_EQ(flat("ZUNION 2 x y aggregate max withscores"), "a 1 b 2 c 3 d 3 e 9");
  EXPECT_EQ(flat("ZUNION 3 x none x WITHSCORES"), "a 2 b 4 c 6");
  EXPECT_EQ(run("ZUNION 1 none"), "[]");
}

TEST_P(ZsetCombineTest, Intersections) {
  make();
  EXPECT_EQ(flat("ZINTER 2 x y WITHSCORES"), "b 3 c 5");
  EXPECT_EQ(flat("ZINTER 2 x y WEIGHTS 10 1 AGGREGATE MAX WITHSCORES"), "b 20 c 30");
  EXPECT_EQ(flat("ZINTER 2 x x WITHSCORES WEIGHTS 1 2"), "a 3 b 6 c 9");
  EXPECT_EQ(run("ZINTER 2 x none"), "[]");
  EXPECT_EQ(run("ZINTERCARD 2 x y"), "(integer) 2");
  EXPECT_EQ(run("ZINTERCARD 2 x y LIMIT 1"), "(integer) 1");
  EXPECT_EQ(run("ZINTERCARD 2 x y LIMIT 0"), "(integer) 2");
  EXPECT_EQ(run("ZINTERCARD 2 x none"), "(integer) 0");
}

TEST_P(ZsetCombineTest, Differences) {
  make();
  EXPECT_EQ(flat("ZDIFF 2 x y WITHSCORES"), "a 1");
  EXPECT_EQ(flat("ZDIFF 2 y x WITHSCORES"), "d 3 e 9");
  EXPECT_EQ(flat("ZDIFF 2 x none"), "a b c");
  EXPECT_EQ(run("ZDIFF 3 x none x"), "[]");
  EXPECT_EQ(run("ZDIFF 2 none x"), "[]");
}

TEST_P(ZsetCombineTest, MembersOfSetsCountOne) {
  make();
  put_set("s", {"a", "z", "c"});
  EXPECT_EQ(flat("ZUNION 2 x s WITHSCORES"), "z 1 a 2 b 2 c 4");
  EXPECT_EQ(flat("ZINTER 2 x s WEIGHTS 1 10 WITHSCORES"), "a 11 c 13");
  EXPECT_EQ(flat("ZDIFF 2 s x WITHSCORES"), "z 1");
  EXPECT_EQ(run("ZINTERCARD 2 s x"), "(integer) 2");
  EXPECT_EQ(run("ZUNIONSTORE s 2 s s"), "(integer) 3");
  EXPECT_EQ(flat("ZRANGE s 0 -1 WITHSCORES"), "a 2 c 2 z 2");
}

TEST_P(ZsetCombineTest, InfinitiesThatCancelAreZero) {
  run("ZADD x inf a 1 b");
  run("ZADD y -inf a 1 b");
  EXPECT_EQ(flat("ZUNION 2 x y WITHSCORES"), "a 0 b 2");
  EXPECT_EQ(flat("ZINTER 2 x y WITHSCORES"), "a 0 b 2");
  EXPECT_EQ(flat("ZUNION 1 x WEIGHTS 0 WITHSCORES"), "a 0 b 0");
}

TEST_P(ZsetCombineTest, Resp3HasPairs) {
  run("ZADD x 1.5 a");
  set_protocol(3);
  EXPECT_EQ(raw({"ZUNION", "1", "x", "WITHSCORES"}), "*1\r\n*2\r\n$1\r\na\r\n,1.5\r\n");
  EXPECT_EQ(raw({"ZDIFF", "1", "x"}), "*1\r\n$1\r\na\r\n");
}

TEST_P(ZsetCombineTest, ResultsAreStored) {
  make();
  EXPECT_EQ(run("ZUNIONSTORE d 2 x y WEIGHTS 1 1 AGGREGATE SUM"), "(integer) 5");
  EXPECT_EQ(events(), "n:new:d z:zunionstore:d");
  EXPECT_EQ(propagated(), "ZUNIONSTORE d 2 x y WEIGHTS 1 1 AGGREGATE SUM");
  EXPECT_EQ(changed_keys(), "d");
  EXPECT_EQ(flat("ZRANGE d 0 -1 WITHSCORES"), "a 1 b 3 d 3 c 5 e 9");
  EXPECT_EQ(run("ZINTERSTORE d 2 x y"), "(integer) 2");
  EXPECT_EQ(events(), "z:zinterstore:d");
  EXPECT_EQ(run("ZDIFFSTORE x 2 x y"), "(integer) 1");
  EXPECT_EQ(events(), "z:zdiffstore:x");
  EXPECT_EQ(flat("ZRANGE x 0 -1 WITHSCORES"), "a 1");
  EXPECT_EQ(run("ZINTERSTORE d 2 x y"), "(integer) 0");
  EXPECT_EQ(events(), "g:del:d");
  EXPECT_EQ(propagated(), "ZINTERSTORE d 2 x y");
  EXPECT_EQ(run("ZINTERSTORE d 2 x y"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  put_string("d");
  EXPECT_EQ(run("ZUNIONSTORE d 1 x"), "(integer) 1");
}

TEST_P(ZsetCombineTest, WrongRequestsAreRefused) {
  make();
  put_string("s");
  EXPECT_EQ(run("ZUNION 0 x"), "(error) ERR at least 1 input key is needed for 'zunion' command");
  EXPECT_EQ(run("ZINTERCARD -1 x"),
            "(error) ERR at least 1 input key is needed for 'zintercard' command");
  EXPECT_EQ(run("ZUNION x x"), kNoInteger);
  EXPECT_EQ(run("ZUNION 3 x y"), kSyntax);
  EXPECT_EQ(run("ZUNION 2 x s FOO"), kWrongType);
  EXPECT_EQ(run("ZUNIONSTORE d 2 x s"), kWrongType);
  EXPECT_EQ(run("ZUNION 2 x y WEIGHTS 1"), kSyntax);
  EXPECT_EQ(run("ZUNION 2 x y WEIGHTS 1 z"), "(error) ERR weight value is not a float");
  EXPECT_EQ(run("ZUNION 2 x y AGGREGATE"), kSyntax);
  EXPECT_EQ(run("ZUNION 2 x y AGGREGATE AVG"), kSyntax);
  EXPECT_EQ(run("ZDIFF 2 x y WEIGHTS 1 1"), kSyntax);
  EXPECT_EQ(run("ZDIFF 2 x y AGGREGATE SUM"), kSyntax);
  EXPECT_EQ(run("ZUNIONSTORE d 1 x WITHSCORES"), kSyntax);
  EXPECT_EQ(run("ZINTERCARD 1 x WITHSCORES"), kSyntax);
  EXPECT_EQ(run("ZINTERCARD 1 x LIMIT -1"), "(error) ERR LIMIT can't be negative");
  EXPECT_EQ(run("ZINTERCARD 1 x LIMIT a"), "(error) ERR LIMIT can't be negative");
  EXPECT_EQ(run("ZINTERCARD 1 x LIMIT"), kSyntax);
}

// ---- Deadlines ----

TEST_P(ZsetCombineTest, OnlyTheLivingAreCombined) {
  make_partly_due();
  run("ZADD o 1 x 1 y 1 a 1 l");
  EXPECT_EQ(flat("ZUNION 1 z"), "a b c l");
  EXPECT_EQ(flat("ZINTER 2 o z WITHSCORES"), "a 2 l 8");
  EXPECT_EQ(run("ZINTERCARD 2 z o"), "(integer) 2");
  EXPECT_EQ(flat("ZDIFF 2 o z"), "x y");
  EXPECT_EQ(flat("ZDIFF 2 z o"), "b c");
}

TEST_P(ZsetCombineTest, ResultsOfWhatHasDeadlinesArePropagatedAndHaveNone) {
  make_partly_due();
  run("ZADD o 0.1 a");
  EXPECT_EQ(run("ZUNIONSTORE d 2 z o"), "(integer) 4");
  EXPECT_EQ(propagated(), "DEL d; ZADD d 1.1 a 2 b 3 c 7 l");
  EXPECT_EQ(deadline_of("d", "l"), kNever);
  EXPECT_EQ(run("ZUNIONSTORE z 1 z"), "(integer) 4");
  EXPECT_EQ(propagated(), "DEL z; ZADD z 1 a 2 b 3 c 7 l");
  EXPECT_EQ(deadline_of("z", "l"), kNever);
  EXPECT_EQ(run("ZUNIONSTORE z 1 z"), "(integer) 4");
  EXPECT_EQ(propagated(), "ZUNIONSTORE z 1 z");
}

TEST_P(ZsetCombineTest, LargeResultsArePropagatedInParts) {
  std::string line = "ZADD z";
  for (int i = 0; i < 300; ++i) line += " 1 m" + std::to_string(i);
  run(line);
  expire_in("z", "m0", Millis(1000));
  EXPECT_EQ(run("ZUNIONSTORE d 1 z"), "(integer) 300");
  const std::string sent = propagated();
  EXPECT_EQ(std::ranges::count(sent, ';'), 3) << sent;  // DEL, and 128 + 128 + 44
  EXPECT_EQ(run("ZREMRANGEBYRANK z 0 298"), "(integer) 299");
  EXPECT_EQ(std::ranges::count(propagated(), ';'), 2);
}

}  // namespace zset_combine_test
}  // namespace mayfly
