// SPDX-License-Identifier: Apache-2.0
// HSETEX in both its forms: options, the order of checks, conditions, times that are past, events
// and propagation.

#include "commands/hash/hash_fixture.h"

namespace mayfly {
namespace hash_setex_test {

class HashSetexTest : public HashFixture {
 protected:
  // "HSETEX h PXAT <that moment> FIELDS " and the rest.
  std::string propagated_at(Millis from_now, std::string_view rest) {
    std::string text = "HSETEX h PXAT " + in_ms(from_now) + " FIELDS ";
    return text.append(rest);
  }
};
INSTANTIATE_TEST_SUITE_P(Hashes, HashSetexTest, kBothForms, form_name);

// ---- Setting ----

TEST_P(HashSetexTest, WithoutOptionsItIsHset) {
  EXPECT_EQ(run("HSETEX h FIELDS 2 a 1 b 2"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:h h:hset:h");
  EXPECT_EQ(propagated(), "HSETEX h FIELDS 2 a 1 b 2");
  EXPECT_EQ(changed_keys(), "h");
  EXPECT_EQ(run("HMGET h a b"), R"(["1", "2"])");
  run("HEXPIRE h 10 FIELDS 1 a");
  EXPECT_EQ(run("hsetex h fields 1 a 3"), "(integer) 1");
  EXPECT_EQ(codes("HTTL h FIELDS 1 a"), "-1");
}

TEST_P(HashSetexTest, EveryKindOfTimeIsPropagatedAsAMoment) {
  for (const std::string time : {"EX 10", "px 10000", "EXAT 1800000010", "PXAT 1800000010000"}) {
    EXPECT_EQ(run("HSETEX h " + time + " FIELDS 2 a 1 b 2"), "(integer) 1");
    EXPECT_EQ(events().substr(events().find("h:hset")), "h:hset:h h:hexpire:h");
    EXPECT_EQ(propagated(), propagated_at(Millis(10'000), "2 a 1 b 2"));
    EXPECT_EQ(codes("HPTTL h FIELDS 2 a b"), "10000 10000");
  }
}

TEST_P(HashSetexTest, ANewKeyIsToldFirst) {
  run("HSETEX h EX 10 FIELDS 1 a 1");
  EXPECT_EQ(events(), "n:new:h h:hset:h h:hexpire:h");
}

TEST_P(HashSetexTest, KeepttlKeepsTheDeadlinesOfLiveFields) {
  make_partly_due();
  EXPECT_EQ(run("HSETEX h KEEPTTL FIELDS 3 a 5 x 6 z 7"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h");
  EXPECT_EQ(propagated(), "HDEL h x; HSETEX h KEEPTTL FIELDS 3 a 5 x 6 z 7");
  EXPECT_EQ(codes("HPTTL h FIELDS 3 a x z"), "-1 -1 59900");
  EXPECT_EQ(run("HMGET h a x z"), R"(["5", "6", "7"])");
}

TEST_P(HashSetexTest, OverwritingWhatIsDueTellsItFirst) {
  make_partly_due();
  EXPECT_EQ(run("HSETEX h EX 10 FIELDS 3 x 1 y 2 a 3"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h h:hexpire:h");
  EXPECT_EQ(propagated(), "HDEL h x y; " + propagated_at(Millis(10'000), "3 x 1 y 2 a 3"));
  EXPECT_EQ(expired_fields(), 2u);
}

TEST_P(HashSetexTest, TheLaterOfTwoPairsWins) {
  EXPECT_EQ(run("HSETEX h EX 10 FIELDS 2 a 1 a 2"), "(integer) 1");
  EXPECT_EQ(run("HGET h a"), "\"2\"");
  EXPECT_EQ(run("HLEN h"), "(integer) 1");
}

TEST_P(HashSetexTest, TheSameOptionAgainReplacesItself) {
  EXPECT_EQ(run("HSETEX h EX 10 FNX EX 20 FNX NX NX FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(propagated(), propagated_at(Millis(20'000), "1 a 1"));
  EXPECT_EQ(codes("HTTL h FIELDS 1 a"), "20");
  EXPECT_EQ(run("HSETEX h KEEPTTL KEEPTTL FIELDS 1 a 2"), "(integer) 1");
  EXPECT_EQ(run("HSETEX h PXAT 1 PXAT 1800000030000 FIELDS 1 a 2"), "(integer) 1");
  EXPECT_EQ(propagated(), propagated_at(Millis(30'000), "1 a 2"));
}

TEST_P(HashSetexTest, KeysAndFieldsMayBeNamedLikeOptions) {
  for (const std::string key : {"nx", "fields", "FXX", "EX"}) {
    EXPECT_EQ(run("HSETEX " + key + " EX 100 FIELDS 2 fields 1 nx 2"), "(integer) 1");
    EXPECT_EQ(events(), "n:new:" + key + " h:hset:" + key + " h:hexpire:" + key);
    EXPECT_EQ(propagated(),
              "HSETEX " + key + " PXAT " + in_ms(Millis(100'000)) + " FIELDS 2 fields 1 nx 2");
  }
}

// ---- Conditions ----

TEST_P(HashSetexTest, NxAndXxAreAboutTheKey) {
  EXPECT_EQ(run("HSETEX h XX FIELDS 1 a 1"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(database().stored(), 0u);
  EXPECT_EQ(run("HSETEX h NX FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(propagated(), "HSETEX h FIELDS 1 a 1");
  EXPECT_EQ(run("HSETEX h nx FIELDS 1 b 1"), "(integer) 0");
  EXPECT_EQ(run("HSETEX h xx FIELDS 1 b 1"), "(integer) 1");
  EXPECT_EQ(propagated(), "HSETEX h FIELDS 1 b 1");
}

TEST_P(HashSetexTest, FnxWantsNoneOfTheFieldsAndFxxAll) {
  EXPECT_EQ(run("HSETEX h FXX FIELDS 1 a 1"), "(integer) 0");
  EXPECT_EQ(database().stored(), 0u);
  EXPECT_EQ(run("HSETEX h FNX FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(run("HSETEX h FNX FIELDS 2 b 1 a 1"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("HSETEX h FXX FIELDS 2 a 2 b 2"), "(integer) 0");
  EXPECT_EQ(run("HEXISTS h b"), "(integer) 0");
  EXPECT_EQ(run("HSETEX h FXX KEEPTTL FIELDS 1 a 2"), "(integer) 1");
  EXPECT_EQ(propagated(), "HSETEX h KEEPTTL FIELDS 1 a 2");
  EXPECT_EQ(run("HSETEX h XX FNX EX 10 FIELDS 1 b 2"), "(integer) 1");
  EXPECT_EQ(propagated(), propagated_at(Millis(10'000), "1 b 2"));
}

TEST_P(HashSetexTest, WhatIsDueCountsAsMissing) {
  make_partly_due();
  EXPECT_EQ(run("HSETEX h FXX EX 10 FIELDS 2 a 1 x 1"), "(integer) 0");
  EXPECT_EQ(events(), "hx:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h x");
  EXPECT_EQ(run("HGET h a"), "\"1\"");
  EXPECT_EQ(run("HSETEX h FNX EX 10 FIELDS 1 y 1"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h h:hexpire:h");
  EXPECT_EQ(expired_fields(), 2u);
}

TEST_P(HashSetexTest, AKeyOfWhichEverythingIsDueIsMissing) {
  run("HSETEX h PX 100 FIELDS 1 x 8");
  advance(Millis(100));
  EXPECT_EQ(run("HSETEX h NX EX 10 FIELDS 1 x 1"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h g:del:h n:new:h h:hset:h h:hexpire:h");
}

// ---- Times that are past ----

TEST_P(HashSetexTest, ATimeThatIsPastRemovesTheFields) {
  run("HSET h a 1 b 2");
  EXPECT_EQ(run("HSETEX h EX 0 FIELDS 2 a 5 none 6"), "(integer) 1");
  EXPECT_EQ(events(), "h:hset:h h:hexpire:h h:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h a");
  EXPECT_EQ(expired_fields(), 2u);
  EXPECT_EQ(sorted("HKEYS h"), "b");
  EXPECT_EQ(run("HSETEX h PXAT " + in_ms(Millis(0)) + " FIELDS 1 b 5"), "(integer) 1");
  EXPECT_EQ(events(), "h:hset:h h:hexpire:h h:hexpired:h g:del:h");
  EXPECT_EQ(propagated(), "HDEL h b");
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(HashSetexTest, ATimeThatIsPastLeavesNothingOfAMissingKey) {
  EXPECT_EQ(run("HSETEX h PX 0 FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:h h:hset:h h:hexpire:h h:hexpired:h g:del:h");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(expired_fields(), 1u);
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(HashSetexTest, ATimeThatIsPastCountsEachFieldOnce) {
  make_partly_due();
  EXPECT_EQ(run("HSETEX h FNX EXAT 1 FIELDS 3 x 1 none 2 y 3"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h h:hexpire:h h:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h x y");
  EXPECT_EQ(expired_fields(), 3u);
  EXPECT_EQ(run("HLEN h"), "(integer) 3");
}

TEST_P(HashSetexTest, ATimeThatIsPastObeysConditions) {
  run("HSET h a 1");
  EXPECT_EQ(run("HSETEX h FNX EX 0 FIELDS 1 a 1"), "(integer) 0");
  EXPECT_EQ(run("HSETEX h NX EX 0 FIELDS 1 a 1"), "(integer) 0");
  EXPECT_EQ(run("HSETEX none FXX EX 0 FIELDS 1 a 1"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("HLEN h"), "(integer) 1");
  EXPECT_EQ(run("HSETEX h FXX EX 0 FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(run("HLEN h"), "(integer) 0");
}

TEST_P(HashSetexTest, ATimeThatIsPastIsStoredWhereWhatIsDueIsKept) {
  run("HSET h b 1");
  context().policy = Policy::show;
  EXPECT_EQ(run("HSETEX h PXAT 5 FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(propagated(), "HSETEX h PXAT 5 FIELDS 1 a 1");
  EXPECT_EQ(run("HGET h a"), "\"1\"");
  context().policy = Policy::reclaim;
  EXPECT_EQ(run("HGET h a"), "(nil)");
}

TEST_P(HashSetexTest, ATimeThatIsPastDoesNotUnpack) {
  run("HSET h a 1 b 2");
  const bool before = is_packed("h");
  run({"HSETEX", "h", "EX", "0", "FIELDS", "1", "a", std::string(100, 'v')});
  EXPECT_EQ(is_packed("h"), before);
}

// ---- Errors ----

TEST_P(HashSetexTest, ChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("HSETEX s FIELDS 1 a"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s a b c"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s NX a"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s NONSENSE EX x FIELDS y a 1"), kSyntax);
  EXPECT_EQ(run("HSETEX s EX x FIELDS y a 1"), kNoInteger);
  EXPECT_EQ(run("HSETEX s EX x FIELDS 0 a 1"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x FIELDS 0"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x FIELDS -1 a 1"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x FIELDS 2 a 1"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x FIELDS 1 a 1 b"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x FIELDS 9223372036854775807 a 1"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x a 1 b 2"), kBadCount);  // no FIELDS
  EXPECT_EQ(run("HSETEX s EX x a 1 FIELDS"), kBadCount);
  EXPECT_EQ(run("HSETEX s EX x FIELDS 1 a 1"), kWrongType);
  run("HSET h a 1");
  EXPECT_EQ(run("HSETEX h NX EX x FIELDS 1 a 1"), "(integer) 0");
  EXPECT_EQ(run("HSETEX h FNX EX x FIELDS 1 a 1"), kNoInteger);
  EXPECT_EQ(run("HSETEX h FNX EX -1 FIELDS 1 a 1"), time_error("hsetex"));
  EXPECT_EQ(run("HSETEX none FXX EX -1 FIELDS 1 a 1"), time_error("hsetex"));
  EXPECT_EQ(events(), "");
}

TEST_P(HashSetexTest, RefusesOptionsThatDoNotGoTogether) {
  for (const std::string options :
       {"EX 1 PX 1", "EX 1 EXAT 1", "PXAT 1 PX 1", "KEEPTTL EX 1", "EX 1 KEEPTTL", "NX XX", "XX NX",
        "FNX FXX", "FXX FNX", "EX", "NX EX", "PERSIST", "GT", "EX 1 1"}) {
    EXPECT_EQ(run("HSETEX h " + options + " FIELDS 1 a 1"), kSyntax) << options;
  }
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(HashSetexTest, TimesHaveLimits) {
  EXPECT_EQ(run("HSETEX h EX 9223372036854776 FIELDS 1 a 1"), time_error("hsetex"));
  EXPECT_EQ(run("HSETEX h PX 9223372036854775807 FIELDS 1 a 1"), time_error("hsetex"));
  EXPECT_EQ(run("HSETEX h PXAT 9223372036854775807 FIELDS 1 a 1"), "(integer) 1");
  EXPECT_EQ(codes("HPEXPIRETIME h FIELDS 1 a"), "9223372036854775806");
  EXPECT_EQ(run("HGET h a"), "\"1\"");
}

// ---- The short form ----

TEST_P(HashSetexTest, TheShortFormSaysHowManyFieldsAreNew) {
  EXPECT_EQ(run("HSETEX h 10 a 1"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:h h:hset:h h:hexpire:h");
  EXPECT_EQ(propagated(), propagated_at(Millis(10'000), "1 a 1"));
  EXPECT_EQ(run("HSETEX h 20 a 2 b 3"), "(integer) 1");
  EXPECT_EQ(codes("HTTL h FIELDS 2 a b"), "20 20");
  EXPECT_EQ(run("HMGET h a b"), R"(["2", "3"])");
}

TEST_P(HashSetexTest, TheShortFormWithNxLeavesFieldsThatAreThereAlone) {
  make_partly_due();
  EXPECT_EQ(run("HSETEX h nx 10 a 5 x 6 c 7 z 8 c 9"), "(integer) 2");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h h:hexpire:h");
  EXPECT_EQ(propagated(), "HDEL h x; " + propagated_at(Millis(10'000), "2 x 6 c 7"));
  EXPECT_EQ(run("HMGET h a c x z"), R"(["1", "7", "6", "7"])");
  EXPECT_EQ(codes("HPTTL h FIELDS 4 a c x z"), "-1 10000 10000 59900");
  EXPECT_EQ(run("HSETEX h NX 10 a 5 c 6"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
}

TEST_P(HashSetexTest, TheShortFormRemovesWhereItsTimeIsPast) {
  run("HSET h a 1 b 2");
  EXPECT_EQ(run("HSETEX h NX 0 a 5 c 6"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("HLEN h"), "(integer) 2");
  EXPECT_EQ(run("HSETEX h 0 a 5 c 6"), "(integer) 0");
  EXPECT_EQ(events(), "h:hset:h h:hexpire:h h:hexpired:h");
  EXPECT_EQ(propagated(), "HDEL h a");
  EXPECT_EQ(sorted("HKEYS h"), "b");
}

TEST_P(HashSetexTest, TheShortFormChecksInOrder) {
  put_string("s");
  EXPECT_EQ(run("HSETEX s 10 a"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s 10 a 1 b"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s NX 10 a"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s NX 10 a 1 b"), arity_error("hsetex"));
  EXPECT_EQ(run("HSETEX s 10x a 1"), kWrongType);
  EXPECT_EQ(run("HSETEX h 10x a 1"), kNoInteger);
  EXPECT_EQ(run("HSETEX h 99999999999999999999 a 1"), kNoInteger);
  EXPECT_EQ(run("HSETEX h -1 a 1"), time_error("hsetex"));
  EXPECT_EQ(run("HSETEX h 9223372036854776 a 1"), time_error("hsetex"));
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("HSETEX h 10 FIELDS 1 a 1"), "(integer) 2");  // fields with these names
}

}  // namespace hash_setex_test
}  // namespace mayfly
