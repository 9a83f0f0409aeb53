// SPDX-License-Identifier: Apache-2.0
// HGETEX and HGETDEL: replies, the order of checks, events, propagation and counts.

#include "commands/hash/hash_fixture.h"

namespace mayfly {
namespace hash_getex_test {

class HashGetexTest : public HashFixture {};
INSTANTIATE_TEST_SUITE_P(Hashes, HashGetexTest, kBothForms, form_name);

TEST_P(HashGetexTest, FieldsAndMembersMeanTheSame) {
  EXPECT_EQ(run("HSETEX h EX 10 MEMBERS 2 fields 1 members 2"), "(integer) 1");
  EXPECT_EQ(propagated(),
            "HSETEX h PXAT " + in_ms(Millis(10'000)) + " FIELDS 2 fields 1 members 2");
  EXPECT_EQ(run("HGETEX h PERSIST members 2 members fields"), R"(["2", "1"])");
  EXPECT_EQ(propagated(), "HPERSIST h FIELDS 2 members fields");
  EXPECT_EQ(run("HGETDEL h MEMBERS 1 fields"), R"(["1"])");
  EXPECT_EQ(propagated(), "HDEL h fields");
}

// ---- HGETEX ----

TEST_P(HashGetexTest, WithoutOptionsItIsHmget) {
  run("HSET h a 1 b 2");
  EXPECT_EQ(run("HGETEX h FIELDS 4 a none b a"), R"(["1", (nil), "2", "1"])");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(changed_keys(), "");
}

TEST_P(HashGetexTest, SetsDeadlines) {
  run("HSET h a 1 b 2");
  for (const std::string time : {"EX 10", "PX 10000", "exat 1800000010", "PXAT 1800000010000"}) {
    EXPECT_EQ(run("HGETEX h " + time + " FIELDS 2 a none"), R"(["1", (nil)])");
    EXPECT_EQ(events(), "h:hexpire:h");
    EXPECT_EQ(propagated(), "HPEXPIREAT h 1800000010000 FIELDS 1 a");
    EXPECT_EQ(codes("HTTL h FIELDS 2 a b"), "10 -1");
  }
  EXPECT_EQ(run("HGETEX h EX 10 FIELDS 1 none"), "[(nil)]");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
}

TEST_P(HashGetexTest, PersistRemovesDeadlines) {
  run("HSET h a 1");
  run("HSETEX h EX 10 FIELDS 1 x 2");
  EXPECT_EQ(run("HGETEX h persist FIELDS 3 a x none"), R"(["1", "2", (nil)])");
  EXPECT_EQ(events(), "h:hpersist:h");
  EXPECT_EQ(propagated(), "HPERSIST h FIELDS 1 x");
  EXPECT_EQ(codes("HTTL h FIELDS 2 a x"), "-1 -1");
  EXPECT_EQ(run("HGETEX h PERSIST FIELDS 2 a x"), R"(["1", "2"])");
  EXPECT_EQ(events(), "");
}

TEST_P(HashGetexTest, ATimeThatIsPastReturnsAndRemoves) {
  run("HSET h a 1 b 2");
  EXPECT_EQ(run("HGETEX h EX 0 FIELDS 3 a none a"), R"(["1", (nil), "1"])");
  EXPECT_EQ(events(), "h:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h a");
  EXPECT_EQ(expired_fields(), 1u);
  EXPECT_EQ(run("HGETEX h PXAT " + in_ms(Millis(0)) + " FIELDS 1 b"), R"(["2"])");
  EXPECT_EQ(events(), "h:hexpired:h g:del:h");
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(HashGetexTest, ReclaimsWhatIsDueFirst) {
  make_partly_due();
  EXPECT_EQ(run("HGETEX h EX 10 FIELDS 2 x a"), R"([(nil), "1"])");
  EXPECT_EQ(events(), "hx:hexpired:h h:hexpire:h");
  EXPECT_EQ(propagated(), "HDEL h x; HPEXPIREAT h " + in_ms(Millis(10'000)) + " FIELDS 1 a");
  EXPECT_EQ(run("HGETEX h FIELDS 1 y"), "[(nil)]");
  EXPECT_EQ(events(), "hx:hexpired:h");
  EXPECT_EQ(expired_fields(), 2u);
}

TEST_P(HashGetexTest, AMissingKeyIsAllNulls) {
  EXPECT_EQ(run("HGETEX h EX 10 FIELDS 2 a b"), "[(nil), (nil)]");
  EXPECT_EQ(events(), "m:keymiss:h");
  EXPECT_EQ(run("HGETEX h EX -1 FIELDS 2 a b"), time_error("hgetex"));
  EXPECT_EQ(events(), "m:keymiss:h");
}

TEST_P(HashGetexTest, HgetexChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("HGETEX s FIELDS 1"), arity_error("hgetex"));
  for (const std::string options :
       {"NONSENSE", "KEEPTTL", "NX", "EX", "EX 1 PX 1", "PERSIST EX 1", "EX 1 PERSIST", "EX 1 1"}) {
    EXPECT_EQ(run("HGETEX s " + options + " FIELDS x a"), kSyntax) << options;
  }
  EXPECT_EQ(run("HGETEX s EX x FIELDS y a"), kNoInteger);
  EXPECT_EQ(run("HGETEX s EX x FIELDS 0 a"), kBadCount);
  EXPECT_EQ(run("HGETEX s EX x FIELDS 0"), kBadCount);
  EXPECT_EQ(run("HGETEX s EX x FIELDS 2 a"), kBadCount);
  EXPECT_EQ(run("HGETEX s EX x a b"), kBadCount);
  EXPECT_EQ(run("HGETEX s EX x FIELDS 1 a"), kWrongType);
  run("HSET h a 1");
  EXPECT_EQ(run("HGETEX h EX x FIELDS 1 a"), kNoInteger);
  EXPECT_EQ(run("HGETEX h EX -1 FIELDS 1 a"), time_error("hgetex"));
  EXPECT_EQ(run("HGETEX h EX 5 EX 10 FIELDS 1 a"), "[\"1\"]");
  EXPECT_EQ(propagated(), "HPEXPIREAT h " + in_ms(Millis(10'000)) + " FIELDS 1 a");
}

// ---- HGETDEL ----

TEST_P(HashGetexTest, HgetdelReturnsAndRemoves) {
  run("HSET h a 1 b 2 c 3");
  EXPECT_EQ(run("HGETDEL h FIELDS 4 a none b a"), R"(["1", (nil), "2", (nil)])");
  EXPECT_EQ(events(), "h:hdel:h");
  EXPECT_EQ(propagated(), "HDEL h a b");
  EXPECT_EQ(expired_fields(), 0u);
  EXPECT_EQ(run("HGETDEL h FIELDS 1 c"), R"(["3"])");
  EXPECT_EQ(events(), "h:hdel:h g:del:h");
  EXPECT_EQ(run("HGETDEL h FIELDS 2 a c"), "[(nil), (nil)]");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
}

TEST_P(HashGetexTest, HgetdelReclaimsWhatIsDueFirst) {
  make_partly_due();
  EXPECT_EQ(run("HGETDEL h FIELDS 3 x a z"), R"([(nil), "1", "7"])");
  EXPECT_EQ(events(), "hx:hexpired:h h:hdel:h");
  EXPECT_EQ(propagated(), "HDEL h x; HDEL h a z");
  EXPECT_EQ(run("HGETDEL h FIELDS 2 y none"), "[(nil), (nil)]");
  EXPECT_EQ(events(), "hx:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h y");
}

TEST_P(HashGetexTest, HgetdelChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("HGETDEL s FIELDS 1"), arity_error("hgetdel"));
  EXPECT_EQ(run("HGETDEL s NONSENSE 1 a"), kSyntax);
  EXPECT_EQ(run("HGETDEL s FIELDS x a"), kNoInteger);
  EXPECT_EQ(run("HGETDEL s 1 FIELDS a"), kSyntax);
  EXPECT_EQ(run("HGETDEL s NONSENSE x a"), kSyntax);
  EXPECT_EQ(run("HGETDEL s FIELDS 0 a"), kBadCount);
  EXPECT_EQ(run("HGETDEL s FIELDS 2 a"), kBadCount);
  EXPECT_EQ(run("HGETDEL s fields 1 a"), kWrongType);
}

}  // namespace hash_getex_test
}  // namespace mayfly
