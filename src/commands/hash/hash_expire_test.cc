// SPDX-License-Identifier: Apache-2.0
// HEXPIRE and its kin, HPERSIST, and HTTL and its kin: replies, the order of checks, events,
// propagation and counts, row by row as hash-field-expiry.md has them.

#include "commands/hash/hash_fixture.h"

namespace mayfly {
namespace hash_expire_test {

class HashExpireTest : public HashFixture {};
INSTANTIATE_TEST_SUITE_P(Hashes, HashExpireTest, kBothForms, form_name);

// ---- HEXPIRE, HPEXPIRE, HEXPIREAT, HPEXPIREAT ----

TEST_P(HashExpireTest, HexpireSetsDeadlinesOfFieldsThatAreThere) {
  run("HSET h a 1 b 2");
  EXPECT_EQ(codes("HEXPIRE h 10 FIELDS 3 a none b"), "1 -2 1");
  EXPECT_EQ(events(), "h:hexpire:h");
  EXPECT_EQ(propagated(), "HPEXPIREAT h " + in_ms(Millis(10'000)) + " FIELDS 2 a b");
  EXPECT_EQ(changed_keys(), "h");
  EXPECT_EQ(codes("HPTTL h FIELDS 2 a b"), "10000 10000");
}

TEST_P(HashExpireTest, TheFourSpellingsMeanTheSame) {
  run("HSET h a 1 b 2 c 3 d 4");
  EXPECT_EQ(codes("HEXPIRE h 10 FIELDS 1 a"), "1");
  EXPECT_EQ(codes("HPEXPIRE h 10000 FIELDS 1 b"), "1");
  EXPECT_EQ(codes("HEXPIREAT h 1800000010 FIELDS 1 c"), "1");
  EXPECT_EQ(codes("HPEXPIREAT h 1800000010000 fields 1 d"), "1");
  EXPECT_EQ(propagated(), "HPEXPIREAT h 1800000010000 FIELDS 1 d");
  EXPECT_EQ(codes("HPEXPIRETIME h FIELDS 4 a b c d"),
            "1800000010000 1800000010000 1800000010000 1800000010000");
}

TEST_P(HashExpireTest, AMissingKeyHasNoFields) {
  EXPECT_EQ(codes("HEXPIRE h 10 FIELDS 2 a b"), "-2 -2");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
}

TEST_P(HashExpireTest, ConditionsAreAboutEachField) {
  run("HSET h none 1");
  run("HSETEX h EX 20 FIELDS 1 some 1");
  EXPECT_EQ(codes("HEXPIRE h 15 XX FIELDS 2 none some"), "0 1");
  EXPECT_EQ(propagated(), "HPEXPIREAT h " + in_ms(Millis(15'000)) + " FIELDS 1 some");
  EXPECT_EQ(codes("HEXPIRE h 10 GT FIELDS 2 none some"), "0 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(codes("HEXPIRE h 15 GT FIELDS 1 some"), "0");
  EXPECT_EQ(codes("HEXPIRE h 15 LT FIELDS 1 some"), "0");
  EXPECT_EQ(codes("HEXPIRE h 16 gt FIELDS 1 some"), "1");
  EXPECT_EQ(codes("HEXPIRE h 20 XX GT FIELDS 2 none some"), "0 1");
  EXPECT_EQ(codes("HEXPIRE h 10 lt xx LT FIELDS 2 none some"), "0 1");
  EXPECT_EQ(codes("HEXPIRE h 9 LT FIELDS 2 none some"), "1 1");
  EXPECT_EQ(codes("HEXPIRE h 9 NX FIELDS 2 none some"), "0 0");
  EXPECT_EQ(events(), "");
  run("HPERSIST h FIELDS 1 none");
  EXPECT_EQ(codes("HEXPIRE h 8 nx NX FIELDS 2 none some"), "1 0");
  EXPECT_EQ(propagated(), "HPEXPIREAT h " + in_ms(Millis(8'000)) + " FIELDS 1 none");
}

TEST_P(HashExpireTest, ATimeThatIsPastRemovesFields) {
  run("HSET h a 1 b 2 c 3");
  EXPECT_EQ(codes("HEXPIRE h 0 FIELDS 3 a none a"), "2 -2 -2");
  EXPECT_EQ(events(), "h:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h a");
  EXPECT_EQ(expired_fields(), 1u);
  EXPECT_EQ(codes("HEXPIREAT h 1 FIELDS 1 b"), "2");
  EXPECT_EQ(codes("HPEXPIREAT h " + in_ms(Millis(0)) + " FIELDS 1 c"), "2");
  EXPECT_EQ(events(), "h:hexpired:h g:del:h");
  EXPECT_EQ(expired_fields(), 3u);
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(HashExpireTest, ConditionsAreAskedBeforeAPastTimeRemoves) {
  run("HSET h none 1");
  run("HSETEX h EX 20 FIELDS 1 some 1");
  EXPECT_EQ(codes("HEXPIRE h 0 GT FIELDS 2 none some"), "0 0");
  EXPECT_EQ(codes("HEXPIRE h 0 NX FIELDS 1 some"), "0");
  EXPECT_EQ(codes("HEXPIRE h 0 XX FIELDS 1 none"), "0");
  EXPECT_EQ(run("HLEN h"), "(integer) 2");
  EXPECT_EQ(codes("HEXPIRE h 0 LT FIELDS 2 none some"), "2 2");
  EXPECT_EQ(events(), "h:hexpired:h g:del:h");
}

TEST_P(HashExpireTest, HexpireChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("HEXPIRE s 10 FIELDS 1"), arity_error("hexpire"));
  EXPECT_EQ(run("HEXPIRE s x BAD FIELDS y a"), "(error) ERR Unsupported option BAD");
  EXPECT_EQ(run("HEXPIRE s x NX GT FIELDS y a"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(run("HEXPIRE s x LT NX FIELDS y a"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(run("HEXPIRE s x XX NX FIELDS y a"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(run("HEXPIRE s x GT LT FIELDS y a"),
            "(error) ERR GT and LT options at the same time are not compatible");
  EXPECT_EQ(run("HEXPIRE s x FIELDS y a"), kNoInteger);
  EXPECT_EQ(run("HEXPIRE s x FIELDS 0 a"), kBadCount);
  EXPECT_EQ(run("HEXPIRE s x XX FIELDS 0"), kBadCount);
  EXPECT_EQ(run("HEXPIRE s x FIELDS -1 a"), kBadCount);
  EXPECT_EQ(run("HEXPIRE s x FIELDS 2 a"), kBadCount);
  EXPECT_EQ(run("HEXPIRE s x FIELDS 1 a b"), kBadCount);
  EXPECT_EQ(run("HEXPIRE s x a b c"), kBadCount);          // no FIELDS at all
  EXPECT_EQ(run("HEXPIRE s x a b FIELDS"), kBadCount);     // and none that counts
  EXPECT_EQ(run("HEXPIRE s x FIELDS 1 a NX"), kBadCount);  // options come before
  EXPECT_EQ(run("HEXPIRE s x FIELDS 1 a"), kNoInteger);
  EXPECT_EQ(run("HEXPIRE s -1 FIELDS 1 a"), time_error("hexpire"));
  EXPECT_EQ(run("HEXPIRE s 10 FIELDS 1 a"), kWrongType);
  EXPECT_EQ(events(), "");
}

TEST_P(HashExpireTest, TimesHaveLimits) {
  run("HSET h a 1");
  EXPECT_EQ(run("HEXPIRE h -1 FIELDS 1 a"), time_error("hexpire"));
  EXPECT_EQ(run("HEXPIRE h 9223372036854776 FIELDS 1 a"), time_error("hexpire"));
  EXPECT_EQ(run("HEXPIRE h 9223372036854775 FIELDS 1 a"), time_error("hexpire"));
  EXPECT_EQ(run("HPEXPIRE h 9223372036854775807 FIELDS 1 a"), time_error("hpexpire"));
  EXPECT_EQ(run("HEXPIREAT h 9223372036854776 FIELDS 1 a"), time_error("hexpireat"));
  EXPECT_EQ(run("HPEXPIREAT h 9223372036854775808 FIELDS 1 a"), kNoInteger);
  EXPECT_EQ(run("HPEXPIREAT h 1.5 FIELDS 1 a"), kNoInteger);
  EXPECT_EQ(codes("HEXPIREAT h 9223372036854775 FIELDS 1 a"), "1");
  EXPECT_EQ(codes("HPEXPIRETIME h FIELDS 1 a"), "9223372036854775000");
  // The last millisecond is our word for never; a field may have the one before.
  EXPECT_EQ(codes("HPEXPIREAT h 9223372036854775807 FIELDS 1 a"), "1");
  EXPECT_EQ(codes("HPEXPIRETIME h FIELDS 1 a"), "9223372036854775806");
  EXPECT_EQ(codes("HEXPIRETIME h FIELDS 1 a"), "9223372036854776");
}

TEST_P(HashExpireTest, AKeyMayBeNamedLikeAnOption) {
  for (const std::string key : {"fields", "nx", "FIELDS"}) {
    run({"HSET", key, "fields", "1"});
    EXPECT_EQ(run({"HEXPIRE", key, "10", "FIELDS", "1", "fields"}), "[(integer) 1]");
    EXPECT_EQ(run({"HTTL", key, "FIELDS", "1", "fields"}), "[(integer) 10]");
    EXPECT_EQ(run({"HPERSIST", key, "FIELDS", "1", "fields"}), "[(integer) 1]");
  }
}

TEST_P(HashExpireTest, HexpireReclaimsWhatIsDueAndDoesNotReviveIt) {
  make_partly_due();
  EXPECT_EQ(codes("HEXPIRE h 10 FIELDS 3 a x z"), "1 -2 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hexpire:h");
  EXPECT_EQ(propagated(), "HDEL h x; HPEXPIREAT h " + in_ms(Millis(10'000)) + " FIELDS 2 a z");
  EXPECT_EQ(codes("HEXPIRE h 10 FIELDS 1 y"), "-2");
  EXPECT_EQ(events(), "hx:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h y");
  EXPECT_EQ(expired_fields(), 2u);
}

TEST_P(HashExpireTest, HexpireOfAllThatIsLeftRemovesTheKey) {
  run("HSET h a 1");
  run("HSETEX h PX 100 FIELDS 1 x 8");
  advance(Millis(100));
  EXPECT_EQ(codes("HPEXPIRE h 0 FIELDS 2 x a"), "-2 2");
  EXPECT_EQ(events(), "hx:hexpired:h h:hexpired:h g:del:h");
  EXPECT_EQ(propagated(), "HDEL h x; HDEL h a");
  EXPECT_EQ(expired_fields(), 2u);
}

TEST_P(HashExpireTest, ATimeThatIsPastIsStoredWhereWhatIsDueIsKept) {
  run("HSET h a 1 b 2");
  context().policy = Policy::show;
  EXPECT_EQ(codes("HPEXPIREAT h 1 FIELDS 1 a"), "1");
  EXPECT_EQ(events(), "h:hexpire:h");
  EXPECT_EQ(run("HLEN h"), "(integer) 2");
  context().policy = Policy::reclaim;
  EXPECT_EQ(run("HLEN h"), "(integer) 1");
}

// ---- HPERSIST ----

TEST_P(HashExpireTest, HpersistRemovesDeadlines) {
  run("HSET h a 1");
  run("HSETEX h EX 20 FIELDS 2 x 1 y 2");
  EXPECT_EQ(codes("HPERSIST h FIELDS 4 a x none x"), "-1 1 -2 -1");
  EXPECT_EQ(events(), "h:hpersist:h");
  EXPECT_EQ(propagated(), "HPERSIST h FIELDS 1 x");
  EXPECT_EQ(codes("HTTL h FIELDS 2 x y"), "-1 20");
  EXPECT_EQ(codes("HPERSIST h FIELDS 1 a"), "-1");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(codes("HPERSIST none FIELDS 2 a b"), "-2 -2");
}

TEST_P(HashExpireTest, HpersistDoesNotReviveWhatIsDue) {
  make_partly_due();
  EXPECT_EQ(codes("HPERSIST h FIELDS 2 x z"), "-2 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hpersist:h");
  EXPECT_EQ(propagated(), "HDEL h x; HPERSIST h FIELDS 1 z");
}

TEST_P(HashExpireTest, HpersistChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("HPERSIST s FIELDS 1"), arity_error("hpersist"));
  EXPECT_EQ(run("HPERSIST s NONSENSE 1 a"), kBadCount);
  EXPECT_EQ(run("HPERSIST s FIELDS x a"), kNoInteger);
  EXPECT_EQ(run("HPERSIST s FIELDS 0 a"), kBadCount);
  EXPECT_EQ(run("HPERSIST s FIELDS 2 a"), kBadCount);
  EXPECT_EQ(run("HPERSIST s fields 1 a"), kWrongType);
}

// ---- HTTL, HPTTL, HEXPIRETIME, HPEXPIRETIME ----

TEST_P(HashExpireTest, TimesAreToldPerField) {
  run("HSET h a 1");
  run("HSETEX h PX 1600 FIELDS 1 x 1");
  EXPECT_EQ(codes("HPTTL h FIELDS 3 a none x"), "-1 -2 1600");
  EXPECT_EQ(codes("HTTL h FIELDS 3 a none x"), "-1 -2 2");
  EXPECT_EQ(codes("HPEXPIRETIME h FIELDS 1 x"), "1800000001600");
  EXPECT_EQ(codes("HEXPIRETIME h FIELDS 1 x"), "1800000002");
  EXPECT_EQ(events(), "");
}

TEST_P(HashExpireTest, SecondsAreRoundedToTheNearest) {
  run("HSETEX h PX 10000 FIELDS 1 x 1");
  for (const auto& [left, seconds] :
       {std::pair(10'000, "10"), std::pair(9'500, "10"), std::pair(9'499, "9"), std::pair(500, "1"),
        std::pair(499, "0"), std::pair(1, "0")}) {
    run("HPEXPIRE h " + std::to_string(left) + " FIELDS 1 x");
    EXPECT_EQ(codes("HTTL h FIELDS 1 x"), seconds) << left;
  }
}

TEST_P(HashExpireTest, AMissingKeyHasNoTimes) {
  for (const std::string name : {"HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME"}) {
    EXPECT_EQ(codes(name + " h FIELDS 2 a b"), "-2 -2");
    EXPECT_EQ(events(), "m:keymiss:h");
  }
}

TEST_P(HashExpireTest, AskingForATimeReclaimsWhatIsDue) {
  make_partly_due();
  EXPECT_EQ(codes("HTTL h FIELDS 2 x z"), "-2 60");
  EXPECT_EQ(events(), "hx:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h x");
}

TEST_P(HashExpireTest, HttlChecksInOrder) {
  put_string("s");
  for (const std::string name : {"httl", "hpttl", "hexpiretime", "hpexpiretime"}) {
    EXPECT_EQ(run(name + " s FIELDS 1"), arity_error(name));
    EXPECT_EQ(run(name + " s NONSENSE 1 a"), kSyntax);
    EXPECT_EQ(run(name + " s FIELDS x a"), kNoInteger);
    EXPECT_EQ(run(name + " s FIELDS 0 a"), kSyntax);
    EXPECT_EQ(run(name + " s FIELDS 2 a"), kSyntax);
    EXPECT_EQ(run(name + " s FIELDS 1 a"), kWrongType);
  }
}

}  // namespace hash_expire_test
}  // namespace mayfly
