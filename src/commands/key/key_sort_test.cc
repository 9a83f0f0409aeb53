// SPDX-License-Identifier: Apache-2.0
// SORT and SORT_RO of lists, sets and sorted sets in both forms: weights, patterns, limits, errors,
// and what is stored.

#include "commands/call_fixture.h"

namespace mayfly {
namespace key_sort_test {

constexpr const char* kSyntax = "(error) ERR syntax error";
constexpr const char* kNoNumber = "(error) ERR One or more scores can't be converted into double";
constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";

class SortCommandsTest : public CallFixture, public testing::WithParamInterface<ValueForm> {
 protected:
  SortCommandsTest() : CallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    if (GetParam() == ValueForm::table) {
      options.packed_set.members = options.packed_zset.members = options.intset_members = 0;
      options.list_limits.fill = 1;
    }
    return options;
  }

  // A sorted set of these members with the scores 0, 1, 2, ...; each is due at the same moment.
  void make_zset(std::initializer_list<std::string_view> names, Time deadline = kNever) {
    Slot slot = database().find(context(), "z");
    if (slot == kNoSlot) slot = database().make_members(context(), ValueType::zset, "z");
    MembersRef zset = database().members(context(), slot);
    double score = 0;
    for (const std::string_view name : names) zset.put(name, ScoreBytes(score++).view(), deadline);
  }

