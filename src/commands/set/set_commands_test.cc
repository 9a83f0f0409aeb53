// SPDX-License-Identifier: Apache-2.0
// The plain commands of sets: replies, errors, events, propagation, and members that are due.

#include <map>

#include "commands/set/set_fixture.h"

namespace mayfly {
namespace set_commands_test {

class SetTest : public SetFixture {};
INSTANTIATE_TEST_SUITE_P(Sets, SetTest, SetFixture::kForms, SetFixture::name);

// ---- Adding and removing ----

TEST_P(SetTest, SaddSaysHowManyMembersAreNew) {
  EXPECT_EQ(run("SADD s a b a"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:s s:sadd:s");
  EXPECT_EQ(propagated(), "SADD s a b a");
  EXPECT_EQ(changed_keys(), "s");
  EXPECT_EQ(run("SADD s a c"), "(integer) 1");
  EXPECT_EQ(events(), "s:sadd:s");
  EXPECT_EQ(run("SADD s a c"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(changed_keys(), "");
  EXPECT_EQ(sorted("SMEMBERS s"), "a b c");
}

TEST_P(SetTest, MembersAreAnyBytes) {
  EXPECT_EQ(run({"SADD", "s", "", std::string_view("\0\r\n", 3)}), "(integer) 2");
  EXPECT_EQ(run({"SISMEMBER", "s", ""}), "(integer) 1");
  EXPECT_EQ(run({"SISMEMBER", "s", std::string_view("\0\r\n", 3)}), "(integer) 1");
  EXPECT_EQ(run({"SISMEMBER", "s", std::string_view("\0", 1)}), "(integer) 0");
}

TEST_P(SetTest, SaddOfAMemberThatIsThereKeepsItsDeadline) {
  put("s", "a", Millis(50));
  EXPECT_EQ(run("SADD s a b"), "(integer) 1");
  EXPECT_EQ(deadline("s", "a"), now() + Millis(50));
  EXPECT_EQ(deadline("s", "b"), kNever);
}

TEST_P(SetTest, SaddOfADueMemberAddsItWithoutADeadline) {
  make_partly_due();
  EXPECT_EQ(run("SADD s x a"), "(integer) 1");
  EXPECT_EQ(events(), "sx:sexpired:s s:sadd:s");
  EXPECT_EQ(propagated(), "SREM s x; SADD s x a");
  EXPECT_EQ(deadline("s", "x"), kNever);
  EXPECT_EQ(run("SCARD s"), "(integer) 4");
}

TEST_P(SetTest, SremRemovesTheKeyWithItsLastMember) {
  run("SADD s a b c");
  EXPECT_EQ(run("SREM s a nothing a"), "(integer) 1");
  EXPECT_EQ(events(), "s:srem:s");
  EXPECT_EQ(run("SREM s nothing"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("SREM s b c d"), "(integer) 2");
  EXPECT_EQ(events(), "s:srem:s g:del:s");
  EXPECT_EQ(propagated(), "SREM s b c d");
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
  EXPECT_EQ(run("SREM s a"), "(integer) 0");
}

TEST_P(SetTest, SremOfADueMemberRemovesNothing) {
  make_partly_due();
  EXPECT_EQ(run("SREM s x y"), "(integer) 0");
  EXPECT_EQ(events(), "sx:sexpired:s");
  EXPECT_EQ(propagated(), "SREM s x y");
  EXPECT_EQ(expired_members(), 2u);
}

// ---- Reading ----

TEST_P(SetTest, DueMembersDoNotExist) {
  make_partly_due();
  EXPECT_EQ(run("SCARD s"), "(integer) 3");
  EXPECT_EQ(sorted("SMEMBERS s"), "a b z");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("SMISMEMBER s a x z q"), "[(integer) 1, (integer) 0, (integer) 1, (integer) 0]");
  EXPECT_EQ(events(), "sx:sexpired:s");
  EXPECT_EQ(run("SISMEMBER s y"), "(integer) 0");
  EXPECT_EQ(propagated(), "SREM s y");
  EXPECT_EQ(run("SCARD s"), "(integer) 3");
}

TEST_P(SetTest, AKeyWhoseMembersAreAllDueDoesNotExist) {
  put("s", "a", Millis(10));
  put("s", "b", Millis(20));
  advance(Millis(20));
  EXPECT_EQ(run("SMEMBERS s"), "[]");
  EXPECT_EQ(events(), "sx:sexpired:s g:del:s m:keymiss:s");
  EXPECT_EQ(run("SCARD s"), "(integer) 0");
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
}

TEST_P(SetTest, AReplicaHidesWhatIsDueAndKeepsIt) {
  make_partly_due();
  context().policy = Policy::hide;
  EXPECT_EQ(run("SCARD s"), "(integer) 3");
  EXPECT_EQ(run("SMISMEMBER s a x"), "[(integer) 1, (integer) 0]");
  EXPECT_EQ(sorted("SMEMBERS s"), "a b z");
  EXPECT_EQ(events(), "");
  context().policy = Policy::show;
  EXPECT_EQ(run("SCARD s"), "(integer) 5");
  EXPECT_EQ(run("SADD s x"), "(integer) 0");
  EXPECT_EQ(run("SREM s x"), "(integer) 1");
}

TEST_P(SetTest, NothingIsReadFromAMissingKey) {
  EXPECT_EQ(run("SISMEMBER s a"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:s");
  EXPECT_EQ(run("SMISMEMBER s a b"), "[(integer) 0, (integer) 0]");
  EXPECT_EQ(run("SMEMBERS s"), "[]");
  EXPECT_EQ(run("SCARD s"), "(integer) 0");
}

TEST_P(SetTest, MembersAreASetInResp3) {
  run("SADD s a");
  set_protocol(3);
  EXPECT_EQ(raw({"SMEMBERS", "s"}), "~1\r\n$1\r\na\r\n");
  EXPECT_EQ(raw({"SMEMBERS", "none"}), "~0\r\n");
  EXPECT_EQ(raw({"SMISMEMBER", "s", "a"}), "*1\r\n:1\r\n");
  EXPECT_EQ(raw({"SPOP", "none"}), "_\r\n");
  EXPECT_EQ(raw({"SPOP", "none", "2"}), "~0\r\n");
  EXPECT_EQ(raw({"SPOP", "s", "0"}), "~0\r\n");
  EXPECT_EQ(raw({"SPOP", "s", "2"}), "~1\r\n$1\r\na\r\n");
}

TEST_P(SetTest, OtherTypesAreRefused) {
  run("SET k v");
  for (const std::string_view line :
       {"SADD k a", "SREM k a", "SISMEMBER k a", "SMISMEMBER k a", "SMEMBERS k", "SCARD k",
        "SPOP k", "SPOP k 2", "SPOP k 0", "SMOVE k k a", "SMOVE k other a"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
    EXPECT_EQ(propagated(), "") << line;
  }
  run("SADD s a");
  EXPECT_EQ(run("SMOVE s k a"), kWrongType);
  EXPECT_EQ(run("SMOVE s k nothing"), kWrongType);
  EXPECT_EQ(run("SMOVE none k a"), "(integer) 0");
  EXPECT_EQ(run("GET s"), kWrongType);
}

// ---- SMOVE ----

TEST_P(SetTest, SmoveMovesAMember) {
  run("SADD a x y");
  EXPECT_EQ(run("SMOVE a b x"), "(integer) 1");
  EXPECT_EQ(events(), "s:srem:a n:new:b s:sadd:b");
  EXPECT_EQ(changed_keys(), "a b");
  EXPECT_EQ(propagated(), "SMOVE a b x");
  EXPECT_EQ(run("SMOVE a b x"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("SMOVE a b y"), "(integer) 1");
  EXPECT_EQ(events(), "s:srem:a g:del:a s:sadd:b");
  EXPECT_EQ(sorted("SMEMBERS b"), "x y");
  EXPECT_EQ(run("SMOVE b b x"), "(integer) 1");
  EXPECT_EQ(run("SMOVE b b q"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_P(SetTest, SmoveTakesTheDeadlineAlong) {
  run("SADD b y");
  put("a", "x", Millis(50));
  put("a", "y", Millis(60));
  run("SMOVE a b x");
  EXPECT_EQ(deadline("b", "x"), now() + Millis(50));
  run("SMOVE a b y");  // the one that is there is not changed
  EXPECT_EQ(events(), "s:srem:a g:del:a");
  EXPECT_EQ(deadline("b", "y"), kNever);
}

TEST_P(SetTest, SmoveDoesNotSeeDueMembers) {
  make_partly_due();
  EXPECT_EQ(run("SMOVE s t x"), "(integer) 0");
  EXPECT_EQ(propagated(), "SREM s x");
  EXPECT_EQ(run("EXISTS t"), "(integer) 0");
  run("SADD t y");
  EXPECT_EQ(run("SMOVE t s y"), "(integer) 1");
  EXPECT_EQ(events(), "s:srem:t g:del:t sx:sexpired:s s:sadd:s");
  EXPECT_EQ(propagated(), "SREM s y; SMOVE t s y");
  EXPECT_EQ(deadline("s", "y"), kNever);
}

// ---- SPOP ----

TEST_P(SetTest, SpopRemovesARandomMember) {
  run("SADD s a b");
  const std::string first = run("SPOP s");
  EXPECT_TRUE(first == "\"a\"" || first == "\"b\"") << first;
  EXPECT_EQ(events(), "s:spop:s");
  EXPECT_EQ(propagated(), "SREM s " + first.substr(1, 1));
  EXPECT_EQ(run("SCARD s"), "(integer) 1");
  run("SPOP s");
  EXPECT_EQ(events(), "s:spop:s g:del:s");
  EXPECT_EQ(run("SPOP s"), "(nil)");
  EXPECT_EQ(propagated(), "");
}

TEST_P(SetTest, SpopWithACountRemovesSoMany) {
  run("SADD s a b c d e");
  EXPECT_EQ(run("SPOP s 0"), "[]");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(bulks_of(run("SPOP s 3")).size(), 3u);
  EXPECT_EQ(events(), "s:spop:s");
  EXPECT_TRUE(propagated().starts_with("SREM s ")) << propagated();
  EXPECT_EQ(run("SCARD s"), "(integer) 2");
  EXPECT_EQ(bulks_of(run("SPOP s 3")).size(), 2u);
  EXPECT_EQ(events(), "s:spop:s g:del:s");
  EXPECT_EQ(propagated(), "UNLINK s");
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
  EXPECT_EQ(run("SPOP s 3"), "[]");
}

TEST_P(SetTest, SpopIsPropagatedInSeveralParts) {
  for (int i = 0; i < 1300; ++i) run({"SADD", "s", std::to_string(i)});
  run("SPOP s 1030");
  const std::string text = propagated();
  EXPECT_NE(text.find("; SREM s "), text.npos);
  EXPECT_EQ(std::ranges::count(text, ' '), 1030 + 3);
  EXPECT_EQ(run("SCARD s"), "(integer) 270");
}

TEST_P(SetTest, SpopTakesEachMemberAsOften) {
  std::map<std::string, int> seen;
  for (int i = 0; i < 600; ++i) {
    run("SADD s a b c");
    ++seen[run("SPOP s")];
  }
  for (const auto& [name, times] : seen) EXPECT_GT(times, 130) << name;
  EXPECT_EQ(seen.size(), 3u);
}

TEST_P(SetTest, SpopNeverTakesADueMember) {
  make_partly_due();
  EXPECT_EQ(bulks_of(run("SPOP s 2")).size(), 2u);
  const std::string last = run("SPOP s");
  EXPECT_TRUE(last == "\"a\"" || last == "\"b\"" || last == "\"z\"") << last;
  EXPECT_EQ(run("SPOP s"), "(nil)");  // the key went with its last member alive
  EXPECT_EQ(run("EXISTS s"), "(integer) 0");
  make_partly_due();
  EXPECT_EQ(sorted("SPOP s 3"), "a b z");
  EXPECT_EQ(propagated(), "UNLINK s");
}

TEST_P(SetTest, SpopFindsTheFewThatAreAlive) {
  for (int i = 0; i < 100; ++i) put("s", std::to_string(i), Millis(10));
  run("SADD s a b c");
  advance(Millis(10));
  EXPECT_EQ(bulks_of(run("SPOP s 2")).size(), 2u);
  EXPECT_EQ(run("SCARD s"), "(integer) 1");
}

TEST_P(SetTest, SpopChecksItsCount) {
  constexpr std::string_view kNegative = "(error) ERR value is out of range, must be positive";
  EXPECT_EQ(run("SPOP s -1"), kNegative);
  EXPECT_EQ(run("SPOP s x"), kNegative);
  EXPECT_EQ(run("SPOP s 1 2"), kSyntax);
}

}  // namespace set_commands_test
}  // namespace mayfly
