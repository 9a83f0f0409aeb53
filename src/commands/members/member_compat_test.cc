// SPDX-License-Identifier: Apache-2.0
// The commands of KeyDB and Dragonfly on members, which take a key of any of the three types.

#include "commands/members/members_fixture.h"

namespace mayfly {
namespace member_compat_test {

class MemberCompatTest : public MembersFixture {};
INSTANTIATE_TEST_SUITE_P(Members, MemberCompatTest, kMemberCases, case_name);

TEST_P(MemberCompatTest, ExpirememberSetsADeadline) {
  seed({"a", "b"});
  EXPECT_EQ(run("EXPIREMEMBER k a 10"), "(integer) 1");
  EXPECT_EQ(events(), text("~:~expire:k"));
  EXPECT_EQ(propagated(), text("%PEXPIREAT k " + in_ms(Millis(10'000)) + " @ 1 a"));
  EXPECT_EQ(changed_keys(), "k");
  for (const auto& [unit, left] : {std::pair("s", "20000"), std::pair("S", "20000"),
                                   std::pair("ms", "20"), std::pair("MS", "20")}) {
    EXPECT_EQ(run(std::string("EXPIREMEMBER k a 20 ") + unit), "(integer) 1");
    EXPECT_EQ(codes("%PTTL k @ 2 a b"), std::string(left) + " -1");
  }
}

TEST_P(MemberCompatTest, TheFormsWithAnAbsoluteTimeMeanTheSame) {
  seed({"a", "b"});
  EXPECT_EQ(run("EXPIREMEMBERAT k a 1800000010"), "(integer) 1");
  EXPECT_EQ(propagated(), text("%PEXPIREAT k 1800000010000 @ 1 a"));
  EXPECT_EQ(run("PEXPIREMEMBERAT k b 1800000010500"), "(integer) 1");
  EXPECT_EQ(propagated(), text("%PEXPIREAT k 1800000010500 @ 1 b"));
  EXPECT_EQ(codes("%PEXPIRETIME k @ 2 a b"), "1800000010000 1800000010500");
}

TEST_P(MemberCompatTest, ExpirememberOfWhatDoesNotExistChangesNothing) {
  EXPECT_EQ(run("EXPIREMEMBER k a 10"), "(integer) 0");
  seed_partly_due();
  EXPECT_EQ(run("EXPIREMEMBER k none 10"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("EXPIREMEMBER k x 10"), "(integer) 0");
  EXPECT_EQ(events(), text("~x:~expired:k"));
  EXPECT_EQ(propagated(), text("& k x"));
}

TEST_P(MemberCompatTest, ATimeThatIsPastRemovesTheMember) {
  seed({"a", "b", "c"});
  EXPECT_EQ(run("EXPIREMEMBER k a -1"), "(integer) 1");
  EXPECT_EQ(events(), text("~:~expired:k"));
  EXPECT_EQ(propagated(), text("& k a"));
  EXPECT_EQ(run("EXPIREMEMBERAT k b 1"), "(integer) 1");
  EXPECT_EQ(run("PEXPIREMEMBERAT k c 0"), "(integer) 1");
  EXPECT_EQ(events(), text("~:~expired:k g:del:k"));
  EXPECT_EQ(expired_members(), 3u);
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(MemberCompatTest, ExpirememberChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("EXPIREMEMBER s a"), arity_error("expiremember"));
  EXPECT_EQ(run("EXPIREMEMBER s a 1 s more"), arity_error("expiremember"));
  EXPECT_EQ(run("EXPIREMEMBER s a x h"), kNoInteger);
  EXPECT_EQ(run("EXPIREMEMBER s a 1 h"), "(error) ERR Invalid unit arg");
  EXPECT_EQ(run("EXPIREMEMBER s a 9223372036854775807"), time_error("expiremember"));
  EXPECT_EQ(run("EXPIREMEMBER s a 1"), kWrongType);
  EXPECT_EQ(run("EXPIREMEMBERAT s a 1 s"), arity_error("expirememberat"));
  EXPECT_EQ(run("EXPIREMEMBERAT s a x"), kNoInteger);
  EXPECT_EQ(run("EXPIREMEMBERAT s a 1"), kWrongType);
  EXPECT_EQ(run("PEXPIREMEMBERAT s a x"), kNoInteger);
  EXPECT_EQ(run("PEXPIREMEMBERAT s a 1"), kWrongType);
}

TEST_P(MemberCompatTest, TtlTakesAMember) {
  EXPECT_EQ(run("TTL k a"), "(integer) -2");
  EXPECT_EQ(events(), "m:keymiss:k");
  seed({"a"});
  seed({"b"}, Millis(1'600));
  run("EXPIRE k 100");
  EXPECT_EQ(run("TTL k b"), "(integer) 2");
  EXPECT_EQ(run("PTTL k b"), "(integer) 1600");
  EXPECT_EQ(run("TTL k a"), "(integer) -1");
  EXPECT_EQ(run("PTTL k none"), "(integer) -2");
  EXPECT_EQ(run("TTL k"), "(integer) 100");
  EXPECT_EQ(events(), "");
  advance(Millis(1'600));
  EXPECT_EQ(run("TTL k b"), "(integer) -2");
  EXPECT_EQ(events(), text("~x:~expired:k"));
  EXPECT_EQ(propagated(), text("& k b"));
}

TEST_P(MemberCompatTest, TtlOfAMemberChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("TTL s a b"), arity_error("ttl"));
  EXPECT_EQ(run("PTTL s a b"), arity_error("pttl"));
  EXPECT_EQ(run("EXPIRETIME s a"), arity_error("expiretime"));
  EXPECT_EQ(run("TTL s a"), kWrongType);
  EXPECT_EQ(run("PTTL s a"), kWrongType);
  EXPECT_EQ(run("TTL s"), "(integer) -1");
}

TEST_P(MemberCompatTest, FieldexpireRepliesAboutEachMember) {
  EXPECT_EQ(codes("FIELDEXPIRE k 10 a b"), "-2 -2");
  seed({"a", "b", "c"});
  EXPECT_EQ(codes("FIELDEXPIRE k 10 a none b"), "1 -2 1");
  EXPECT_EQ(events(), text("~:~expire:k"));
  EXPECT_EQ(propagated(), text("%PEXPIREAT k " + in_ms(Millis(10'000)) + " @ 2 a b"));
  EXPECT_EQ(codes("FIELDEXPIRE k 0 c"), "2");
  EXPECT_EQ(events(), text("~:~expired:k"));
  EXPECT_EQ(propagated(), text("& k c"));
}

TEST_P(MemberCompatTest, FieldexpireChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("FIELDEXPIRE s 1"), arity_error("fieldexpire"));
  EXPECT_EQ(run("FIELDEXPIRE s x a"), kNoInteger);
  EXPECT_EQ(run("FIELDEXPIRE s -1 a"), time_error("fieldexpire"));
  EXPECT_EQ(run("FIELDEXPIRE s 1 a"), kWrongType);
}

TEST_P(MemberCompatTest, FieldttlTellsAMissingMemberFromAMissingKey) {
  EXPECT_EQ(run("FIELDTTL k a"), "(integer) -2");
  seed_partly_due();
  EXPECT_EQ(run("FIELDTTL k a"), "(integer) -1");
  EXPECT_EQ(run("FIELDTTL k none"), "(integer) -3");
  EXPECT_EQ(run("FIELDTTL k z"), "(integer) 60");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("FIELDTTL k x"), "(integer) -3");
  EXPECT_EQ(events(), text("~x:~expired:k"));
  put_string("s");
  EXPECT_EQ(run("FIELDTTL s a"), kWrongType);
  EXPECT_EQ(run("FIELDTTL k a b"), arity_error("fieldttl"));
}

TEST_P(MemberCompatTest, AReplicaReclaimsNothing) {
  seed_partly_due();
  context().policy = Policy::hide;
  EXPECT_EQ(run("TTL k x"), "(integer) -2");
  EXPECT_EQ(run("FIELDTTL k x"), "(integer) -3");
  EXPECT_EQ(events(), "");
  context().policy = Policy::show;
  EXPECT_EQ(run("PTTL k x"), "(integer) 0");
  EXPECT_EQ(run("EXPIREMEMBERAT k a 1"), "(integer) 1");
  EXPECT_EQ(members_of("k").stored(), 5u);
}

}  // namespace member_compat_test
}  // namespace mayfly
