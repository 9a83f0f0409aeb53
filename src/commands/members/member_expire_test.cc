// SPDX-License-Identifier: Apache-2.0
// HEXPIRE and its kin, HPERSIST, and HTTL and its kin, and the same of sets and sorted sets:
// replies, the order of checks, events, propagation and counts, row by row as hash-field-expiry.md
// and member-expiry.md have them.

#include "commands/members/members_fixture.h"

namespace mayfly {
namespace member_expire_test {

class MemberExpireTest : public MembersFixture {};
INSTANTIATE_TEST_SUITE_P(Members, MemberExpireTest, kMemberCases, case_name);

// ---- EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT ----

TEST_P(MemberExpireTest, ExpireSetsDeadlinesOfMembersThatAreThere) {
  seed({"a", "b"});
  EXPECT_EQ(codes("%EXPIRE k 10 @ 3 a none b"), "1 -2 1");
  EXPECT_EQ(events(), text("~:~expire:k"));
  EXPECT_EQ(propagated(), text("%PEXPIREAT k " + in_ms(Millis(10'000)) + " @ 2 a b"));
  EXPECT_EQ(changed_keys(), "k");
  EXPECT_EQ(codes("%PTTL k @ 2 a b"), "10000 10000");
}

TEST_P(MemberExpireTest, TheFourSpellingsMeanTheSame) {
  seed({"a", "b", "c", "d"});
  EXPECT_EQ(codes("%EXPIRE k 10 @ 1 a"), "1");
  EXPECT_EQ(codes("%PEXPIRE k 10000 @ 1 b"), "1");
  EXPECT_EQ(codes("%EXPIREAT k 1800000010 @ 1 c"), "1");
  EXPECT_EQ(codes("%PEXPIREAT k 1800000010000 fields 1 d"), "1");
  EXPECT_EQ(propagated(), text("%PEXPIREAT k 1800000010000 @ 1 d"));
  EXPECT_EQ(codes("%PEXPIRETIME k @ 4 a b c d"),
            "1800000010000 1800000010000 1800000010000 1800000010000");
}

TEST_P(MemberExpireTest, AMissingKeyHasNoMembers) {
  EXPECT_EQ(codes("%EXPIRE k 10 @ 2 a b"), "-2 -2");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
}

TEST_P(MemberExpireTest, ConditionsAreAboutEachMember) {
  seed({"none"});
  seed({"some"}, Millis(20'000));
  EXPECT_EQ(codes("%EXPIRE k 15 XX @ 2 none some"), "0 1");
  EXPECT_EQ(propagated(), text("%PEXPIREAT k " + in_ms(Millis(15'000)) + " @ 1 some"));
  EXPECT_EQ(codes("%EXPIRE k 10 GT @ 2 none some"), "0 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(codes("%EXPIRE k 15 GT @ 1 some"), "0");
  EXPECT_EQ(codes("%EXPIRE k 15 LT @ 1 some"), "0");
  EXPECT_EQ(codes("%EXPIRE k 16 gt @ 1 some"), "1");
  EXPECT_EQ(codes("%EXPIRE k 20 XX GT @ 2 none some"), "0 1");
  EXPECT_EQ(codes("%EXPIRE k 10 lt xx LT @ 2 none some"), "0 1");
  EXPECT_EQ(codes("%EXPIRE k 9 LT @ 2 none some"), "1 1");
  EXPECT_EQ(codes("%EXPIRE k 9 NX @ 2 none some"), "0 0");
  EXPECT_EQ(events(), "");
  run("%PERSIST k @ 1 none");
  EXPECT_EQ(codes("%EXPIRE k 8 nx NX @ 2 none some"), "1 0");
  EXPECT_EQ(propagated(), text("%PEXPIREAT k " + in_ms(Millis(8'000)) + " @ 1 none"));
}

TEST_P(MemberExpireTest, ATimeThatIsPastRemovesMembers) {
  seed({"a", "b", "c"});
  EXPECT_EQ(codes("%EXPIRE k 0 @ 3 a none a"), "2 -2 -2");
  EXPECT_EQ(events(), text("~:~expired:k"));
  EXPECT_EQ(propagated(), text("& k a"));
  EXPECT_EQ(expired_members(), 1u);
  EXPECT_EQ(codes("%EXPIREAT k 1 @ 1 b"), "2");
  EXPECT_EQ(codes("%PEXPIREAT k " + in_ms(Millis(0)) + " @ 1 c"), "2");
  EXPECT_EQ(events(), text("~:~expired:k g:del:k"));
  EXPECT_EQ(expired_members(), 3u);
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(MemberExpireTest, ConditionsAreAskedBeforeAPastTimeRemoves) {
  seed({"none"});
  seed({"some"}, Millis(20'000));
  EXPECT_EQ(codes("%EXPIRE k 0 GT @ 2 none some"), "0 0");
  EXPECT_EQ(codes("%EXPIRE k 0 NX @ 1 some"), "0");
  EXPECT_EQ(codes("%EXPIRE k 0 XX @ 1 none"), "0");
  EXPECT_EQ(alive(), 2u);
  EXPECT_EQ(codes("%EXPIRE k 0 LT @ 2 none some"), "2 2");
  EXPECT_EQ(events(), text("~:~expired:k g:del:k"));
}

TEST_P(MemberExpireTest, ExpireChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("%EXPIRE s 10 @ 1"), arity_error(text("~expire")));
  EXPECT_EQ(run("%EXPIRE s x BAD @ y a"), "(error) ERR Unsupported option BAD");
  EXPECT_EQ(run("%EXPIRE s x NX GT @ y a"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(run("%EXPIRE s x LT NX @ y a"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(run("%EXPIRE s x XX NX @ y a"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(run("%EXPIRE s x GT LT @ y a"),
            "(error) ERR GT and LT options at the same time are not compatible");
  EXPECT_EQ(run("%EXPIRE s x @ y a"), kNoInteger);
  EXPECT_EQ(run("%EXPIRE s x @ 0 a"), bad_count());
  EXPECT_EQ(run("%EXPIRE s x XX @ 0"), bad_count());
  EXPECT_EQ(run("%EXPIRE s x @ -1 a"), bad_count());
  EXPECT_EQ(run("%EXPIRE s x @ 2 a"), bad_count());
  EXPECT_EQ(run("%EXPIRE s x @ 1 a b"), bad_count());
  EXPECT_EQ(run("%EXPIRE s x a b c"), bad_count());     // no list at all
  EXPECT_EQ(run("%EXPIRE s x a b @"), bad_count());     // and none that counts
  EXPECT_EQ(run("%EXPIRE s x @ 1 a NX"), bad_count());  // options come before
  EXPECT_EQ(run("%EXPIRE s x @ 1 a"), kNoInteger);
  EXPECT_EQ(run("%EXPIRE s -1 @ 1 a"), time_error(text("~expire")));
  EXPECT_EQ(run("%EXPIRE s 10 @ 1 a"), kWrongType);
  EXPECT_EQ(events(), "");
}

TEST_P(MemberExpireTest, TimesHaveLimits) {
  seed({"a"});
  EXPECT_EQ(run("%EXPIRE k -1 @ 1 a"), time_error(text("~expire")));
  EXPECT_EQ(run("%EXPIRE k 9223372036854776 @ 1 a"), time_error(text("~expire")));
  EXPECT_EQ(run("%EXPIRE k 9223372036854775 @ 1 a"), time_error(text("~expire")));
  EXPECT_EQ(run("%PEXPIRE k 9223372036854775807 @ 1 a"), time_error(text("~pexpire")));
  EXPECT_EQ(run("%EXPIREAT k 9223372036854776 @ 1 a"), time_error(text("~expireat")));
  EXPECT_EQ(run("%PEXPIREAT k 9223372036854775808 @ 1 a"), kNoInteger);
  EXPECT_EQ(run("%PEXPIREAT k 1.5 @ 1 a"), kNoInteger);
  EXPECT_EQ(codes("%EXPIREAT k 9223372036854775 @ 1 a"), "1");
  EXPECT_EQ(codes("%PEXPIRETIME k @ 1 a"), "9223372036854775000");
  // The last millisecond is our word for never; a member may have the one before.
  EXPECT_EQ(codes("%PEXPIREAT k 9223372036854775807 @ 1 a"), "1");
  EXPECT_EQ(codes("%PEXPIRETIME k @ 1 a"), "9223372036854775806");
  EXPECT_EQ(codes("%EXPIRETIME k @ 1 a"), "9223372036854776");
}

TEST_P(MemberExpireTest, FieldsAndMembersMeanTheSame) {
  seed({"fields", "members"});
  for (const std::string list : {"FIELDS", "members", "Fields", "MEMBERS"}) {
    EXPECT_EQ(codes("%EXPIRE k 10 " + list + " 2 members fields"), "1 1");
    EXPECT_EQ(propagated(), text("%PEXPIREAT k " + in_ms(Millis(10'000)) + " @ 2 members fields"));
    EXPECT_EQ(codes("%TTL k " + list + " 2 fields members"), "10 10");
    EXPECT_EQ(codes("%PERSIST k " + list + " 2 fields members"), "1 1");
    EXPECT_EQ(propagated(), text("%PERSIST k @ 2 fields members"));
  }
}

TEST_P(MemberExpireTest, AKeyMayBeNamedLikeAnOption) {
  for (const std::string key : {"fields", "nx", "MEMBERS"}) {
    const Slot slot = database().make_members(context(), type(), key);
    database().members(context(), slot).put("fields", payload(1));
    EXPECT_EQ(codes("%EXPIRE " + key + " 10 @ 1 fields"), "1");
    EXPECT_EQ(codes("%TTL " + key + " @ 1 fields"), "10");
    EXPECT_EQ(codes("%PERSIST " + key + " @ 1 fields"), "1");
  }
}

TEST_P(MemberExpireTest, ExpireReclaimsWhatIsDueAndDoesNotReviveIt) {
  seed_partly_due();
  EXPECT_EQ(codes("%EXPIRE k 10 @ 3 a x z"), "1 -2 1");
  EXPECT_EQ(events(), text("~x:~expired:k ~:~expire:k"));
  EXPECT_EQ(propagated(), text("& k x; %PEXPIREAT k " + in_ms(Millis(10'000)) + " @ 2 a z"));
  EXPECT_EQ(codes("%EXPIRE k 10 @ 1 y"), "-2");
  EXPECT_EQ(events(), text("~x:~expired:k"));
  EXPECT_EQ(propagated(), text("& k y"));
  EXPECT_EQ(expired_members(), 2u);
}

TEST_P(MemberExpireTest, ExpireOfAllThatIsLeftRemovesTheKey) {
  seed({"a"});
  seed({"x"}, Millis(100));
  advance(Millis(100));
  EXPECT_EQ(codes("%PEXPIRE k 0 @ 2 x a"), "-2 2");
  EXPECT_EQ(events(), text("~x:~expired:k ~:~expired:k g:del:k"));
  EXPECT_EQ(propagated(), text("& k x; & k a"));
  EXPECT_EQ(expired_members(), 2u);
}

TEST_P(MemberExpireTest, ATimeThatIsPastIsStoredWhereWhatIsDueIsKept) {
  seed({"a", "b"});
  context().policy = Policy::show;
  EXPECT_EQ(codes("%PEXPIREAT k 1 @ 1 a"), "1");
  EXPECT_EQ(events(), text("~:~expire:k"));
  EXPECT_EQ(alive(), 2u);
  context().policy = Policy::reclaim;
  EXPECT_EQ(alive(), 1u);
}

TEST_P(MemberExpireTest, AClientOfAReplicaSeesWhatIsAliveAndReclaimsNothing) {
  seed_partly_due();
  context().policy = Policy::hide;
  EXPECT_EQ(codes("%TTL k @ 3 a x z"), "-1 -2 60");
  EXPECT_EQ(codes("%PERSIST k @ 1 x"), "-2");
  EXPECT_EQ(codes("%EXPIRE k 10 @ 1 x"), "-2");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(members_of("k").stored(), 5u);
  EXPECT_EQ(expired_members(), 0u);
}

TEST_P(MemberExpireTest, ThePrimarysCommandsSeeWhatIsDue) {
  seed_partly_due();
  context().policy = Policy::show;
  EXPECT_EQ(codes("%PTTL k @ 2 x z"), "0 60000");
  EXPECT_EQ(codes("%PERSIST k @ 1 x"), "1");
  EXPECT_EQ(codes("%PEXPIREAT k " + in_ms(Millis(50)) + " @ 1 y"), "1");
  context().policy = Policy::reclaim;
  EXPECT_EQ(alive(), 5u);
}

TEST_P(MemberExpireTest, RepliesAreTheSameInResp3) {
  seed({"a"});
  set_protocol(3);
  EXPECT_EQ(raw({text("%EXPIRE"), "k", "10", "MEMBERS", "2", "a", "b"}), "*2\r\n:1\r\n:-2\r\n");
  EXPECT_EQ(raw({text("%TTL"), "k", "MEMBERS", "2", "a", "b"}), "*2\r\n:10\r\n:-2\r\n");
  EXPECT_EQ(raw({text("%PERSIST"), "k", "MEMBERS", "2", "a", "b"}), "*2\r\n:1\r\n:-2\r\n");
}

TEST_P(MemberExpireTest, EachTypeRefusesTheOthers) {
  seed({"a"});
  for (const std::string letter : {"H", "S", "Z"}) {
    const bool is_own = letter == text("%");
    for (const std::string line :
         {"EXPIRE k 10 MEMBERS 1 a", "TTL k MEMBERS 1 a", "PERSIST k MEMBERS 1 a"}) {
      EXPECT_EQ(run(letter + line) == kWrongType, !is_own) << letter << line;
    }
  }
}

// ---- PERSIST ----

TEST_P(MemberExpireTest, PersistRemovesDeadlines) {
  seed({"a"});
  seed({"x", "y"}, Millis(20'000));
  EXPECT_EQ(codes("%PERSIST k @ 4 a x none x"), "-1 1 -2 -1");
  EXPECT_EQ(events(), text("~:~persist:k"));
  EXPECT_EQ(propagated(), text("%PERSIST k @ 1 x"));
  EXPECT_EQ(codes("%TTL k @ 2 x y"), "-1 20");
  EXPECT_EQ(codes("%PERSIST k @ 1 a"), "-1");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(codes("%PERSIST none @ 2 a b"), "-2 -2");
}

TEST_P(MemberExpireTest, PersistDoesNotReviveWhatIsDue) {
  seed_partly_due();
  EXPECT_EQ(codes("%PERSIST k @ 2 x z"), "-2 1");
  EXPECT_EQ(events(), text("~x:~expired:k ~:~persist:k"));
  EXPECT_EQ(propagated(), text("& k x; %PERSIST k @ 1 z"));
}

TEST_P(MemberExpireTest, PersistChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("%PERSIST s @ 1"), arity_error(text("~persist")));
  EXPECT_EQ(run("%PERSIST s NONSENSE 1 a"), kSyntax);
  EXPECT_EQ(run("%PERSIST s @ x a"), kNoInteger);
  EXPECT_EQ(run("%PERSIST s @ 0 a"), bad_count());
  EXPECT_EQ(run("%PERSIST s @ 2 a"), bad_count());
  EXPECT_EQ(run("%PERSIST s fields 1 a"), kWrongType);
}

// ---- TTL, PTTL, EXPIRETIME, PEXPIRETIME ----

TEST_P(MemberExpireTest, TimesAreToldPerMember) {
  seed({"a"});
  seed({"x"}, Millis(1'600));
  EXPECT_EQ(codes("%PTTL k @ 3 a none x"), "-1 -2 1600");
  EXPECT_EQ(codes("%TTL k @ 3 a none x"), "-1 -2 2");
  EXPECT_EQ(codes("%PEXPIRETIME k @ 1 x"), "1800000001600");
  EXPECT_EQ(codes("%EXPIRETIME k @ 1 x"), "1800000002");
  EXPECT_EQ(events(), "");
}

TEST_P(MemberExpireTest, SecondsAreRoundedToTheNearest) {
  seed({"x"}, Millis(10'000));
  for (const auto& [left, seconds] :
       {std::pair(10'000, "10"), std::pair(9'500, "10"), std::pair(9'499, "9"), std::pair(500, "1"),
        std::pair(499, "0"), std::pair(1, "0")}) {
    run("%PEXPIRE k " + std::to_string(left) + " @ 1 x");
    EXPECT_EQ(codes("%TTL k @ 1 x"), seconds) << left;
  }
}

TEST_P(MemberExpireTest, AMissingKeyHasNoTimes) {
  for (const std::string name : {"%TTL", "%PTTL", "%EXPIRETIME", "%PEXPIRETIME"}) {
    EXPECT_EQ(codes(name + " k @ 2 a b"), "-2 -2");
    EXPECT_EQ(events(), text("m:keymiss:k"));
  }
}

TEST_P(MemberExpireTest, AskingForATimeReclaimsWhatIsDue) {
  seed_partly_due();
  EXPECT_EQ(codes("%TTL k @ 2 x z"), "-2 60");
  EXPECT_EQ(events(), text("~x:~expired:k"));
  EXPECT_EQ(propagated(), text("& k x"));
}

TEST_P(MemberExpireTest, TtlChecksInOrder) {
  put_string("s");
  for (const std::string name : {"~ttl", "~pttl", "~expiretime", "~pexpiretime"}) {
    EXPECT_EQ(run(name + " s @ 1"), arity_error(text(name)));
    EXPECT_EQ(run(name + " s NONSENSE 1 a"), kSyntax);
    EXPECT_EQ(run(name + " s @ x a"), kNoInteger);
    EXPECT_EQ(run(name + " s @ 0 a"), kSyntax);
    EXPECT_EQ(run(name + " s @ 2 a"), kSyntax);
    EXPECT_EQ(run(name + " s @ 1 a"), kWrongType);
  }
}

}  // namespace member_expire_test
}  // namespace mayfly
