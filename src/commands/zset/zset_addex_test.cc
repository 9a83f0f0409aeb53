// SPDX-License-Identifier: Apache-2.0
// ZADDEX: conditions, deadlines, events, and what is propagated.

#include "commands/zset/zset_fixture.h"

namespace mayfly {
namespace zset_addex_test {

class ZsetAddexTest : public ZsetFixture {};
INSTANTIATE_TEST_SUITE_P(Zsets, ZsetAddexTest, kBothForms, form_name);

TEST_P(ZsetAddexTest, AddsMembersWithADeadline) {
  EXPECT_EQ(run("ZADDEX z EX 10 MEMBERS 2 1 a 2 b"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:z z:zadd:z z:zexpire:z");
  EXPECT_EQ(propagated(), "ZADDEX z PXAT " + in_ms(Millis(10'000)) + " MEMBERS 2 1 a 2 b");
  EXPECT_EQ(deadline_of("z", "a"), now() + Millis(10'000));
  EXPECT_EQ(run("ZADDEX z PX 500 FIELDS 2 5 a 0.5 c"), "(integer) 1");
  EXPECT_EQ(deadline_of("z", "a"), now() + Millis(500));
  advance(Millis(500));
  EXPECT_EQ(flat("ZRANGE z 0 -1 WITHSCORES"), "b 2");
}

TEST_P(ZsetAddexTest, WithoutATimeDeadlinesAreRemoved) {
  run("ZADDEX z EX 10 MEMBERS 2 1 a 1 b");
  EXPECT_EQ(run("ZADDEX z CH MEMBERS 1 1 a"), "(integer) 1");
  EXPECT_EQ(events(), "z:zadd:z");
  EXPECT_EQ(propagated(), "ZADDEX z CH MEMBERS 1 1 a");
  EXPECT_EQ(deadline_of("z", "a"), kNever);
  EXPECT_EQ(run("ZADDEX z CH MEMBERS 1 1 a"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("ZADDEX z CH KEEPTTL MEMBERS 2 3 a 3 b"), "(integer) 2");
  EXPECT_EQ(propagated(), "ZADDEX z CH KEEPTTL MEMBERS 2 3 a 3 b");
  EXPECT_EQ(deadline_of("z", "b"), now() + Millis(10'000));
}

TEST_P(ZsetAddexTest, ConditionsAreAboutAllOrNone) {
  EXPECT_EQ(run("ZADDEX z XX MEMBERS 1 1 a"), "(integer) 0");
  EXPECT_EQ(run("ZADDEX z FXX MEMBERS 1 1 a"), "(integer) 0");
  EXPECT_EQ(run("EXISTS z"), "(integer) 0");
  EXPECT_EQ(run("ZADDEX z NX MEMBERS 1 1 a"), "(integer) 1");
  EXPECT_EQ(propagated(), "ZADDEX z MEMBERS 1 1 a");
  EXPECT_EQ(run("ZADDEX z NX MEMBERS 1 1 b"), "(integer) 0");
  EXPECT_EQ(run("ZADDEX z FNX MEMBERS 2 1 a 1 b"), "(integer) 0");
  EXPECT_EQ(run("ZADDEX z FXX MEMBERS 2 1 a 1 b"), "(integer) 0");
  EXPECT_EQ(run("ZADDEX z FNX MEMBERS 1 1 b"), "(integer) 1");
  EXPECT_EQ(run("ZADDEX z XX FXX CH MEMBERS 2 2 a 2 b"), "(integer) 2");
  EXPECT_EQ(flat("ZRANGE z 0 -1 WITHSCORES"), "a 2 b 2");
}

TEST_P(ZsetAddexTest, ComparisonsAreAboutEachMember) {
  run("ZADDEX z EX 10 MEMBERS 2 5 a 5 b");
  EXPECT_EQ(run("ZADDEX z GT CH EX 20 MEMBERS 3 4 a 6 b 1 c"), "(integer) 2");
  EXPECT_EQ(propagated(), "ZADDEX z PXAT " + in_ms(Millis(20'000)) + " MEMBERS 2 6 b 1 c");
  EXPECT_EQ(deadline_of("z", "a"), now() + Millis(10'000));
  EXPECT_EQ(deadline_of("z", "b"), now() + Millis(20'000));
  EXPECT_EQ(run("ZADDEX z LT CH KEEPTTL MEMBERS 2 4 a 7 b"), "(integer) 1");
  EXPECT_EQ(propagated(), "ZADDEX z KEEPTTL MEMBERS 1 4 a");
  EXPECT_EQ(run("ZADDEX z LT CH MEMBERS 1 9 a"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
}

TEST_P(ZsetAddexTest, ATimeInThePastRemoves) {
  run("ZADD z 1 a 2 b");
  EXPECT_EQ(run("ZADDEX z PXAT 1 MEMBERS 2 1 a 1 c"), "(integer) 0");
  EXPECT_EQ(events(), "z:zadd:z z:zexpire:z z:zexpired:z");
  EXPECT_EQ(propagated(), "ZREM z a");
  EXPECT_EQ(flat("ZRANGE z 0 -1"), "b");
  EXPECT_EQ(run("ZADDEX n EX 0 MEMBERS 1 1 a"), "(integer) 0");
  EXPECT_EQ(run("EXISTS n"), "(integer) 0");
}

TEST_P(ZsetAddexTest, WhatIsDueIsNew) {
  run("ZADDEX z PX 100 MEMBERS 1 1 a");
  run("ZADD z 1 b");
  advance(Millis(100));
  EXPECT_EQ(run("ZADDEX z FNX KEEPTTL MEMBERS 1 2 a"), "(integer) 1");
  EXPECT_EQ(events(), "zx:zexpired:z z:zadd:z");
  EXPECT_EQ(propagated(), "ZREM z a; ZADDEX z KEEPTTL MEMBERS 1 2 a");
  EXPECT_EQ(deadline_of("z", "a"), kNever);
}

TEST_P(ZsetAddexTest, WrongRequestsAreRefused) {
  put_string("s");
  EXPECT_EQ(run("ZADDEX s MEMBERS 1 1 a"), kWrongType);
  EXPECT_EQ(run("ZADDEX z MEMBERS 1 x a"), kNoFloat);
  EXPECT_EQ(run("ZADDEX z MEMBERS 1 nan a"), kNoFloat);
  EXPECT_EQ(run("ZADDEX z GT LT MEMBERS 1 1 a"),
            "(error) ERR GT, LT, and/or FNX options at the same time are not compatible");
  EXPECT_EQ(run("ZADDEX z FNX LT MEMBERS 1 1 a"),
            "(error) ERR GT, LT, and/or FNX options at the same time are not compatible");
  EXPECT_EQ(run("ZADDEX z INCR MEMBERS 1 1 a"), kSyntax);
  EXPECT_EQ(run("ZADDEX z EX 10 KEEPTTL MEMBERS 1 1 a"), kSyntax);
  EXPECT_EQ(run("ZADDEX z NX XX MEMBERS 1 1 a"), kSyntax);
  EXPECT_EQ(run("ZADDEX z EX -1 MEMBERS 1 1 a"), time_error("zaddex"));
  for (const std::string list : {"2 1 a", "0 1 a", "1 1 a 2", "1 1 a 2 b"}) {
    EXPECT_EQ(run("ZADDEX z MEMBERS " + list),
              "(error) ERR nummembers should be greater than 0 and match the provided number of "
              "members")
        << list;
  }
}

}  // namespace zset_addex_test
}  // namespace mayfly