  // The reply without its quotes and commas.
  std::string items(std::string_view line) {
    std::string text = run(line);
    std::erase_if(text, [](char c) { return c == '"' || c == ','; });
    return text;
  }
};
INSTANTIATE_TEST_SUITE_P(Sorted, SortCommandsTest,
                         testing::Values(ValueForm::packed, ValueForm::table),
                         [](const auto& form) {
                           return form.param == ValueForm::packed ? "packed" : "table";
                         });

TEST_P(SortCommandsTest, NothingSortsToNothing) {
  EXPECT_EQ(run("SORT nothing"), "[]");
  EXPECT_EQ(run("SORT_RO nothing"), "[]");
  EXPECT_EQ(run("SORT nothing BY w_* LIMIT 0 -1 GET # GET o_* DESC alpha ASC"), "[]");
  EXPECT_EQ(propagated(), "");
}

TEST_P(SortCommandsTest, StoringNothingRemovesTheDestination) {
  EXPECT_EQ(run("SORT nothing STORE to"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:nothing");
  EXPECT_EQ(propagated(), "");
  run("SET to v");
  EXPECT_EQ(run("SORT nothing STORE to"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:nothing g:del:to");
  EXPECT_EQ(propagated(), "SORT nothing STORE to");
  EXPECT_EQ(run("EXISTS to"), "(integer) 0");
}

TEST_P(SortCommandsTest, StringsAndHashesAreNotSorted) {
  run("SET k v");
  EXPECT_EQ(run("SORT k"), kWrongType);
  EXPECT_EQ(run("SORT_RO k"), kWrongType);
  EXPECT_EQ(run("SORT k STORE k"), kWrongType);
  database()
      .members(context(), database().make_members(context(), ValueType::hash, "h"))
      .put("field", "value");
  EXPECT_EQ(run("SORT h"), kWrongType);
}

TEST_P(SortCommandsTest, OptionsAreChecked) {
  EXPECT_EQ(run("SORT nothing FOO"), kSyntax);
  EXPECT_EQ(run("SORT nothing BY"), kSyntax);
  EXPECT_EQ(run("SORT nothing GET"), kSyntax);
  EXPECT_EQ(run("SORT nothing LIMIT 0"), kSyntax);
  EXPECT_EQ(run("SORT nothing LIMIT x 1"), kNoInteger);
  EXPECT_EQ(run("SORT nothing LIMIT 0 x"), kNoInteger);
  EXPECT_EQ(run("SORT nothing STORE"), kSyntax);
  EXPECT_EQ(run("SORT_RO nothing STORE to"), kSyntax);
}

// ---- Weights ----

TEST_P(SortCommandsTest, ElementsAreNumbersUnlessAlphaIsSaid) {
  run("SADD s 10 9 1.5 -3 1e2");
  EXPECT_EQ(items("SORT s"), "[-3 1.5 9 10 1e2]");
  EXPECT_EQ(items("SORT s DESC"), "[1e2 10 9 1.5 -3]");
  EXPECT_EQ(items("SORT s ALPHA"), "[-3 1.5 10 1e2 9]");
  EXPECT_EQ(items("SORT_RO s ALPHA DESC"), "[9 1e2 10 1.5 -3]");
  EXPECT_EQ(items("SORT s DESC ASC"), "[-3 1.5 9 10 1e2]");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_P(SortCommandsTest, WhatIsNoNumberIsRefused) {
  run("SADD s 1 two");
  EXPECT_EQ(run("SORT s"), kNoNumber);
  EXPECT_EQ(run("SORT s STORE to"), kNoNumber);
  EXPECT_EQ(items("SORT s ALPHA"), "[1 two]");
  run("SADD t 1 nan");
  EXPECT_EQ(run("SORT t"), kNoNumber);
  run("SADD u 1 1e999");
  EXPECT_EQ(run("SORT u"), kNoNumber);
  run("SADD v 1 -inf 0x10");
  EXPECT_EQ(items("SORT v"), "[-inf 1 0x10]");
  run({"SADD", "w", "1", "-1", ""});
  EXPECT_EQ(run("SORT w"), "[\"-1\", \"\", \"1\"]");
}

TEST_P(SortCommandsTest, EqualWeightsAreInTheOrderOfTheElements) {
  run("SADD s 1 1.0 01 1e0");
  EXPECT_EQ(items("SORT s"), "[01 1 1.0 1e0]");
  EXPECT_EQ(items("SORT s DESC"), "[1e0 1.0 1 01]");
}

TEST_P(SortCommandsTest, LimitsAreCutToWhatThereIs) {
  run("SADD s 1 2 3 4 5");
  EXPECT_EQ(items("SORT s LIMIT 1 2"), "[2 3]");
  EXPECT_EQ(items("SORT s DESC LIMIT 1 2"), "[4 3]");
  EXPECT_EQ(items("SORT s LIMIT 3 9223372036854775807"), "[4 5]");
  EXPECT_EQ(items("SORT s LIMIT -7 2"), "[1 2]");
  EXPECT_EQ(items("SORT s LIMIT 3 -1"), "[4 5]");
  EXPECT_EQ(items("SORT s LIMIT 5 1"), "[]");
  EXPECT_EQ(items("SORT s LIMIT 9223372036854775807 1"), "[]");
  EXPECT_EQ(items("SORT s LIMIT 0 0"), "[]");
}

// ---- Patterns ----

TEST_P(SortCommandsTest, ByTakesWeightsFromKeys) {
  run("SADD s a b c d");
  run("MSET w_a 3 w_b 1 w_c 2");
  EXPECT_EQ(items("SORT s BY w_*"), "[d b c a]");  // d has no weight and counts as 0
  EXPECT_EQ(items("SORT s BY w_* DESC LIMIT 0 2"), "[a c]");
  EXPECT_EQ(items("SORT s BY w_* ALPHA"), "[d b c a]");
  run("SET w_d -1");
  EXPECT_EQ(items("SORT s BY w_*"), "[d b c a]");
  run("SET w_d x");
  EXPECT_EQ(run("SORT s BY w_*"), kNoNumber);
  EXPECT_EQ(items("SORT s BY w_* ALPHA DESC"), "[d a c b]");
}

TEST_P(SortCommandsTest, ByTakesWeightsFromFields) {
  run("SADD s a b c");
  run("HSET h_a_x w 3 v 1");
  run("HSET h_b_x w 1 v 3");
  run("SET h_c_x 7");  // no hash: no weight
  EXPECT_EQ(items("SORT s BY h_*_x->w"), "[c b a]");
  EXPECT_EQ(items("SORT s BY h_*_x->v"), "[c a b]");
  EXPECT_EQ(items("SORT s BY h_*_x->none"), "[a b c]");
  EXPECT_EQ(items("SORT s BY h_*_x ALPHA GET # GET h_*_x->w GET h_*_x GET h_*_x->"),
            "[a 3 (nil) (nil) b 1 (nil) (nil) c (nil) 7 (nil)]");
}

TEST_P(SortCommandsTest, GetRepliesWithWhatPatternsFind) {
  run("SADD s 1 2");
  run("MSET o_1 one o_2 two last1 x");
  EXPECT_EQ(items("SORT s GET o_*"), "[one two]");
  EXPECT_EQ(items("SORT s DESC GET # GET o_* GET last* GET none"),
            "[2 two (nil) (nil) 1 one x (nil)]");
}

TEST_P(SortCommandsTest, AFieldThatIsDueIsNoWeight) {
  run("SADD s a b");
  run("HSET h_a f 1");
  run("HSETEX h_b PX 10 FIELDS 1 f 0");
  run("HSET h_b g 1");
  EXPECT_EQ(items("SORT s BY h_*->f DESC GET h_*->f"), "[1 0]");
  advance(Millis(10));
  EXPECT_EQ(items("SORT s BY h_*->f DESC GET h_*->f"), "[1 (nil)]");
  EXPECT_EQ(propagated(), "HDEL h_b f");
}

TEST_P(SortCommandsTest, ByWithoutAStarDoesNotSort) {
  make_zset({"c", "a", "b"});
  EXPECT_EQ(items("SORT z BY nosort"), "[c a b]");
  EXPECT_EQ(items("SORT z BY nosort DESC"), "[b a c]");
  EXPECT_EQ(items("SORT z BY nosort LIMIT 1 1"), "[a]");
  EXPECT_EQ(items("SORT z BY nosort DESC LIMIT 0 2"), "[b a]");
  EXPECT_EQ(items("SORT z BY nosort DESC LIMIT 2 5"), "[c]");
  EXPECT_EQ(items("SORT z BY nosort DESC LIMIT 3 5"), "[]");
  EXPECT_EQ(items("SORT z BY nosort BY w_*"), "[c a b]");
  EXPECT_EQ(items("SORT z ALPHA"), "[a b c]");
  EXPECT_EQ(items("SORT z ALPHA DESC LIMIT 0 1"), "[c]");
  EXPECT_EQ(run("SORT z"), kNoNumber);
  run("SADD s x");
  EXPECT_EQ(items("SORT s BY nosort GET # GET #"), "[x x]");
}

// ---- Deadlines, and storing ----

TEST_P(SortCommandsTest, DueElementsAreLeftOut) {
  make_zset({"d", "e"}, now() + Millis(10));
  make_zset({"c", "a", "b"});
  run("SADD s 2 1");
  database().members(context(), database().find(context(), "s")).put("3", {}, now() + Millis(10));
  advance(Millis(10));
  EXPECT_EQ(items("SORT s"), "[1 2]");
  EXPECT_EQ(items("SORT z ALPHA"), "[a b c]");
  EXPECT_EQ(items("SORT z BY nosort DESC LIMIT 0 2"), "[b a]");
  context().policy = Policy::hide;
  EXPECT_EQ(items("SORT s DESC"), "[2 1]");
}

TEST_P(SortCommandsTest, WhatIsStoredIsAList) {
  run("SADD s 10 9 1");
  EXPECT_EQ(run("SORT s DESC STORE to"), "(integer) 3");
  EXPECT_EQ(events(), "n:new:to l:sortstore:to");
  EXPECT_EQ(changed_keys(), "to");
  EXPECT_EQ(propagated(), "SORT s DESC STORE to");
  EXPECT_EQ(run("TYPE to"), "list");
  EXPECT_EQ(items("LRANGE to 0 -1"), "[10 9 1]");
  run("EXPIRE to 100");
  EXPECT_EQ(run("SORT s LIMIT 1 1 STORE to"), "(integer) 1");
  EXPECT_EQ(events(), "l:sortstore:to");
  EXPECT_EQ(items("LRANGE to 0 -1"), "[9]");
  EXPECT_EQ(run("TTL to"), "(integer) -1");
  EXPECT_EQ(run("SORT s LIMIT 3 1 STORE to"), "(integer) 0");
  EXPECT_EQ(events(), "g:del:to");
  EXPECT_EQ(propagated(), "SORT s LIMIT 3 1 STORE to");
  EXPECT_EQ(run("EXISTS to"), "(integer) 0");
}

TEST_P(SortCommandsTest, TheSourceMayBeTheDestination) {
  run("SADD s 2 1");
  EXPECT_EQ(run("SORT s STORE s"), "(integer) 2");
  EXPECT_EQ(items("LRANGE s 0 -1"), "[1 2]");
  EXPECT_EQ(run("SORT s DESC STORE s"), "(integer) 2");
  EXPECT_EQ(items("LRANGE s 0 -1"), "[2 1]");
}

TEST_P(SortCommandsTest, PatternsAreStoredWithEmptyTextsForNothing) {
  run("SADD s 1 2");
  run("MSET o_2 two to found");
  run("HSET h_1 f v");
  EXPECT_EQ(run("SORT s GET # GET o_* GET h_*->f STORE o_2"), "(integer) 6");
  EXPECT_EQ(run("LRANGE o_2 0 -1"), R"(["1", "", "v", "2", "two", ""])");
}

TEST_P(SortCommandsTest, SetsWithoutAnOrderAreSortedToBeStored) {
  run("SADD s c a b");
  EXPECT_EQ(run("SORT s BY nosort STORE to"), "(integer) 3");
  EXPECT_EQ(items("LRANGE to 0 -1"), "[a b c]");
  make_zset({"c", "a", "b"});
  run("SORT z BY nosort DESC LIMIT 0 2 STORE to");
  EXPECT_EQ(items("LRANGE to 0 -1"), "[b a]");
}

// A replica that still has the member would store it.
TEST_P(SortCommandsTest, DueElementsAreRemovedBeforeAResultIsStored) {
  run("SADD s 1 2");
  database().members(context(), database().find(context(), "s")).put("3", {}, now() + Millis(10));
  make_zset({"d", "e"}, now() + Millis(10));
  advance(Millis(10));
  EXPECT_EQ(run("SORT s STORE to"), "(integer) 2");
  EXPECT_EQ(propagated(), "SREM s 3; SORT s STORE to");
  EXPECT_EQ(run("SORT z ALPHA STORE to"), "(integer) 0");
  EXPECT_EQ(propagated(), "UNLINK z; SORT z ALPHA STORE to");
  EXPECT_EQ(run("EXISTS z to"), "(integer) 0");
}

// ---- Lists ----

TEST_P(SortCommandsTest, ListsAreSorted) {
  run("RPUSH l 10 9 1.5 10 -3");
  EXPECT_EQ(items("SORT l"), "[-3 1.5 9 10 10]");
  EXPECT_EQ(items("SORT l ALPHA DESC"), "[9 10 10 1.5 -3]");
  EXPECT_EQ(items("SORT_RO l LIMIT 1 2"), "[1.5 9]");
  run("MSET w_10 1 w_9 2 w_1.5 3 w_-3 4");
  EXPECT_EQ(items("SORT l BY w_* GET # GET w_*"), "[10 1 10 1 9 2 1.5 3 -3 4]");
  run("RPUSH l x");
  EXPECT_EQ(run("SORT l"), kNoNumber);
}

TEST_P(SortCommandsTest, ListsKeepTheirOrderIfTheyAreNotSorted) {
  run("RPUSH l 2 1 4 3 5");
  EXPECT_EQ(items("SORT l BY nosort"), "[2 1 4 3 5]");
  EXPECT_EQ(items("SORT l BY nosort DESC"), "[5 3 4 1 2]");
  EXPECT_EQ(items("SORT l BY nosort LIMIT 1 2"), "[1 4]");
  EXPECT_EQ(items("SORT l BY nosort DESC LIMIT 1 2"), "[3 4]");
  EXPECT_EQ(items("SORT l BY nosort LIMIT 2 9223372036854775807"), "[4 3 5]");
  EXPECT_EQ(items("SORT l BY nosort LIMIT 5 1"), "[]");
  EXPECT_EQ(run("SORT l BY nosort LIMIT 0 3 STORE to"), "(integer) 3");
  EXPECT_EQ(items("LRANGE to 0 -1"), "[2 1 4]");
}

}  // namespace key_sort_test
}  // namespace mayfly
