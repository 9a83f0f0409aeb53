// SPDX-License-Identifier: Apache-2.0
// Reading sorted sets: scores, ranks, counts, and ranges in all forms.

#include "commands/zset/zset_fixture.h"

namespace mayfly {
namespace zset_range_test {

class ZsetRangeTest : public ZsetFixture {
 protected:
  void make() { run("ZADD z 1 a 2 b 3 c 4 d 5 e"); }
  void make_equal() { run("ZADD n 0 a 0 b 0 c 0 d 0 e"); }
};
INSTANTIATE_TEST_SUITE_P(Zsets, ZsetRangeTest, kBothForms, form_name);

TEST_P(ZsetRangeTest, ScoresAndRanks) {
  make();
  EXPECT_EQ(run("ZCARD z"), "(integer) 5");
  EXPECT_EQ(run("ZSCORE z c"), "\"3\"");
  EXPECT_EQ(run("ZSCORE z x"), "(nil)");
  EXPECT_EQ(run("ZMSCORE z c x a"), "[\"3\", (nil), \"1\"]");
  EXPECT_EQ(run("ZRANK z a"), "(integer) 0");
  EXPECT_EQ(run("ZRANK z e"), "(integer) 4");
  EXPECT_EQ(run("ZREVRANK z e"), "(integer) 0");
  EXPECT_EQ(run("ZRANK z b WITHSCORE"), "[(integer) 1, \"2\"]");
  EXPECT_EQ(run("ZREVRANK z b withscore"), "[(integer) 3, \"2\"]");
  EXPECT_EQ(run("ZRANK z x"), "(nil)");
  EXPECT_EQ(raw({"ZRANK", "z", "x", "WITHSCORE"}), "*-1\r\n");
  EXPECT_EQ(raw({"ZRANK", "none", "x"}), "$-1\r\n");
  EXPECT_EQ(run("ZRANK z x y"), kSyntax);
  EXPECT_EQ(run("ZRANK z x withscore y"), arity_error("zrank"));
}

TEST_P(ZsetRangeTest, MissingKeysAreEmpty) {
  EXPECT_EQ(run("ZCARD z"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:z");
  EXPECT_EQ(run("ZSCORE z a"), "(nil)");
  EXPECT_EQ(run("ZMSCORE z a b"), "[(nil), (nil)]");
  EXPECT_EQ(run("ZRANGE z 0 -1"), "[]");
  EXPECT_EQ(run("ZCOUNT z 0 1"), "(integer) 0");
  EXPECT_EQ(run("ZLEXCOUNT z - +"), "(integer) 0");
}

TEST_P(ZsetRangeTest, WrongTypesAreRefused) {
  put_string("s");
  for (const std::string line :
       {"ZCARD s", "ZSCORE s a", "ZMSCORE s a", "ZRANK s a", "ZREVRANK s a", "ZCOUNT s 0 1",
        "ZLEXCOUNT s - +", "ZRANGE s 0 1", "ZREVRANGE s 0 1", "ZRANGEBYSCORE s 0 1",
        "ZREVRANGEBYSCORE s 1 0", "ZRANGEBYLEX s - +", "ZREVRANGEBYLEX s + -",
        "ZRANGESTORE t s 0 1"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
  }
}

TEST_P(ZsetRangeTest, ByRank) {
  make();
  EXPECT_EQ(flat("ZRANGE z 0 -1"), "a b c d e");
  EXPECT_EQ(flat("ZRANGE z 1 2 WITHSCORES"), "b 2 c 3");
  EXPECT_EQ(flat("ZRANGE z -2 99"), "d e");
  EXPECT_EQ(flat("ZRANGE z -99 0"), "a");
  EXPECT_EQ(run("ZRANGE z 3 2"), "[]");
  EXPECT_EQ(run("ZRANGE z 5 9"), "[]");
  EXPECT_EQ(run("ZRANGE z 0 -6"), "[]");
  EXPECT_EQ(flat("ZRANGE z 0 1 REV"), "e d");
  EXPECT_EQ(flat("ZREVRANGE z 1 3 WITHSCORES"), "d 4 c 3 b 2");
  EXPECT_EQ(flat("ZRANGE z -9223372036854775808 9223372036854775807"), "a b c d e");
  EXPECT_EQ(flat("ZRANGE z 0 -1 LIMIT 1 -1"), "a b c d e");
}

TEST_P(ZsetRangeTest, ByScore) {
  make();
  EXPECT_EQ(flat("ZRANGEBYSCORE z 2 4"), "b c d");
  EXPECT_EQ(flat("ZRANGEBYSCORE z (2 (4"), "c");
  EXPECT_EQ(flat("ZRANGEBYSCORE z -inf +inf WITHSCORES LIMIT 1 2"), "b 2 c 3");
  EXPECT_EQ(flat("ZRANGEBYSCORE z 1 5 LIMIT 3 -1"), "d e");
  EXPECT_EQ(run("ZRANGEBYSCORE z 1 5 LIMIT 9 1"), "[]");
  EXPECT_EQ(run("ZRANGEBYSCORE z 1 5 LIMIT -1 2"), "[]");
  EXPECT_EQ(run("ZRANGEBYSCORE z 1 5 LIMIT 0 0"), "[]");
  EXPECT_EQ(run("ZRANGEBYSCORE z 4 2"), "[]");
  EXPECT_EQ(flat("ZREVRANGEBYSCORE z 4 2 LIMIT 1 5"), "c b");
  EXPECT_EQ(flat("ZREVRANGEBYSCORE z +inf -inf LIMIT 1 2 WITHSCORES"), "d 4 c 3");
  EXPECT_EQ(flat("ZRANGE z (1 3 BYSCORE"), "b c");
  EXPECT_EQ(flat("ZRANGE z (3 1 BYSCORE REV LIMIT 0 1"), "b");
  EXPECT_EQ(run("ZCOUNT z (1 3"), "(integer) 2");
  EXPECT_EQ(run("ZCOUNT z 3 1"), "(integer) 0");
  EXPECT_EQ(run({"ZCOUNT", "z", "", " 3"}), "(integer) 3");
  EXPECT_EQ(run("ZCOUNT z ( 1e400"), "(integer) 5");
}

TEST_P(ZsetRangeTest, ByName) {
  make_equal();
  EXPECT_EQ(flat("ZRANGEBYLEX n - +"), "a b c d e");
  EXPECT_EQ(flat("ZRANGEBYLEX n [b (d"), "b c");
  EXPECT_EQ(flat("ZRANGEBYLEX n (b [bb"), "");
  EXPECT_EQ(run("ZRANGEBYLEX n + -"), "[]");
  EXPECT_EQ(flat("ZRANGEBYLEX n - + LIMIT 1 2"), "b c");
  EXPECT_EQ(flat("ZREVRANGEBYLEX n (d [a LIMIT 1 9"), "b a");
  EXPECT_EQ(flat("ZRANGE n [c + BYLEX"), "c d e");
  EXPECT_EQ(flat("ZRANGE n + [d BYLEX REV"), "e d");
  EXPECT_EQ(run("ZLEXCOUNT n [b +"), "(integer) 4");
  EXPECT_EQ(run("ZLEXCOUNT n [ ("), "(integer) 0");
}

TEST_P(ZsetRangeTest, WrongRequestsAreRefused) {
  make();
  const std::string no_float = "(error) ERR min or max is not a float";
  const std::string no_name = "(error) ERR min or max not valid string range item";
  for (const std::string words : {"x 1", "1 x", "nan 1", "(nan 1", "1 1a"}) {
    EXPECT_EQ(run("ZRANGEBYSCORE z " + words), no_float) << words;
    EXPECT_EQ(run("ZCOUNT z " + words), no_float) << words;
  }
  for (const std::string words : {"a +", "- b", "-x +", "- ++"}) {
    EXPECT_EQ(run("ZRANGE z " + words + " BYLEX"), no_name) << words;
    EXPECT_EQ(run("ZLEXCOUNT z " + words), no_name) << words;
  }
  EXPECT_EQ(run("ZRANGE z a 1"), kNoInteger);
  EXPECT_EQ(run("ZRANGE z 0 1 LIMIT x 1"), kNoInteger);
  EXPECT_EQ(run("ZRANGE z 0 1 LIMIT 1"), kSyntax);
  EXPECT_EQ(run("ZRANGE z 0 1 BYLEX BYSCORE"), kSyntax);
  EXPECT_EQ(run("ZRANGE z 0 1 REV REV"), kSyntax);
  EXPECT_EQ(run("ZREVRANGE z 0 1 REV"), kSyntax);
  EXPECT_EQ(run("ZRANGEBYSCORE z 0 1 BYLEX"), kSyntax);
  EXPECT_EQ(run("ZRANGE z 0 1 LIMIT 0 1"),
            "(error) ERR syntax error, LIMIT is only supported in combination with either BYSCORE "
            "or BYLEX");
  EXPECT_EQ(run("ZRANGE z - + BYLEX WITHSCORES"),
            "(error) ERR syntax error, WITHSCORES not supported in combination with BYLEX");
  EXPECT_EQ(run("ZRANGESTORE t z 0 -1 WITHSCORES"), kSyntax);
}

TEST_P(ZsetRangeTest, Resp3HasPairs) {
  run("ZADD z 1.5 a 2 b");
  set_protocol(3);
  EXPECT_EQ(raw({"ZRANGE", "z", "0", "-1", "WITHSCORES"}),
            "*2\r\n*2\r\n$1\r\na\r\n,1.5\r\n*2\r\n$1\r\nb\r\n,2\r\n");
  EXPECT_EQ(raw({"ZRANGE", "z", "0", "-1"}), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  EXPECT_EQ(raw({"ZRANK", "z", "b", "WITHSCORE"}), "*2\r\n:1\r\n,2\r\n");
  EXPECT_EQ(raw({"ZMSCORE", "z", "a", "x"}), "*2\r\n,1.5\r\n_\r\n");
}

TEST_P(ZsetRangeTest, ZrangestoreReplacesTheTarget) {
  make();
  EXPECT_EQ(run("ZRANGESTORE t z 1 2"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:t z:zrangestore:t");
  EXPECT_EQ(propagated(), "ZRANGESTORE t z 1 2");
  EXPECT_EQ(flat("ZRANGE t 0 -1 WITHSCORES"), "b 2 c 3");
  put_string("t");
  EXPECT_EQ(run("ZRANGESTORE t z 5 4 BYSCORE REV LIMIT 0 1"), "(integer) 1");
  EXPECT_EQ(events(), "z:zrangestore:t");
  EXPECT_EQ(flat("ZRANGE t 0 -1"), "e");
  EXPECT_EQ(run("ZRANGESTORE z z 0 1"), "(integer) 2");
  EXPECT_EQ(flat("ZRANGE z 0 -1 WITHSCORES"), "a 1 b 2");
  EXPECT_EQ(run("ZRANGESTORE t none 0 1"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:none g:del:t");
  EXPECT_EQ(run("ZRANGESTORE t none 0 1"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
}

// ---- Deadlines ----

TEST_P(ZsetRangeTest, OnlyTheLivingCount) {
  make_partly_due();
  EXPECT_EQ(run("ZCARD z"), "(integer) 4");
  EXPECT_EQ(run("ZSCORE z x"), "(nil)");
  EXPECT_EQ(run("ZRANK z a"), "(integer) 0");
  EXPECT_EQ(run("ZREVRANK z l"), "(integer) 0");
  EXPECT_EQ(run("ZRANK z y"), "(nil)");
  EXPECT_EQ(run("ZCOUNT z -inf +inf"), "(integer) 4");
  EXPECT_EQ(run("ZCOUNT z 2 2"), "(integer) 1");
  EXPECT_EQ(flat("ZRANGE z 0 -1 WITHSCORES"), "a 1 b 2 c 3 l 7");
  EXPECT_EQ(flat("ZREVRANGEBYSCORE z 10 2 LIMIT 1 1"), "c");
  EXPECT_EQ(run("ZLEXCOUNT z - +"), "(integer) 4");
  advance(Millis(60'000));
  EXPECT_EQ(flat("ZREVRANGE z 0 0"), "c");
}

TEST_P(ZsetRangeTest, StoredRangesHaveNoDeadlines) {
  make_partly_due();
  EXPECT_EQ(run("ZRANGESTORE t z 0 -1"), "(integer) 4");
  EXPECT_TRUE(propagated().ends_with("DEL t; ZADD t 1 a 2 b 3 c 7 l")) << propagated();
  EXPECT_EQ(deadline_of("t", "l"), kNever);
  EXPECT_EQ(run("ZRANGESTORE t z 9 9 BYSCORE"), "(integer) 0");
  EXPECT_EQ(propagated(), "DEL t");
}

}  // namespace zset_range_test
}  // namespace mayfly
