// SPDX-License-Identifier: Apache-2.0
// Intersections, unions and differences: replies, what is stored, and members that are due.

#include "commands/set/set_fixture.h"

namespace mayfly {
namespace set_algebra_test {

class SetAlgebraTest : public SetFixture {
 protected:
  void make_three() {
    run("SADD a 1 2 3 4 x");
    run("SADD b 3 4 5 x");
    run("SADD c 4 6 x");
  }
};
INSTANTIATE_TEST_SUITE_P(Sets, SetAlgebraTest, SetFixture::kForms, SetFixture::name);

// ---- Reading ----

TEST_P(SetAlgebraTest, CombinesSets) {
  make_three();
  EXPECT_EQ(sorted("SINTER a b"), "3 4 x");
  EXPECT_EQ(sorted("SINTER c b a"), "4 x");
  EXPECT_EQ(sorted("SINTER a"), "1 2 3 4 x");
  EXPECT_EQ(sorted("SUNION a b c"), "1 2 3 4 5 6 x");
  EXPECT_EQ(sorted("SUNION c"), "4 6 x");
  EXPECT_EQ(sorted("SDIFF a b c"), "1 2");
  EXPECT_EQ(sorted("SDIFF c b"), "6");
  EXPECT_EQ(sorted("SDIFF a"), "1 2 3 4 x");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_P(SetAlgebraTest, ASetMayBeNamedTwice) {
  make_three();
  EXPECT_EQ(sorted("SINTER a a b b"), "3 4 x");
  EXPECT_EQ(sorted("SUNION c c"), "4 6 x");
  EXPECT_EQ(sorted("SDIFF a b b"), "1 2");
  EXPECT_EQ(sorted("SDIFF a a"), "");
  EXPECT_EQ(sorted("SDIFF a b a"), "");
}

TEST_P(SetAlgebraTest, AMissingKeyIsAnEmptySet) {
  make_three();
  EXPECT_EQ(run("SINTER a none"), "[]");
  EXPECT_EQ(events(), "m:keymiss:none");
  EXPECT_EQ(lookups(), "hm");
  EXPECT_EQ(run("SINTER none"), "[]");
  EXPECT_EQ(sorted("SUNION none c"), "4 6 x");
  EXPECT_EQ(run("SUNION none none"), "[]");
  EXPECT_EQ(sorted("SDIFF c none"), "4 6 x");
  EXPECT_EQ(run("SDIFF none c"), "[]");
}

TEST_P(SetAlgebraTest, ManySetsAreCombined) {
  std::string keys;
  for (char key = 'k'; key < 'u'; ++key) {
    run({"SADD", std::string(1, key), std::string(1, key), std::string(1, key + 1), "common"});
    keys.append(" ").append(1, key);
  }
  EXPECT_EQ(sorted("SUNION" + keys), "common k l m n o p q r s t u");
  EXPECT_EQ(run("SINTER" + keys), "[\"common\"]");
  run("SADD first common p u v w");
  EXPECT_EQ(sorted("SDIFF first" + keys), "v w");
}

TEST_P(SetAlgebraTest, ResultsAreSetsInResp3) {
  run("SADD a x");
  set_protocol(3);
  for (const std::string_view name : {"SINTER", "SUNION", "SDIFF"}) {
    EXPECT_EQ(raw({name, "a"}), "~1\r\n$1\r\nx\r\n") << name;
    EXPECT_EQ(raw({name, "none"}), "~0\r\n") << name;
  }
}

TEST_P(SetAlgebraTest, OtherTypesAreRefusedEvenBehindAMissingKey) {
  run("SET k v");
  run("SADD a x");
  for (const std::string_view line :
       {"SINTER k", "SINTER none k", "SINTER k none", "SUNION a k", "SDIFF none k",
        "SINTERCARD 2 none k", "SINTERSTORE to a k", "SUNIONSTORE to k", "SDIFFSTORE a none k"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
    EXPECT_EQ(propagated(), "") << line;
  }
  EXPECT_EQ(run("SCARD a"), "(integer) 1");
}

// ---- SINTERCARD ----

TEST_P(SetAlgebraTest, SintercardCounts) {
  make_three();
  EXPECT_EQ(run("SINTERCARD 2 a b"), "(integer) 3");
  EXPECT_EQ(run("SINTERCARD 2 a b LIMIT 2"), "(integer) 2");
  EXPECT_EQ(run("SINTERCARD 2 a b LIMIT 0"), "(integer) 3");
  EXPECT_EQ(run("SINTERCARD 2 a b LIMIT 1 limit 10"), "(integer) 3");
  EXPECT_EQ(run("SINTERCARD 3 a b none"), "(integer) 0");
  EXPECT_EQ(run("SINTERCARD 1 a"), "(integer) 5");
}

TEST_P(SetAlgebraTest, SintercardChecksItsArguments) {
  constexpr std::string_view kNone = "(error) ERR numkeys should be greater than 0";
  constexpr std::string_view kNegative = "(error) ERR LIMIT can't be negative";
  EXPECT_EQ(run("SINTERCARD 0 a"), kNone);
  EXPECT_EQ(run("SINTERCARD x a"), kNone);
  EXPECT_EQ(run("SINTERCARD 2 a"),
            "(error) ERR Number of keys can't be greater than number of args");
  EXPECT_EQ(run("SINTERCARD 1 a LIMIT"), kSyntax);
  EXPECT_EQ(run("SINTERCARD 1 a FOO 1"), kSyntax);
  EXPECT_EQ(run("SINTERCARD 1 a LIMIT -1"), kNegative);
  EXPECT_EQ(run("SINTERCARD 1 a LIMIT x"), kNegative);
}

// ---- Storing ----

TEST_P(SetAlgebraTest, StoresResults) {
  make_three();
  EXPECT_EQ(run("SINTERSTORE to a b"), "(integer) 3");
  EXPECT_EQ(events(), "n:new:to s:sinterstore:to");
  EXPECT_EQ(changed_keys(), "to");
  EXPECT_EQ(propagated(), "SINTERSTORE to a b");
  EXPECT_EQ(sorted("SMEMBERS to"), "3 4 x");
  EXPECT_EQ(run("SUNIONSTORE to a b c"), "(integer) 7");
  EXPECT_EQ(events(), "s:sunionstore:to");
  EXPECT_EQ(sorted("SMEMBERS to"), "1 2 3 4 5 6 x");
  EXPECT_EQ(run("SDIFFSTORE to a b"), "(integer) 2");
  EXPECT_EQ(events(), "s:sdiffstore:to");
  EXPECT_EQ(sorted("SMEMBERS to"), "1 2");
}

TEST_P(SetAlgebraTest, TheDestinationMayBeASource) {
  make_three();
  EXPECT_EQ(run("SUNIONSTORE a a c"), "(integer) 6");
  EXPECT_EQ(sorted("SMEMBERS a"), "1 2 3 4 6 x");
  EXPECT_EQ(run("SINTERSTORE a a b"), "(integer) 3");
  EXPECT_EQ(sorted("SMEMBERS a"), "3 4 x");
  EXPECT_EQ(run("SDIFFSTORE a a b"), "(integer) 0");
  EXPECT_EQ(events(), "g:del:a");
  EXPECT_EQ(propagated(), "SDIFFSTORE a a b");
  EXPECT_EQ(run("EXISTS a"), "(integer) 0");
}

TEST_P(SetAlgebraTest, TheDestinationIsReplacedWhateverItWas) {
  run("SADD a x");
  run("SET to v");
  run("EXPIRE to 100");
  EXPECT_EQ(run("SUNIONSTORE to a"), "(integer) 1");
  EXPECT_EQ(events(), "s:sunionstore:to");
  EXPECT_EQ(run("TTL to"), "(integer) -1");
  EXPECT_EQ(run("TYPE to"), "set");
  EXPECT_EQ(run("SINTERSTORE to a none"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:none g:del:to");
  EXPECT_EQ(run("SINTERSTORE to a none"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
}

// ---- Deadlines ----

TEST_P(SetAlgebraTest, DueMembersAreNeitherReadNorCounted) {
  make_partly_due();  // s: a b z, and x y are due
  run("SADD t a x y z");
  EXPECT_EQ(sorted("SINTER s t"), "a z");
  EXPECT_EQ(sorted("SINTER t s"), "a z");
  EXPECT_EQ(run("SINTERCARD 2 t s"), "(integer) 2");
  EXPECT_EQ(sorted("SUNION s"), "a b z");
  EXPECT_EQ(sorted("SDIFF t s"), "x y");
  EXPECT_EQ(sorted("SDIFF s t"), "b");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(expired_members(), 0u);
}

TEST_P(SetAlgebraTest, AReplicaStoresTheSameWithoutDueMembers) {
  make_partly_due();
  run("SADD t a x y z");
  EXPECT_EQ(run("SINTERSTORE to t s"), "(integer) 2");
  EXPECT_EQ(events(), "sx:sexpired:s n:new:to s:sinterstore:to");
  EXPECT_TRUE(propagated() == "SREM s x y; SINTERSTORE to t s" ||
              propagated() == "SREM s y x; SINTERSTORE to t s")
      << propagated();
  EXPECT_EQ(sorted("SMEMBERS to"), "a z");
  EXPECT_EQ(deadline("s", "z"), now() + Millis(60'000));
  EXPECT_EQ(deadline("to", "z"), kNever);
}

TEST_P(SetAlgebraTest, ResultsHaveNoDeadlines) {
  make_partly_due();
  EXPECT_EQ(run("SUNIONSTORE s s"), "(integer) 3");
  EXPECT_EQ(deadline("s", "z"), kNever);
  advance(Millis(100'000));
  EXPECT_EQ(run("SCARD s"), "(integer) 3");
}

TEST_P(SetAlgebraTest, ADeadSourceIsRemovedFirst) {
  run("SADD a p q");
  put("s", "p", Millis(10));
  advance(Millis(10));
  EXPECT_EQ(run("SINTERSTORE s a s"), "(integer) 0");
  EXPECT_EQ(events(), "sx:sexpired:s g:del:s m:keymiss:s");
  EXPECT_EQ(propagated(), "UNLINK s");
}

TEST_P(SetAlgebraTest, ReplicasHideAndPrimariesAreBelieved) {
  make_partly_due();
  run("SADD t a x");
  context().policy = Policy::hide;
  EXPECT_EQ(sorted("SINTER s t"), "a");
  context().policy = Policy::show;
  EXPECT_EQ(run("SINTERSTORE to s t"), "(integer) 2");
}

}  // namespace set_algebra_test
}  // namespace mayfly
