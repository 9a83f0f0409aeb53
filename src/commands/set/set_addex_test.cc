// SPDX-License-Identifier: Apache-2.0
// SADDEX in both forms: deadlines, conditions, events, and what replicas get.

#include "commands/set/set_fixture.h"

namespace mayfly {
namespace set_addex_test {

class SaddexTest : public SetFixture {
 protected:
  static constexpr std::string_view kBadCount =
      "(error) ERR nummembers should be greater than 0 and match the provided number of members";
  static constexpr std::string_view kBadTime =
      "(error) ERR invalid expire time in 'saddex' command";
  static constexpr std::string_view kArity =
      "(error) ERR wrong number of arguments for 'saddex' command";

  std::string in_seconds(int from_now) const { return in_ms(Millis(from_now * 1000)); }
};
INSTANTIATE_TEST_SUITE_P(Sets, SaddexTest, SetFixture::kForms, SetFixture::name);

TEST_P(SaddexTest, AddsMembersWithADeadline) {
  EXPECT_EQ(run("SADDEX s EX 10 MEMBERS 2 a b"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:s s:sadd:s s:sexpire:s");
  EXPECT_EQ(propagated(), "SADDEX s PXAT " + in_seconds(10) + " MEMBERS 2 a b");
  EXPECT_EQ(changed_keys(), "s");
  EXPECT_EQ(run("STTL s MEMBERS 2 a c"), "[(integer) 10, (integer) -2]");
  EXPECT_EQ(run("SADDEX s PX 500 FIELDS 2 b c"), "(integer) 1");
  EXPECT_EQ(deadline("s", "b"), now() + Millis(500));
  advance(Millis(500));
  EXPECT_EQ(sorted("SMEMBERS s"), "a");
  advance(Millis(9500));
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

TEST_P(SaddexTest, TakesAbsoluteTimes) {
  run("SADDEX s EXAT 1800000020 MEMBERS 1 a");
  EXPECT_EQ(deadline("s", "a"), now() + Millis(20'000));
  run("SADDEX s PXAT " + in_ms(Millis(7)) + " MEMBERS 1 a");
  EXPECT_EQ(deadline("s", "a"), now() + Millis(7));
  EXPECT_EQ(events(), "s:sadd:s s:sexpire:s");
}

TEST_P(SaddexTest, WithoutATimeTheDeadlineIsRemoved) {
  run("SADDEX s EX 10 MEMBERS 2 a b");
  EXPECT_EQ(run("SADDEX s MEMBERS 1 a"), "(integer) 0");
  EXPECT_EQ(events(), "s:sadd:s");
  EXPECT_EQ(propagated(), "SADDEX s MEMBERS 1 a");
  EXPECT_EQ(deadline("s", "a"), kNever);
  EXPECT_EQ(run("SADDEX s KEEPTTL MEMBERS 3 a b c"), "(integer) 1");
  EXPECT_EQ(propagated(), "SADDEX s KEEPTTL MEMBERS 3 a b c");
  EXPECT_EQ(deadline("s", "b"), now() + Millis(10'000));
  EXPECT_EQ(deadline("s", "c"), kNever);
}

TEST_P(SaddexTest, WhatChangesNothingIsNotReported) {
  run("SADDEX s EX 10 MEMBERS 1 b");
  run("SADD s a");
  for (const std::string_view line :
       {"SADDEX s MEMBERS 1 a", "SADDEX s KEEPTTL MEMBERS 2 a b", "SADDEX s EX 10 MEMBERS 1 b",
        "SADDEX s 10 b", "SADDEX s KEEPTTL 99 a b"}) {
    EXPECT_EQ(run(line), "(integer) 0") << line;
    EXPECT_EQ(events() + propagated() + changed_keys(), "") << line;
  }
}

TEST_P(SaddexTest, ConditionsAreAboutTheKeyOrAllMembers) {
  EXPECT_EQ(run("SADDEX s XX MEMBERS 1 a"), "(integer) 0");
  EXPECT_EQ(run("SADDEX s FXX MEMBERS 1 a"), "(integer) 0");
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
  EXPECT_EQ(run("SADDEX s NX MEMBERS 1 a"), "(integer) 1");
  EXPECT_EQ(propagated(), "SADDEX s MEMBERS 1 a");
  EXPECT_EQ(run("SADDEX s NX MEMBERS 1 b"), "(integer) 0");
  EXPECT_EQ(run("SADDEX s XX FNX EX 5 MEMBERS 2 a b"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("SADDEX s XX FNX EX 5 MEMBERS 2 b c"), "(integer) 2");
  EXPECT_EQ(propagated(), "SADDEX s PXAT " + in_seconds(5) + " MEMBERS 2 b c");
  EXPECT_EQ(run("SADDEX s FXX EX 9 MEMBERS 2 a d"), "(integer) 0");
  EXPECT_EQ(deadline("s", "a"), kNever);
  EXPECT_EQ(run("SADDEX s FXX EX 9 MEMBERS 2 a b"), "(integer) 0");
  EXPECT_EQ(deadline("s", "a"), now() + Millis(9000));
}

TEST_P(SaddexTest, ATimeInThePastRemoves) {
  run("SADD s a b");
  EXPECT_EQ(run("SADDEX s EXAT 1 MEMBERS 2 a c"), "(integer) 0");
  EXPECT_EQ(events(), "s:sadd:s s:sexpire:s s:sexpired:s");
  EXPECT_EQ(propagated(), "SREM s a");
  EXPECT_EQ(expired_members(), 2u);
  EXPECT_EQ(run("SADDEX s 0 b"), "(integer) 0");
  EXPECT_EQ(events(), "s:sadd:s s:sexpire:s s:sexpired:s g:del:s");
  EXPECT_EQ(run("SADDEX s KEEPTTL 0 b"), "(integer) 0");
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

TEST_P(SaddexTest, DueMembersAreNew) {
  make_partly_due();
  EXPECT_EQ(run("SADDEX s KEEPTTL MEMBERS 2 x z"), "(integer) 1");
  EXPECT_EQ(events(), "sx:sexpired:s s:sadd:s");
  EXPECT_EQ(propagated(), "SREM s x; SADDEX s KEEPTTL MEMBERS 2 x z");
  EXPECT_EQ(deadline("s", "x"), kNever);
  EXPECT_EQ(run("SADDEX s FXX EX 5 MEMBERS 2 a y"), "(integer) 0");
  EXPECT_EQ(propagated(), "SREM s y");
}

TEST_P(SaddexTest, TheShortFormIsDragonflys) {
  EXPECT_EQ(run("SADDEX s 10 a b"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:s s:sadd:s s:sexpire:s");
  EXPECT_EQ(propagated(), "SADDEX s PXAT " + in_seconds(10) + " MEMBERS 2 a b");
  EXPECT_EQ(run("SADDEX s 20 b c"), "(integer) 1");
  EXPECT_EQ(deadline("s", "b"), now() + Millis(20'000));
  EXPECT_EQ(run("SADDEX s KEEPTTL 30 a d"), "(integer) 1");
  EXPECT_EQ(propagated(), "SADDEX s PXAT " + in_seconds(30) + " MEMBERS 1 d");
  EXPECT_EQ(deadline("s", "a"), now() + Millis(10'000));
  EXPECT_EQ(deadline("s", "d"), now() + Millis(30'000));
  EXPECT_EQ(run("SADDEX t 10 MEMBERS 2 x"), "(integer) 3");  // three members
}

TEST_P(SaddexTest, ChecksItsArguments) {
  EXPECT_EQ(run("SADDEX s 10"), kArity);
  EXPECT_EQ(run("SADDEX s KEEPTTL 10"), kArity);
  EXPECT_EQ(run("SADDEX s MEMBERS 1"), kArity);
  EXPECT_EQ(run("SADDEX s x a b"), kBadCount);
  EXPECT_EQ(run("SADDEX s MEMBERS 2 a"), kBadCount);
  EXPECT_EQ(run("SADDEX s MEMBERS 0 a"), kBadCount);
  EXPECT_EQ(run("SADDEX s MEMBERS x a"), kNoInteger);
  EXPECT_EQ(run("SADDEX s FOO MEMBERS 1 a"), kSyntax);
  EXPECT_EQ(run("SADDEX s NX XX MEMBERS 1 a"), kSyntax);
  EXPECT_EQ(run("SADDEX s EX 10 KEEPTTL MEMBERS 1 a"), kSyntax);
  EXPECT_EQ(run("SADDEX s EX x MEMBERS 1 a"), kNoInteger);
  EXPECT_EQ(run("SADDEX s EX -1 MEMBERS 1 a"), kBadTime);
  EXPECT_EQ(run("SADDEX s -1 a"), kBadTime);
  EXPECT_EQ(run("SADDEX s 9223372036854775807 a"), kBadTime);
  run("SET k v");
  EXPECT_EQ(run("SADDEX k 10 a"), kWrongType);
  EXPECT_EQ(run("SADDEX k EX 10 MEMBERS 1 a"), kWrongType);
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

TEST_P(SaddexTest, AReplicaStoresADeadlineInThePast) {
  context().policy = Policy::show;
  EXPECT_EQ(run("SADDEX s PXAT 1 MEMBERS 1 a"), "(integer) 1");
  EXPECT_EQ(run("SCARD s"), "(integer) 1");
  context().policy = Policy::hide;
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

}  // namespace set_addex_test
}  // namespace mayfly
