// SPDX-License-Identifier: Apache-2.0
// The plain commands of hashes: replies, errors, events, and what they do to fields that are due.

#include <set>

#include "commands/hash/hash_fixture.h"

namespace mayfly {
namespace hash_write_test {

using namespace std::string_view_literals;

class HashTest : public HashFixture {};
INSTANTIATE_TEST_SUITE_P(Hashes, HashTest, kBothForms, form_name);

// ---- Writing ----

TEST_P(HashTest, HsetSaysHowManyFieldsAreNew) {
  EXPECT_EQ(run("HSET h a 1 b 2"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:h h:hset:h");
  EXPECT_EQ(propagated(), "HSET h a 1 b 2");
  EXPECT_EQ(changed_keys(), "h");
  EXPECT_EQ(run("HSET h a 3 c 4"), "(integer) 1");
  EXPECT_EQ(events(), "h:hset:h");
  EXPECT_EQ(run("HGET h a"), "\"3\"");
}

TEST_P(HashTest, HsetLetsTheLaterOfTwoPairsWin) {
  EXPECT_EQ(run("HSET h a 1 a 2"), "(integer) 1");
  EXPECT_EQ(run("HGET h a"), "\"2\"");
  EXPECT_EQ(run("HLEN h"), "(integer) 1");
}

TEST_P(HashTest, HsetRefusesAFieldWithoutAValue) {
  EXPECT_EQ(run("HSET h a 1 b"), arity_error("hset"));
  EXPECT_EQ(run("HSET h a"), arity_error("hset"));
  EXPECT_EQ(run("HMSET h a 1 b"), arity_error("hmset"));
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("HLEN h"), "(integer) 0");
}

TEST_P(HashTest, HmsetSaysOk) {
  EXPECT_EQ(run("HMSET h a 1 b 2"), "OK");
  EXPECT_EQ(events(), "n:new:h h:hset:h");
  EXPECT_EQ(run("HMGET h a b"), "[\"1\", \"2\"]");
}

TEST_P(HashTest, HsetnxSetsOnlyWhatIsNotThere) {
  EXPECT_EQ(run("HSETNX h a 1"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:h h:hset:h");
  EXPECT_EQ(propagated(), "HSETNX h a 1");
  EXPECT_EQ(run("HSETNX h a 2"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("HGET h a"), "\"1\"");
}

TEST_P(HashTest, HdelRemovesTheKeyWithItsLastField) {
  run("HSET h a 1 b 2 c 3");
  EXPECT_EQ(run("HDEL h a nothing a"), "(integer) 1");
  EXPECT_EQ(events(), "h:hdel:h");
  EXPECT_EQ(propagated(), "HDEL h a nothing a");
  EXPECT_EQ(run("HDEL h b c"), "(integer) 2");
  EXPECT_EQ(events(), "h:hdel:h g:del:h");
  EXPECT_EQ(database().stored(), 0u);
  EXPECT_EQ(run("HDEL h a"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
}

TEST_P(HashTest, KeepsAnyBytes) {
  const std::string_view field = "f\0\r\n"sv;
  const std::string_view value = "\0\xff v"sv;
  EXPECT_EQ(run({"HSET", "h", field, value, "", ""}), "(integer) 2");
  EXPECT_EQ(run({"HGET", "h", field}), "\"\\x00\\xff v\"");
  EXPECT_EQ(run({"HGET", "h", "f"}), "(nil)");
  EXPECT_EQ(run({"HGET", "h", ""}), "\"\"");
  EXPECT_EQ(run({"HSTRLEN", "h", field}), "(integer) 4");
  EXPECT_EQ(run({"HDEL", "h", field, ""}), "(integer) 2");
}

// ---- Reading ----

TEST_P(HashTest, ReadsFieldsByName) {
  run("HSET h a 1 b twenty");
  EXPECT_EQ(run("HGET h a"), "\"1\"");
  EXPECT_EQ(lookups(), "h");
  EXPECT_EQ(run("HGET h c"), "(nil)");
  EXPECT_EQ(run("HMGET h b c a b"), R"(["twenty", (nil), "1", "twenty"])");
  EXPECT_EQ(run("HSTRLEN h b"), "(integer) 6");
  EXPECT_EQ(run("HSTRLEN h c"), "(integer) 0");
  EXPECT_EQ(run("HEXISTS h a"), "(integer) 1");
  EXPECT_EQ(run("HEXISTS h c"), "(integer) 0");
  EXPECT_EQ(events(), "");
}

TEST_P(HashTest, ReadsAllFields) {
  run("HSET h a 1 b 2");
  EXPECT_EQ(sorted("HGETALL h"), "1 2 a b");
  EXPECT_EQ(sorted("HKEYS h"), "a b");
  EXPECT_EQ(sorted("HVALS h"), "1 2");
  EXPECT_EQ(run("HLEN h"), "(integer) 2");
}

TEST_P(HashTest, RepliesWithMapsInResp3) {
  run("HSET h a 1");
  set_protocol(3);
  EXPECT_EQ(run("HGETALL h"), R"({"a": "1"})");
  EXPECT_EQ(run("HKEYS h"), R"(["a"])");
  EXPECT_EQ(run("HGETALL none"), "{}");
  EXPECT_EQ(raw({"HGET", "h", "b"}), "_\r\n");
}

TEST_P(HashTest, FindsNothingUnderAMissingKey) {
  for (const auto& [line, reply] :
       {std::pair("HGET h a", "(nil)"), std::pair("HMGET h a b", "[(nil), (nil)]"),
        std::pair("HGETALL h", "[]"), std::pair("HKEYS h", "[]"), std::pair("HVALS h", "[]"),
        std::pair("HLEN h", "(integer) 0"), std::pair("HSTRLEN h a", "(integer) 0"),
        std::pair("HEXISTS h a", "(integer) 0"), std::pair("HSCAN h 0", "[\"0\", []]"),
        std::pair("HRANDFIELD h", "(nil)"), std::pair("HRANDFIELD h 3", "[]"),
        std::pair("HRANDFIELD h -3 WITHVALUES", "[]")}) {
    EXPECT_EQ(run(line), reply) << line;
    EXPECT_EQ(events(), "m:keymiss:h") << line;
    EXPECT_EQ(lookups(), "m") << line;
  }
  EXPECT_EQ(run("HDEL h a"), "(integer) 0");
  EXPECT_EQ(events(), "");
}

TEST_P(HashTest, RefusesKeysThatHoldSomethingElse) {
  put_string("s");
  for (const std::string_view line :
       {"HSET s a 1", "HMSET s a 1", "HSETNX s a 1", "HGET s a", "HMGET s a", "HGETALL s",
        "HKEYS s", "HVALS s", "HLEN s", "HSTRLEN s a", "HEXISTS s a", "HDEL s a", "HINCRBY s a 1",
        "HINCRBYFLOAT s a 1", "HSCAN s 0", "HRANDFIELD s", "HRANDFIELD s 2"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
    EXPECT_EQ(events(), "") << line;
    EXPECT_EQ(propagated(), "") << line;
  }
}

TEST_P(HashTest, CountsWords) {
  for (const std::string_view line :
       {"hset h", "hmset h a", "hsetnx h a", "hsetnx h a 1 2", "hget h", "hget h a b", "hmget h",
        "hgetall", "hgetall h a", "hkeys h a", "hvals h a", "hlen h a", "hstrlen h a b",
        "hexists h", "hdel h", "hincrby h a", "hincrbyfloat h a 1 2", "hscan h", "hrandfield"}) {
    EXPECT_EQ(run(line), arity_error(line.substr(0, line.find(' ')))) << line;
  }
}

// ---- Numbers ----

TEST_P(HashTest, HincrbyCountsFromZero) {
  EXPECT_EQ(run("HINCRBY h n 5"), "(integer) 5");
  EXPECT_EQ(events(), "n:new:h h:hincrby:h");
  EXPECT_EQ(propagated(), "HINCRBY h n 5");
  EXPECT_EQ(run("HINCRBY h n -7"), "(integer) -2");
  EXPECT_EQ(events(), "h:hincrby:h");
  EXPECT_EQ(run("HGET h n"), "\"-2\"");
}

TEST_P(HashTest, HincrbyRefusesWhatIsNoInteger) {
  run("HSET h text abc most 9223372036854775807 least -9223372036854775808 space 1\t");
  EXPECT_EQ(run("HINCRBY h n 1.5"), kNoInteger);
  EXPECT_EQ(run("HINCRBY h n abc"), kNoInteger);
  EXPECT_EQ(run("HINCRBY h text 1"), "(error) ERR hash value is not an integer");
  EXPECT_EQ(run("HINCRBY h space 1"), "(error) ERR hash value is not an integer");
  EXPECT_EQ(run("HINCRBY h most 1"), "(error) ERR increment or decrement would overflow");
  EXPECT_EQ(run("HINCRBY h least -1"), "(error) ERR increment or decrement would overflow");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("HINCRBY h most -1"), "(integer) 9223372036854775806");
  put_string("s");
  EXPECT_EQ(run("HINCRBY s n abc"), kNoInteger);  // before the key is looked at
}

TEST_P(HashTest, HincrbyfloatAddsNumbers) {
  EXPECT_EQ(run("HINCRBYFLOAT h n 10.5"), "\"10.5\"");
  EXPECT_EQ(events(), "n:new:h h:hincrbyfloat:h");
  EXPECT_EQ(propagated(), "HSET h n 10.5");
  EXPECT_EQ(run("HINCRBYFLOAT h n 0.1"), "\"10.6\"");
  EXPECT_EQ(run("HINCRBYFLOAT h n -5.6e0"), "\"5\"");
  EXPECT_EQ(run("HINCRBYFLOAT h n 5.0e3"), "\"5005\"");
}

TEST_P(HashTest, HincrbyfloatRefusesWhatIsNoNumber) {
  run("HSET h text abc big 1e4932");
  EXPECT_EQ(run("HINCRBYFLOAT h n abc"), "(error) ERR value is not a valid float");
  EXPECT_EQ(run({"HINCRBYFLOAT", "h", "n", " 1"}), "(error) ERR value is not a valid float");
  EXPECT_EQ(run("HINCRBYFLOAT h n nan"), "(error) ERR value is not a valid float");
  EXPECT_EQ(run("HINCRBYFLOAT h n inf"), "(error) ERR value is NaN or Infinity");
  EXPECT_EQ(run("HINCRBYFLOAT h text 1"), "(error) ERR hash value is not a float");
  EXPECT_EQ(run("HINCRBYFLOAT h big 1e4932"),
            "(error) ERR increment would produce NaN or Infinity");
  EXPECT_EQ(run("HEXISTS h n"), "(integer) 0");
}

// ---- Fields that are due ----

TEST_P(HashTest, AFieldIsGoneAtItsDeadline) {
  run("HSET h a 1");
  run("HSETEX h PX 100 FIELDS 1 x 8");
  advance(Millis(99));
  EXPECT_EQ(run("HGET h x"), "\"8\"");
  EXPECT_EQ(run("HLEN h"), "(integer) 2");
  advance(Millis(1));
  EXPECT_EQ(run("HLEN h"), "(integer) 1");
  EXPECT_EQ(run("HGET h x"), "(nil)");
}

TEST_P(HashTest, NamingAFieldThatIsDueReclaimsIt) {
  for (const auto& [line, reply] :
       {std::pair("HGET h x", "(nil)"), std::pair("HMGET h x x", "[(nil), (nil)]"),
        std::pair("HSTRLEN h x", "(integer) 0"), std::pair("HEXISTS h x", "(integer) 0"),
        std::pair("HDEL h x", "(integer) 0")}) {
    make_partly_due();
    const std::uint64_t before = expired_fields();
    EXPECT_EQ(run(line), reply) << line;
    EXPECT_EQ(events(), "hx:hexpired:h") << line;
    EXPECT_EQ(propagated(), "HDEL h x") << line;
    EXPECT_EQ(expired_fields(), before + 1) << line;
    EXPECT_EQ(run(line), reply) << line;
    EXPECT_EQ(events(), "") << line;
  }
}

TEST_P(HashTest, ReadingAllFieldsHidesWhatIsDueAndKeepsIt) {
  make_partly_due();
  EXPECT_EQ(sorted("HGETALL h"), "1 2 7 a b z");
  EXPECT_EQ(sorted("HKEYS h"), "a b z");
  EXPECT_EQ(sorted("HVALS h"), "1 2 7");
  EXPECT_EQ(sorted("HSCAN h 0 NOVALUES"), "0 a b z");
  EXPECT_EQ(run("HLEN h"), "(integer) 3");
  EXPECT_EQ(sorted("HRANDFIELD h 10"), "a b z");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(expired_fields(), 0u);
  EXPECT_EQ(database().members(context(), database().peek(context(), "h")).stored(), 5u);
}

TEST_P(HashTest, AHashWithNothingAliveIsNoKey) {
  run("HSETEX h PX 100 FIELDS 2 x 8 y 9");
  advance(Millis(100));
  EXPECT_EQ(run("HGET h x"), "(nil)");
  EXPECT_EQ(events(), "hx:hexpired:h g:del:h m:keymiss:h");
  EXPECT_EQ(propagated(), "UNLINK h");
  EXPECT_EQ(expired_fields(), 2u);
  EXPECT_EQ(database().stored(), 0u);
}

TEST_P(HashTest, OverwritingWhatIsDueMakesANewField) {
  make_partly_due();
  EXPECT_EQ(run("HSET h x 1 y 2 a 3"), "(integer) 2");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h");
  EXPECT_EQ(propagated(), "HDEL h x y; HSET h x 1 y 2 a 3");
  EXPECT_EQ(expired_fields(), 2u);
  EXPECT_EQ(codes("HTTL h FIELDS 2 x y"), "-1 -1");
}

TEST_P(HashTest, HsetRemovesTheDeadlineOfALiveField) {
  run("HSETEX h EX 10 FIELDS 1 a 1");
  EXPECT_EQ(run("HSET h a 2"), "(integer) 0");
  EXPECT_EQ(events(), "h:hset:h");
  EXPECT_EQ(codes("HTTL h FIELDS 1 a"), "-1");
}

TEST_P(HashTest, HsetnxKeepsALiveFieldWithItsDeadlineAndReplacesADueOne) {
  make_partly_due();
  EXPECT_EQ(run("HSETNX h z 1"), "(integer) 0");
  EXPECT_EQ(codes("HPTTL h FIELDS 1 z"), "59900");
  EXPECT_EQ(run("HSETNX h x 1"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hset:h");
  EXPECT_EQ(propagated(), "HDEL h x; HSET h x 1");
  EXPECT_EQ(codes("HTTL h FIELDS 1 x"), "-1");
}

TEST_P(HashTest, CountingKeepsADeadlineAndStartsAnewFromWhatIsDue) {
  make_partly_due();
  EXPECT_EQ(run("HINCRBY h z 1"), "(integer) 8");
  EXPECT_EQ(events(), "h:hincrby:h");
  EXPECT_EQ(propagated(), "HSETEX h PXAT " + in_ms(Millis(59'900)) + " FIELDS 1 z 8");
  EXPECT_EQ(run("HINCRBY h a 1"), "(integer) 2");
  EXPECT_EQ(propagated(), "HSET h a 2");
  EXPECT_EQ(run("HINCRBY h x 1"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hincrby:h");
  EXPECT_EQ(propagated(), "HDEL h x; HSET h x 1");
  EXPECT_EQ(run("HINCRBYFLOAT h y 0.5"), "\"0.5\"");
  EXPECT_EQ(events(), "hx:hexpired:h h:hincrbyfloat:h");
  EXPECT_EQ(propagated(), "HDEL h y; HSET h y 0.5");
  EXPECT_EQ(run("HINCRBYFLOAT h z 0.5"), "\"8.5\"");
  EXPECT_EQ(propagated(), "HSETEX h PXAT " + in_ms(Millis(59'900)) + " FIELDS 1 z 8.5");
  EXPECT_EQ(codes("HPTTL h FIELDS 4 a x y z"), "-1 -1 -1 59900");
  EXPECT_EQ(expired_fields(), 2u);
}

TEST_P(HashTest, HdelTellsWhatWasDueThenWhatItRemovedThenTheKey) {
  run("HSET h a 1");
  run("HSETEX h PX 100 FIELDS 1 x 8");
  advance(Millis(100));
  EXPECT_EQ(run("HDEL h x a"), "(integer) 1");
  EXPECT_EQ(events(), "hx:hexpired:h h:hdel:h g:del:h");
  EXPECT_EQ(propagated(), "HDEL h x; HDEL h x a");
}

TEST_P(HashTest, AClientOfAReplicaSeesWhatIsAliveAndReclaimsNothing) {
  make_partly_due();
  context().policy = Policy::hide;
  EXPECT_EQ(run("HMGET h a x"), "[\"1\", (nil)]");
  EXPECT_EQ(run("HLEN h"), "(integer) 3");
  EXPECT_EQ(sorted("HKEYS h"), "a b z");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(database().members(context(), database().peek(context(), "h")).stored(), 5u);
}

TEST_P(HashTest, ThePrimarysCommandsSeeWhatIsDue) {
  make_partly_due();
  context().policy = Policy::show;
  EXPECT_EQ(run("HMGET h a x"), "[\"1\", \"8\"]");
  EXPECT_EQ(run("HLEN h"), "(integer) 5");
  EXPECT_EQ(sorted("HKEYS h"), "a b x y z");
  EXPECT_EQ(run("HINCRBY h x 1"), "(integer) 9");
  EXPECT_EQ(run("HDEL h x y"), "(integer) 2");
  EXPECT_EQ(events(), "h:hdel:h");
  context().policy = Policy::reclaim;
}

// ---- Encodings ----

class HashLimitTest : public HashFixture {};
INSTANTIATE_TEST_SUITE_P(Hashes, HashLimitTest, testing::Values(ValueForm::packed), form_name);

TEST_P(HashLimitTest, AHashIsPackedUpTo512FieldsAnd64Bytes) {
  for (int i = 0; i < 512; ++i) run({"HSET", "h", std::to_string(i), "v"});
  EXPECT_TRUE(is_packed("h"));
  run("HSET h 0 again");
  EXPECT_TRUE(is_packed("h"));
  run("HSET h more v");
  EXPECT_FALSE(is_packed("h"));
  EXPECT_EQ(run("HLEN h"), "(integer) 513");
}

// A table has a floor of some KiB; one long value is no reason to pay it.
TEST_P(HashLimitTest, AHashWithALongValueSaysItIsATableAndStaysPackedBelow8KiB) {
  const std::string long_word(65, 'x');
  run({"HSET", "values", "f", long_word.substr(1)});
  EXPECT_EQ(encoding("values"), "listpack");
  run({"HSET", "values", "f", long_word});
  EXPECT_EQ(encoding("values"), "hashtable");
  EXPECT_TRUE(is_packed("values"));
  run({"HSET", "fields", long_word, "v"});
  EXPECT_EQ(encoding("fields"), "hashtable");
  run({"HSET", "values", "g", std::string(8192, 'x')});
  EXPECT_FALSE(is_packed("values"));
  EXPECT_EQ(run("HGET values f"), '"' + long_word + '"');
}

TEST_P(HashLimitTest, DeadlinesStayWhenAHashGrowsOutOfItsPack) {
  run("HSETEX h EX 10 FIELDS 2 x 1 y 2");
  EXPECT_TRUE(is_packed("h"));
  run({"HSET", "h", "a", std::string(9000, 'v')});
  EXPECT_FALSE(is_packed("h"));
  EXPECT_EQ(codes("HTTL h FIELDS 3 a x y"), "-1 10 10");
  advance(Millis(10'000));
  EXPECT_EQ(run("HLEN h"), "(integer) 1");
  EXPECT_EQ(sorted("HKEYS h"), "a");
}

}  // namespace hash_write_test
}  // namespace mayfly
