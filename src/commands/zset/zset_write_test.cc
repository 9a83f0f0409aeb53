// SPDX-License-Identifier: Apache-2.0
// ZADD, ZINCRBY, ZREM and the removal of ranges: replies, events, deadlines, and propagation.

#include "commands/zset/zset_fixture.h"

namespace mayfly {
namespace zset_write_test {

class ZsetWriteTest : public ZsetFixture {};
INSTANTIATE_TEST_SUITE_P(Zsets, ZsetWriteTest, kBothForms, form_name);

TEST_P(ZsetWriteTest, ZaddCountsNewMembers) {
  EXPECT_EQ(run("ZADD z 1 a 2 b"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:z z:zadd:z");
  EXPECT_EQ(propagated(), "ZADD z 1 a 2 b");
  EXPECT_EQ(changed_keys(), "z");
  EXPECT_EQ(run("ZADD z 3 a 4 c"), "(integer) 1");
  EXPECT_EQ(events(), "z:zadd:z");
  EXPECT_EQ(run("ZADD z 1 d 2 d"), "(integer) 1");
  EXPECT_EQ(flat("ZRANGE z 0 -1 WITHSCORES"), "b 2 d 2 a 3 c 4");
}

TEST_P(ZsetWriteTest, ZaddOfTheSameScoreIsNoChange) {
  run("ZADD z 1 a");
  EXPECT_EQ(run("ZADD z 1 a"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("ZADD z CH 1 a 2 b"), "(integer) 1");
  EXPECT_EQ(run("ZADD z CH 5 a 2 b 6 c"), "(integer) 2");
  EXPECT_EQ(run("ZADD z INCR 0 a"), "\"5\"");
  EXPECT_EQ(events(), "");
}

TEST_P(ZsetWriteTest, ZaddChecksConditions) {
  EXPECT_EQ(run("ZADD z XX 1 a"), "(integer) 0");
  EXPECT_EQ(run("EXISTS z"), "(integer) 0");
  EXPECT_EQ(run("ZADD z NX 1 a 1 b"), "(integer) 2");
  EXPECT_EQ(run("ZADD z NX CH 5 a 1 c"), "(integer) 1");
  EXPECT_EQ(run("ZADD z XX CH 5 a 1 d"), "(integer) 1");
  EXPECT_EQ(run("ZADD z GT CH 4 a 2 b 9 e"), "(integer) 2");
  EXPECT_EQ(run("ZADD z LT CH 4 a 3 b 0 f"), "(integer) 2");
  EXPECT_EQ(run("ZADD z XX GT CH 7 a 9 g"), "(integer) 1");
  EXPECT_EQ(flat("ZRANGE z 0 -1 WITHSCORES"), "f 0 c 1 b 2 a 7 e 9");
  EXPECT_EQ(run("ZADD z NX INCR 1 a"), "(nil)");
  EXPECT_EQ(run("ZADD z XX INCR 1 n"), "(nil)");
  EXPECT_EQ(run("ZADD n XX INCR 1 n"), "(nil)");
  EXPECT_EQ(run("ZADD z GT INCR -1 a"), "(nil)");
  EXPECT_EQ(run("ZADD z LT INCR -1 a"), "\"6\"");
  EXPECT_EQ(events(), "z:zincr:z");
  EXPECT_EQ(run("ZADD z INCR 2.5 new"), "\"2.5\"");
}

TEST_P(ZsetWriteTest, ZaddRefusesWhatMakesNoSense) {
  EXPECT_EQ(run("ZADD z 1"), arity_error("zadd"));
  EXPECT_EQ(run("ZADD z 1 a 2"), kSyntax);
  EXPECT_EQ(run("ZADD z NX CH"), kSyntax);
  EXPECT_EQ(run("ZADD z NX XX 1 a"),
            "(error) ERR XX and NX options at the same time are not compatible");
  for (const std::string options : {"GT LT", "NX GT", "LT NX"}) {
    EXPECT_EQ(run("ZADD z " + options + " 1 a"),
              "(error) ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  EXPECT_EQ(run("ZADD z INCR 1 a 2 b"),
            "(error) ERR INCR option supports a single increment-element pair");
  for (const std::string score : {"x", "nan", "1e400", "1a", "--1", "-nan"}) {
    EXPECT_EQ(run("ZADD z 1 a " + score + " b"), kNoFloat) << score;
    EXPECT_EQ(run("ZINCRBY z " + score + " b"), kNoFloat) << score;
  }
  EXPECT_EQ(run({"ZADD", "z", "", "a"}), kNoFloat);
  EXPECT_EQ(run({"ZADD", "z", " 1", "a"}), kNoFloat);
  EXPECT_EQ(run("ZINCRBY z gt a"), kSyntax);
  EXPECT_EQ(run("EXISTS z"), "(integer) 0");
  put_string("s");
  for (const std::string line : {"ZADD s 1 a", "ZINCRBY s 1 a", "ZREM s a", "ZREMRANGEBYRANK s 0 1",
                                 "ZREMRANGEBYSCORE s 0 1", "ZREMRANGEBYLEX s - +"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
  }
}

TEST_P(ZsetWriteTest, ScoresAreWrittenAsValkeyWritesThem) {
  const auto score_of = [&](std::string_view text) {
    EXPECT_EQ(run({"ZADD", "f", "CH", text, "m"}).find("(error)"), std::string::npos) << text;
    return run("ZSCORE f m");
  };
  run("ZADD f 77 m");
  EXPECT_EQ(score_of("3"), "\"3\"");
  EXPECT_EQ(score_of("-17"), "\"-17\"");
  EXPECT_EQ(score_of("1.5"), "\"1.5\"");
  EXPECT_EQ(score_of("0.1"), "\"0.1\"");
  EXPECT_EQ(score_of("1e20"), "\"1e+20\"");
  EXPECT_EQ(score_of("1e17"), "\"100000000000000000\"");
  EXPECT_EQ(score_of("1e+300"), "\"1e+300\"");
  EXPECT_EQ(score_of("1.7976931348623157e308"), "\"1.7976931348623157e+308\"");
  EXPECT_EQ(score_of("0.30000000000000004"), "\"0.30000000000000004\"");
  EXPECT_EQ(score_of("0x1p3"), "\"8\"");
  EXPECT_EQ(score_of("+5"), "\"5\"");
  EXPECT_EQ(score_of(".5"), "\"0.5\"");
  EXPECT_EQ(score_of("9007199254740993"), "\"9007199254740992\"");
  for (const std::string_view text : {"inf", "+inf", "Infinity"}) {
    EXPECT_EQ(score_of(text), "\"inf\"");
  }
  EXPECT_EQ(score_of("-inf"), "\"-inf\"");
  EXPECT_EQ(score_of("-0"), "\"0\"");
  set_protocol(3);
  EXPECT_EQ(raw({"ZSCORE", "f", "m"}), ",0\r\n");
  run("ZADD f 0.1 m");
  EXPECT_EQ(raw({"ZSCORE", "f", "m"}), ",0.1\r\n");
  EXPECT_EQ(raw({"ZINCRBY", "f", "0.2", "m"}), ",0.30000000000000004\r\n");
  EXPECT_EQ(raw({"ZADD", "f", "XX", "INCR", "1", "n"}), "_\r\n");
}

TEST_P(ZsetWriteTest, IncrementsAddUp) {
  EXPECT_EQ(run("ZINCRBY z 2 a"), "\"2\"");
  EXPECT_EQ(events(), "n:new:z z:zincr:z");
  EXPECT_EQ(propagated(), "ZINCRBY z 2 a");
  EXPECT_EQ(run("ZINCRBY z -3.5 a"), "\"-1.5\"");
  EXPECT_EQ(run("ZADD z INCR inf a"), "\"inf\"");
  EXPECT_EQ(run("ZINCRBY z -inf a"), "(error) ERR resulting score is not a number (NaN)");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("ZSCORE z a"), "\"inf\"");
}

TEST_P(ZsetWriteTest, ZremRemovesTheKeyWithItsLastMember) {
  run("ZADD z 1 a 2 b 3 c");
  EXPECT_EQ(run("ZREM z a x a"), "(integer) 1");
  EXPECT_EQ(events(), "z:zrem:z");
  EXPECT_EQ(propagated(), "ZREM z a x a");
  EXPECT_EQ(run("ZREM z x"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("ZREM z b c"), "(integer) 2");
  EXPECT_EQ(events(), "z:zrem:z g:del:z");
  EXPECT_EQ(run("ZREM z b"), "(integer) 0");
}

TEST_P(ZsetWriteTest, RangesAreRemoved) {
  run("ZADD z 1 a 2 b 3 c 4 d 5 e 6 f");
  EXPECT_EQ(run("ZREMRANGEBYRANK z 1 2"), "(integer) 2");
  EXPECT_EQ(events(), "z:zremrangebyrank:z");
  EXPECT_EQ(propagated(), "ZREMRANGEBYRANK z 1 2");
  EXPECT_EQ(run("ZREMRANGEBYRANK z 5 9"), "(integer) 0");
  EXPECT_EQ(run("ZREMRANGEBYSCORE z (4 5"), "(integer) 1");
  EXPECT_EQ(events(), "z:zremrangebyscore:z");
  EXPECT_EQ(flat("ZRANGE z 0 -1"), "a d f");
  EXPECT_EQ(run("ZREMRANGEBYLEX z [d (f"), "(integer) 1");
  EXPECT_EQ(events(), "z:zremrangebylex:z");
  EXPECT_EQ(run("ZREMRANGEBYRANK z -2 -1"), "(integer) 2");
  EXPECT_EQ(events(), "z:zremrangebyrank:z g:del:z");
  EXPECT_EQ(run("ZREMRANGEBYRANK z 0 -1"), "(integer) 0");
  EXPECT_EQ(run("ZREMRANGEBYRANK z a 1"), kNoInteger);
  EXPECT_EQ(run("ZREMRANGEBYSCORE z a 1"), "(error) ERR min or max is not a float");
  EXPECT_EQ(run("ZREMRANGEBYLEX z a b"), "(error) ERR min or max not valid string range item");
}

// ---- Deadlines ----

TEST_P(ZsetWriteTest, ZaddAndZincrbyKeepDeadlines) {
  run("ZADD z 1 a 1 b");
  expire_in("z", "a", Millis(1000));
  run("ZADD z 5 a");
  EXPECT_EQ(deadline_of("z", "a"), now() + Millis(1000));
  run("ZINCRBY z 5 a");
  EXPECT_EQ(deadline_of("z", "a"), now() + Millis(1000));
  advance(Millis(1000));
  EXPECT_EQ(run("ZADD z 3 a"), "(integer) 1");
  EXPECT_EQ(events(), "zx:zexpired:z z:zadd:z");
  EXPECT_EQ(propagated(), "ZREM z a; ZADD z 3 a");
  EXPECT_EQ(deadline_of("z", "a"), kNever);
}

TEST_P(ZsetWriteTest, ResultsArePropagatedWhereMembersHaveDeadlines) {
  make_partly_due();
  EXPECT_EQ(run("ZADD z NX 1 a 0.1 x"), "(integer) 1");
  EXPECT_EQ(propagated(), "ZREM z x; ZADD z 0.1 x");
  EXPECT_EQ(run("ZADD z GT CH 5 a 1 b 0 y"), "(integer) 2");
  EXPECT_EQ(propagated(), "ZREM z y; ZADD z 5 a 0 y");
  EXPECT_EQ(run("ZADD z XX CH 9 w 4 c"), "(integer) 1");
  EXPECT_EQ(propagated(), "ZREM z w; ZADD z 4 c");
  EXPECT_EQ(run("ZINCRBY z 0.2 x"), "\"0.30000000000000004\"");
  EXPECT_EQ(propagated(), "ZADD z 0.30000000000000004 x");
  EXPECT_EQ(run("ZADD z LT 9 l"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
}

TEST_P(ZsetWriteTest, ZremOfWhatIsDueRemovesNothing) {
  make_partly_due();
  EXPECT_EQ(run("ZREM z x"), "(integer) 0");
  EXPECT_EQ(events(), "zx:zexpired:z");
  EXPECT_EQ(propagated(), "ZREM z x");
  EXPECT_EQ(run("ZREM z a b c l"), "(integer) 4");
  EXPECT_EQ(run("EXISTS z"), "(integer) 0");
}

TEST_P(ZsetWriteTest, RemovedRangesCountTheLiving) {
  make_partly_due();
  EXPECT_EQ(run("ZREMRANGEBYRANK z 0 0"), "(integer) 1");
  EXPECT_TRUE(propagated().ends_with("ZREM z a")) << propagated();
  EXPECT_EQ(run("ZREMRANGEBYSCORE z 2 7"), "(integer) 3");
  EXPECT_EQ(run("EXISTS z"), "(integer) 0");
}

TEST_P(ZsetWriteTest, AReplicaShowsWhatItsPrimarySees) {
  make_partly_due();
  context().policy = Policy::show;
  EXPECT_EQ(run("ZREM z x"), "(integer) 1");
  EXPECT_EQ(run("ZADD z 4 y"), "(integer) 0");
  EXPECT_EQ(run("ZREMRANGEBYRANK z 0 -1"), "(integer) 6");
  context().policy = Policy::reclaim;
  make_partly_due();
  context().policy = Policy::hide;
  EXPECT_EQ(run("ZCARD z"), "(integer) 4");
  EXPECT_EQ(run("ZRANK z a"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(database().members(context(), database().peek(context(), "z")).stored(), 7u);
}

}  // namespace zset_write_test
}  // namespace mayfly
