// SPDX-License-Identifier: Apache-2.0
// The string commands: replies, events and what replicas are told, row by row.

#include <string>

#include "commands/call_fixture.h"

namespace mayfly {
namespace string_commands_test {

constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr const char* kSyntax = "(error) ERR syntax error";

class StringCommandsTest : public CallFixture {
 protected:
  // A key that holds no string.
  void make_hash(std::string_view key) {
    const Slot slot = database().make_members(context(), ValueType::hash, key);
    database().members(context(), slot).put("field", "value");
  }
};

// ---- Reading ----

TEST_F(StringCommandsTest, GetReturnsWhatWasSet) {
  EXPECT_EQ(run("SET k v"), "OK");
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_EQ(lookups(), "h");
  EXPECT_EQ(run("GET nothing"), "(nil)");
  EXPECT_EQ(lookups(), "m");
  EXPECT_EQ(events(), "m:keymiss:nothing");
}

TEST_F(StringCommandsTest, BytesOfAnyKindSurvive) {
  const std::string bytes("\0\r\n\xff", 4);
  run({"SET", bytes, bytes});
  EXPECT_EQ(run({"GET", bytes}), "\"\\x00\\r\\n\\xff\"");
  run({"SET", "", ""});
  EXPECT_EQ(run({"GET", ""}), "\"\"");
}

TEST_F(StringCommandsTest, AStringIsGoneAtItsDeadline) {
  run("SET k v PX 100");
  advance(Millis(99));
  EXPECT_EQ(run("GET k"), "\"v\"");
  advance(Millis(1));
  EXPECT_EQ(run("GET k"), "(nil)");
  EXPECT_EQ(events(), "x:expired:k m:keymiss:k");
}

TEST_F(StringCommandsTest, MgetHasNullForWhatIsNoString) {
  make_hash("h");
  run("MSET a 1 b 2");
  EXPECT_EQ(run("MGET a h b c"), "[\"1\", (nil), \"2\", (nil)]");
}

TEST_F(StringCommandsTest, GetrangeCountsFromBothEnds) {
  run("SET k Hello");
  EXPECT_EQ(run("GETRANGE k 0 -1"), "\"Hello\"");
  EXPECT_EQ(run("GETRANGE k 1 2"), "\"el\"");
  EXPECT_EQ(run("GETRANGE k -3 -2"), "\"ll\"");
  EXPECT_EQ(run("GETRANGE k -100 100"), "\"Hello\"");
  EXPECT_EQ(run("GETRANGE k -100 -50"), "\"H\"");  // as Valkey has it
  EXPECT_EQ(run("GETRANGE k -50 -100"), "\"\"");
  EXPECT_EQ(run("GETRANGE k -1 -2"), "\"\"");
  EXPECT_EQ(run("GETRANGE k 3 2"), "\"\"");
  EXPECT_EQ(run("GETRANGE k 5 9"), "\"\"");
  EXPECT_EQ(run("GETRANGE nothing 0 -1"), "\"\"");
  EXPECT_EQ(run("SUBSTR k 0 0"), "\"H\"");
  EXPECT_EQ(run("GETRANGE k x 1"), kNoInteger);
  EXPECT_EQ(run("GETRANGE k 1 x"), kNoInteger);
  run({"SET", "empty", ""});
  EXPECT_EQ(run("GETRANGE empty 0 -1"), "\"\"");
}

TEST_F(StringCommandsTest, StrlenCountsBytes) {
  run("SET k Hello");
  EXPECT_EQ(run("STRLEN k"), "(integer) 5");
  EXPECT_EQ(run("STRLEN nothing"), "(integer) 0");
}

TEST_F(StringCommandsTest, EveryCommandRefusesWhatIsNoString) {
  make_hash("h");
  for (const std::string_view line :
       {"GET h", "STRLEN h", "GETRANGE h 0 1", "SET h v GET", "SET h v IFEQ v", "GETSET h v",
        "GETEX h", "GETDEL h", "DELIFEQ h v", "APPEND h v", "SETRANGE h 0 v", "INCR h",
        "INCRBYFLOAT h 1"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
    EXPECT_EQ(propagated(), "") << line;
  }
}

// ---- SET ----

TEST_F(StringCommandsTest, SetTellsNewOnceAndSetAlways) {
  run("SET k v");
  EXPECT_EQ(events(), "n:new:k $:set:k");
  EXPECT_EQ(changed_keys(), "k");
  EXPECT_EQ(propagated(), "SET k v");
  run("SET k w");
  EXPECT_EQ(events(), "$:set:k");
}

TEST_F(StringCommandsTest, SetReplacesAnyTypeAndDropsTheDeadline) {
  make_hash("h");
  run("EXPIRE h 10");
  EXPECT_EQ(run("SET h v"), "OK");
  EXPECT_EQ(events(), "$:set:h");
  EXPECT_EQ(run("TTL h"), "(integer) -1");
  EXPECT_EQ(run("GET h"), "\"v\"");
}

TEST_F(StringCommandsTest, SetOverADeadKeyTellsThatItExpired) {
  run("SET k v PX 1");
  advance(Millis(1));
  run("SET k w");
  EXPECT_EQ(events(), "x:expired:k n:new:k $:set:k");
  EXPECT_EQ(run("TTL k"), "(integer) -1");
}

TEST_F(StringCommandsTest, SetIsConditionalOnPresence) {
  EXPECT_EQ(run("SET k v XX"), "(nil)");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(run("SET k v NX"), "OK");
  EXPECT_EQ(propagated(), "SET k v");
  EXPECT_EQ(run("SET k w NX"), "(nil)");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("SET k w XX"), "OK");
  EXPECT_EQ(run("GET k"), "\"w\"");
}

TEST_F(StringCommandsTest, SetIsConditionalOnTheValue) {
  EXPECT_EQ(run("SET k v IFEQ old"), "(nil)");
  run("SET k old");
  EXPECT_EQ(run("SET k v IFEQ other"), "(nil)");
  EXPECT_EQ(run("SET k v IFEQ other GET"), "\"old\"");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("SET k v IFEQ old"), "OK");
  EXPECT_EQ(run("SET k get IFEQ v GET"), "\"v\"");
  EXPECT_EQ(propagated(), "SET k get");
  EXPECT_EQ(run("GET k"), "\"get\"");
}

TEST_F(StringCommandsTest, SetReturnsTheFormerValue) {
  EXPECT_EQ(run("SET k v GET"), "(nil)");
  EXPECT_EQ(propagated(), "SET k v");
  EXPECT_EQ(run("SET k w NX GET"), "\"v\"");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("SET k w GET XX"), "\"v\"");
  EXPECT_EQ(propagated(), "SET k w");
}

TEST_F(StringCommandsTest, SetTakesADeadlineInFourForms) {
  for (const auto& [form, number, left] :
       {std::tuple{"EX", std::string("10"), "(integer) 10000"},
        std::tuple{"PX", std::string("1500"), "(integer) 1500"},
        std::tuple{"EXAT", std::to_string(now().time_since_epoch().count() / 1000 + 7),
                   "(integer) 7000"},
        std::tuple{"PXAT", in_ms(Millis(77)), "(integer) 77"}}) {
    EXPECT_EQ(run({"SET", "k", "v", form, number}), "OK");
    EXPECT_EQ(run("PTTL k"), left);
  }
  run("SET k v EX 10");
  EXPECT_EQ(events(), "$:set:k g:expire:k");
  EXPECT_EQ(propagated(), "SET k v PXAT " + in_ms(Millis(10'000)));
}

TEST_F(StringCommandsTest, SetKeepsTheDeadlineIfAsked) {
  run("SET k v PX 100");
  run("SET k w KEEPTTL");
  EXPECT_EQ(propagated(), "SET k w KEEPTTL");
  EXPECT_EQ(run("PTTL k"), "(integer) 100");
  EXPECT_EQ(run("SET fresh w KEEPTTL"), "OK");
  EXPECT_EQ(run("PTTL fresh"), "(integer) -1");

  make_hash("h");
  run("PEXPIRE h 50");
  run("SET h v KEEPTTL");
  EXPECT_EQ(run("PTTL h"), "(integer) 50");
}

TEST_F(StringCommandsTest, SetToThePastRemovesTheKey) {
  run("SET k v");
  EXPECT_EQ(run({"SET", "k", "w", "PXAT", in_ms(Millis(0))}), "OK");
  EXPECT_EQ(events(), "x:expired:k");
  EXPECT_EQ(changed_keys(), "k");
  EXPECT_EQ(propagated(), "UNLINK k");
  EXPECT_EQ(keyspace().stats().expired_keys, 1u);
  EXPECT_EQ(run("SET k w EXAT 1"), "OK");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
  run("SET k v");
  EXPECT_EQ(run("SET k w GET EXAT 1"), "\"v\"");
}

TEST_F(StringCommandsTest, WhatThePrimarySaysAboutThePastIsObeyed) {
  context().policy = Policy::show;
  EXPECT_EQ(run("SET k v PXAT 1"), "OK");
  EXPECT_EQ(run("PEXPIRETIME k"), "(integer) 1");
}

TEST_F(StringCommandsTest, SetRefusesOptionsThatDoNotFit) {
  for (const std::string_view line :
       {"SET k v FOO", "SET k v EX", "SET k v IFEQ", "SET k v NX XX", "SET k v XX NX",
        "SET k v NX IFEQ x", "SET k v IFEQ x XX", "SET k v IFEQ x IFEQ y", "SET k v EX 1 PX 1",
        "SET k v EX 1 KEEPTTL", "SET k v KEEPTTL EX 1", "SET k v PERSIST", "SET k v EX 1 EXAT 1"}) {
    EXPECT_EQ(run(line), kSyntax) << line;
  }
  EXPECT_EQ(run("SET k v EX 1 EX 2"), "OK");
  EXPECT_EQ(run("PTTL k"), "(integer) 2000");
  EXPECT_EQ(run("SET k v NX NX"), "(nil)");
}

TEST_F(StringCommandsTest, SetRefusesTimesThatAreNone) {
  constexpr const char* kInvalid = "(error) ERR invalid expire time in 'set' command";
  EXPECT_EQ(run("SET k v EX 0"), kInvalid);
  EXPECT_EQ(run("SET k v PX -1"), kInvalid);
  EXPECT_EQ(run("SET k v PXAT 0"), kInvalid);
  EXPECT_EQ(run("SET k v EX 9223372036854775807"), kInvalid);
  EXPECT_EQ(run("SET k v PX 9223372036854775807"), kInvalid);
  EXPECT_EQ(run("SET k v EX 1.5"), kNoInteger);
  EXPECT_EQ(run("SETEX k 0 v"), "(error) ERR invalid expire time in 'setex' command");
  EXPECT_EQ(run("PSETEX k -1 v"), "(error) ERR invalid expire time in 'psetex' command");
  EXPECT_EQ(run("SETEX k x v"), kNoInteger);
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
}

TEST_F(StringCommandsTest, SetexAndPsetexAreSetWithATime) {
  EXPECT_EQ(run("SETEX k 2 v"), "OK");
  EXPECT_EQ(events(), "n:new:k $:set:k g:expire:k");
  EXPECT_EQ(propagated(), "SET k v PXAT " + in_ms(Millis(2000)));
  EXPECT_EQ(run("PSETEX k 3 v"), "OK");
  EXPECT_EQ(run("PTTL k"), "(integer) 3");
}

TEST_F(StringCommandsTest, SetnxSetsWhatIsNotThere) {
  EXPECT_EQ(run("SETNX k v"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:k $:set:k");
  EXPECT_EQ(run("SETNX k w"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_F(StringCommandsTest, MsetSetsAllAndMsetnxAllOrNothing) {
  EXPECT_EQ(run("MSET a 1 b 2 a 3"), "OK");
  EXPECT_EQ(events(), "n:new:a $:set:a n:new:b $:set:b $:set:a");
  EXPECT_EQ(propagated(), "MSET a 1 b 2 a 3");
  EXPECT_EQ(run("MSETNX c 1 b 2"), "(integer) 0");
  EXPECT_EQ(run("EXISTS c"), "(integer) 0");
  EXPECT_EQ(run("MSETNX c 1 c 2"), "(integer) 1");
  EXPECT_EQ(run("GET c"), "\"2\"");
  EXPECT_EQ(run("MSET a 1 b"), "(error) ERR wrong number of arguments for 'mset' command");
  EXPECT_EQ(run("MSETNX a 1 b"), "(error) ERR wrong number of arguments for 'msetnx' command");
}

// ---- Reading and changing ----

TEST_F(StringCommandsTest, GetsetIsASetToReplicas) {
  EXPECT_EQ(run("GETSET k v"), "(nil)");
  EXPECT_EQ(propagated(), "SET k v");
  run("EXPIRE k 10");
  EXPECT_EQ(run("GETSET k w"), "\"v\"");
  EXPECT_EQ(events(), "$:set:k");
  EXPECT_EQ(run("TTL k"), "(integer) -1");
}

TEST_F(StringCommandsTest, SetWithAnExactTimeIsPropagatedAsItIs) {
  run({"SET", "a", "1", "pxat", in_ms(Millis(9))});
  EXPECT_EQ(propagated(), "SET a 1 pxat " + in_ms(Millis(9)));
  run({"SET", "a", "1", "pxat", in_ms(Millis(9)), "XX"});
  EXPECT_EQ(propagated(), "SET a 1 PXAT " + in_ms(Millis(9)));
}

// ---- MSETEX ----

TEST_F(StringCommandsTest, MsetexSetsAllKeysWithOneDeadline) {
  run("SET b old PX 5");
  EXPECT_EQ(run("MSETEX 2 a 1 b 2 EX 10"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:a $:set:a g:expire:a $:set:b g:expire:b");
  EXPECT_EQ(changed_keys(), "a b");
  EXPECT_EQ(propagated(), "MSETEX 2 a 1 b 2 PXAT " + in_ms(Millis(10'000)));
  EXPECT_EQ(run("MGET a b"), "[\"1\", \"2\"]");
  EXPECT_EQ(run("PTTL b"), "(integer) 10000");
  run("MSETEX 1 a 1 PX 7");
  EXPECT_EQ(propagated(), "MSETEX 1 a 1 PXAT " + in_ms(Millis(7)));
  run({"MSETEX", "1", "a", "1", "pxat", in_ms(Millis(9))});
  EXPECT_EQ(propagated(), "MSETEX 1 a 1 pxat " + in_ms(Millis(9)));
}

TEST_F(StringCommandsTest, MsetexWithoutATimeTakesDeadlinesAway) {
  run("MSETEX 2 a 1 b 2 PX 50");
  EXPECT_EQ(run("MSETEX 1 a 3"), "(integer) 1");
  EXPECT_EQ(events(), "$:set:a");
  EXPECT_EQ(propagated(), "MSETEX 1 a 3");
  EXPECT_EQ(run("PTTL a"), "(integer) -1");
  EXPECT_EQ(run("MSETEX 2 b 3 c 4 KEEPTTL"), "(integer) 1");
  EXPECT_EQ(run("PTTL b"), "(integer) 50");
  EXPECT_EQ(run("PTTL c"), "(integer) -1");
  EXPECT_EQ(run("MSETEX 2 d 1 d 2"), "(integer) 1");
  EXPECT_EQ(run("GET d"), "\"2\"");
  make_hash("h");
  EXPECT_EQ(run("MSETEX 1 h v"), "(integer) 1");
  EXPECT_EQ(run("GET h"), "\"v\"");
}

TEST_F(StringCommandsTest, MsetexSetsAllOrNothing) {
  run("SET a 1");
  EXPECT_EQ(run("MSETEX 2 a 2 b 2 NX"), "(integer) 0");
  EXPECT_EQ(run("MSETEX 2 a 2 b 2 XX EX 5"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("GET a"), "\"1\"");
  EXPECT_EQ(run("EXISTS b"), "(integer) 0");
  EXPECT_EQ(run("MSETEX 1 a 2 EX 5 XX"), "(integer) 1");
  EXPECT_EQ(propagated(), "MSETEX 1 a 2 PXAT " + in_ms(Millis(5'000)));
  EXPECT_EQ(run("MSETEX 2 b 2 c 2 nx keepttl"), "(integer) 1");
  EXPECT_EQ(propagated(), "MSETEX 2 b 2 c 2 KEEPTTL");
  run("SET dead 1 PX 1");
  advance(Millis(1));
  EXPECT_EQ(run("MSETEX 1 dead 2 NX"), "(integer) 1");
  EXPECT_EQ(run("GET dead"), "\"2\"");
}

TEST_F(StringCommandsTest, MsetexToThePastSetsKeysThatAreDue) {
  run("SET a 1");
  EXPECT_EQ(run("MSETEX 2 a 5 b 5 EXAT 1"), "(integer) 1");
  EXPECT_EQ(propagated(), "MSETEX 2 a 5 b 5 PXAT 1000");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  EXPECT_EQ(run("GET a"), "(nil)");
  EXPECT_EQ(run("EXISTS b"), "(integer) 0");
  EXPECT_EQ(keyspace().stats().expired_keys, 2u);
}

TEST_F(StringCommandsTest, MsetexRefusesWhatIsNotRight) {
  for (const std::string_view keys : {"0", "-1", "1.5", "x", "2147483648"}) {
    EXPECT_EQ(run({"MSETEX", keys, "a", "1"}), "(error) ERR invalid numkeys value or out of range");
  }
  for (const std::string_view line :
       {"MSETEX 2 a 1", "MSETEX 2 a 1 b", "MSETEX 1 a 1 b", "MSETEX 1 a 1 b 2",
        "MSETEX 2147483647 a 1", "MSETEX 1 a 1 NX XX", "MSETEX 1 a 1 XX NX", "MSETEX 1 a 1 EX",
        "MSETEX 1 a 1 EX 1 PX 1", "MSETEX 1 a 1 EX 1 KEEPTTL", "MSETEX 1 a 1 KEEPTTL PXAT 1",
        "MSETEX 1 a 1 EX 1 foo"}) {
    EXPECT_EQ(run(line), kSyntax) << line;
  }
  EXPECT_EQ(run("MSETEX 1 a 1 EX 0"), "(error) ERR invalid expire time in 'msetex' command");
  EXPECT_EQ(run("MSETEX 1 a 1 PX x"), kNoInteger);
  EXPECT_EQ(run("MSETEX 1 a"), "(error) ERR wrong number of arguments for 'msetex' command");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
}

TEST_F(StringCommandsTest, MsetexTellsWhichWordsAreKeys) {
  const auto keys_of = [&](std::vector<std::string_view> words) {
    return key_positions(*string_msetex_commands().data(), words);
  };
  EXPECT_EQ(keys_of({"MSETEX", "2", "a", "1", "b", "2", "NX"}), (std::vector<std::size_t>{2, 4}));
  EXPECT_EQ(keys_of({"MSETEX", "3", "a", "1", "b", "2"}), std::vector<std::size_t>{});
  EXPECT_EQ(keys_of({"MSETEX", "x", "a", "1"}), std::vector<std::size_t>{});
  EXPECT_EQ(keys_of({"MSETEX"}), std::vector<std::size_t>{});
}

TEST_F(StringCommandsTest, GetdelRemovesWhatItReturns) {
  run("SET k v");
  EXPECT_EQ(run("GETDEL k"), "\"v\"");
  EXPECT_EQ(events(), "g:del:k");
  EXPECT_EQ(propagated(), "DEL k");
  EXPECT_EQ(run("GETDEL k"), "(nil)");
  EXPECT_EQ(propagated(), "");
}

TEST_F(StringCommandsTest, DelifeqRemovesOnlyTheValueItNames) {
  EXPECT_EQ(run("DELIFEQ k v"), "(integer) 0");
  run("SET k v");
  EXPECT_EQ(run("DELIFEQ k w"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("DELIFEQ k v"), "(integer) 1");
  EXPECT_EQ(events(), "g:del:k");
  EXPECT_EQ(propagated(), "DEL k");
}

TEST_F(StringCommandsTest, GetexChangesTheDeadline) {
  run("SET k v");
  EXPECT_EQ(run("GETEX k"), "\"v\"");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("GETEX k EX 10"), "\"v\"");
  EXPECT_EQ(events(), "g:expire:k");
  EXPECT_EQ(propagated(), "PEXPIREAT k " + in_ms(Millis(10'000)));
  EXPECT_EQ(run("GETEX k PERSIST"), "\"v\"");
  EXPECT_EQ(events(), "g:persist:k");
  EXPECT_EQ(propagated(), "PERSIST k");
  EXPECT_EQ(run("GETEX k PERSIST"), "\"v\"");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run("GETEX k PXAT 1"), "\"v\"");
  EXPECT_EQ(events(), "x:expired:k");
  EXPECT_EQ(propagated(), "UNLINK k");
  EXPECT_EQ(run("GETEX k PXAT 1"), "(nil)");
}

TEST_F(StringCommandsTest, GetexChecksItsTimeEvenIfTheKeyIsNotThere) {
  constexpr const char* kInvalid = "(error) ERR invalid expire time in 'getex' command";
  EXPECT_EQ(run("GETEX k EX 0"), kInvalid);
  EXPECT_EQ(run("GETEX k PXAT -5"), kInvalid);
  EXPECT_EQ(run("GETEX k EX x"), kNoInteger);
  EXPECT_EQ(lookups() + events(), "");
  EXPECT_EQ(run("GETEX k FOO"), kSyntax);
  run("SET k v");
  EXPECT_EQ(run("GETEX k EX 0"), kInvalid);
  EXPECT_EQ(run("GETEX k EX x"), kNoInteger);
  for (const std::string_view line : {"GETEX k EX", "GETEX k EX 1 PERSIST", "GETEX k PERSIST EX 1",
                                      "GETEX k EX 1 PX 1", "GETEX k KEEPTTL", "GETEX k NX"}) {
    EXPECT_EQ(run(line), kSyntax) << line;
  }
}

TEST_F(StringCommandsTest, AppendMakesAndExtends) {
  EXPECT_EQ(run("APPEND k Hello"), "(integer) 5");
  EXPECT_EQ(events(), "n:new:k $:append:k");
  run("PEXPIRE k 100");
  EXPECT_EQ(run("APPEND k World"), "(integer) 10");
  EXPECT_EQ(events(), "$:append:k");
  EXPECT_EQ(propagated(), "APPEND k World");
  EXPECT_EQ(run("GET k"), "\"HelloWorld\"");
  EXPECT_EQ(run("PTTL k"), "(integer) 100");
}

TEST_F(StringCommandsTest, SetrangeOverwritesAndFillsWithZeros) {
  run("SET k Hello");
  EXPECT_EQ(run("SETRANGE k 1 aa"), "(integer) 5");
  EXPECT_EQ(events(), "$:setrange:k");
  EXPECT_EQ(run("SETRANGE k 6 b"), "(integer) 7");
  EXPECT_EQ(run("GET k"), "\"Haalo\\x00b\"");
  EXPECT_EQ(run("SETRANGE fresh 1 b"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:fresh $:setrange:fresh");
  EXPECT_EQ(run({"SETRANGE", "k", "100", ""}), "(integer) 7");
  EXPECT_EQ(events() + propagated(), "");
  EXPECT_EQ(run({"SETRANGE", "nothing", "100", ""}), "(integer) 0");
  EXPECT_EQ(run("EXISTS nothing"), "(integer) 0");
}

TEST_F(StringCommandsTest, NoStringGrowsBeyondTheLimit) {
  constexpr const char* kTooLong =
      "(error) ERR string exceeds maximum allowed size (proto-max-bulk-len)";
  EXPECT_EQ(run("SETRANGE k 536870911 ab"), kTooLong);
  EXPECT_EQ(run("SETRANGE k 9223372036854775807 a"), kTooLong);
  EXPECT_EQ(run("SETRANGE k -1 a"), "(error) ERR offset is out of range");
  EXPECT_EQ(run("SETRANGE k x a"), kNoInteger);
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
}

TEST_F(StringCommandsTest, TheLimitIsTheOneThatIsSet) {
  constexpr const char* kTooLong =
      "(error) ERR string exceeds maximum allowed size (proto-max-bulk-len)";
  keyspace().options().string_bytes_max = 5;
  EXPECT_EQ(run("SETRANGE k 3 ab"), "(integer) 5");
  EXPECT_EQ(run("SETRANGE k 4 ab"), kTooLong);
  EXPECT_EQ(run("APPEND k c"), kTooLong);
  EXPECT_EQ(run("APPEND fresh abcdef"), kTooLong);

  // What the primary has done is done here too, as far as it can be held.
  context().policy = Policy::show;
  EXPECT_EQ(run("APPEND k cd"), "(integer) 7");
  EXPECT_EQ(run("SETRANGE k 4294967295 a"), kTooLong);
  EXPECT_EQ(run("STRLEN k"), "(integer) 7");
}

// ---- Numbers ----

TEST_F(StringCommandsTest, CountsUpAndDown) {
  EXPECT_EQ(run("INCR n"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:n $:incrby:n");
  EXPECT_EQ(run("INCRBY n 41"), "(integer) 42");
  EXPECT_EQ(propagated(), "INCRBY n 41");
  EXPECT_EQ(run("DECR n"), "(integer) 41");
  EXPECT_EQ(events(), "$:incrby:n");
  EXPECT_EQ(run("DECRBY n 50"), "(integer) -9");
  EXPECT_EQ(run("GET n"), "\"-9\"");
}

TEST_F(StringCommandsTest, CountingKeepsTheDeadline) {
  run("SET n 1 PX 100");
  run("INCR n");
  run("INCRBYFLOAT n 0.5");
  EXPECT_EQ(run("PTTL n"), "(integer) 100");
}

TEST_F(StringCommandsTest, CountingNeverWraps) {
  constexpr const char* kOverflow = "(error) ERR increment or decrement would overflow";
  run("SET most 9223372036854775807");
  run("SET least -9223372036854775808");
  EXPECT_EQ(run("INCR most"), kOverflow);
  EXPECT_EQ(run("DECR least"), kOverflow);
  EXPECT_EQ(run("INCRBY least -1"), kOverflow);
  EXPECT_EQ(run("DECRBY n -9223372036854775808"), "(error) ERR decrement would overflow");
  EXPECT_EQ(propagated(), "");
}

TEST_F(StringCommandsTest, CountsOnlyWhatIsANumber) {
  for (const std::string_view text : {"abc", "", " 1", "1 ", "01", "1.0", "9223372036854775808"}) {
    run({"SET", "n", text});
    EXPECT_EQ(run("INCR n"), kNoInteger) << text;
  }
  EXPECT_EQ(run("INCRBY n x"), kNoInteger);
  EXPECT_EQ(run("DECRBY n x"), kNoInteger);
}

TEST_F(StringCommandsTest, IncrbyfloatAddsFractions) {
  EXPECT_EQ(run("INCRBYFLOAT n 10.50"), "\"10.5\"");
  EXPECT_EQ(events(), "n:new:n $:incrbyfloat:n");
  EXPECT_EQ(propagated(), "SET n 10.5 KEEPTTL");
  EXPECT_EQ(run("INCRBYFLOAT n 0.1"), "\"10.6\"");
  EXPECT_EQ(run("INCRBYFLOAT n -5.0e1"), "\"-39.4\"");
  EXPECT_EQ(run("INCRBYFLOAT n x"), "(error) ERR value is not a valid float");
  EXPECT_EQ(run("INCRBYFLOAT n inf"), "(error) ERR increment would produce NaN or Infinity");
  run("SET n abc");
  EXPECT_EQ(run("INCRBYFLOAT n 1"), "(error) ERR value is not a valid float");
}

// ---- LCS ----

TEST_F(StringCommandsTest, LcsFindsTheCommonBytes) {
  run("MSET a ohmytext b mynewtext");
  EXPECT_EQ(run("LCS a b"), "\"mytext\"");
  EXPECT_EQ(run("LCS a b LEN"), "(integer) 6");
  EXPECT_EQ(run("LCS a nothing"), "\"\"");
  run("MSET a ab b ba");
  EXPECT_EQ(run("LCS a b"), "\"b\"");  // of two that are as long, Valkey's
}

TEST_F(StringCommandsTest, LcsTellsWhereTheyAre) {
  run("MSET a ohmytext b mynewtext");
  const std::string last = "[[(integer) 4, (integer) 7], [(integer) 5, (integer) 8]]";
  const std::string first = "[[(integer) 2, (integer) 3], [(integer) 0, (integer) 1]]";
  EXPECT_EQ(run("LCS a b IDX"),
            "[\"matches\", [" + last + ", " + first + "], \"len\", (integer) 6]");
  EXPECT_EQ(run("LCS a b IDX MINMATCHLEN 4"),
            "[\"matches\", [" + last + "], \"len\", (integer) 6]");
  EXPECT_EQ(run("LCS a b IDX WITHMATCHLEN MINMATCHLEN 4"),
            "[\"matches\", [[[(integer) 4, (integer) 7], [(integer) 5, (integer) 8], "
            "(integer) 4]], \"len\", (integer) 6]");
  EXPECT_EQ(run("LCS a nothing IDX"), "[\"matches\", [], \"len\", (integer) 0]");
  set_protocol(3);
  EXPECT_EQ(run("LCS a nothing IDX"), "{\"matches\": [], \"len\": (integer) 0}");
}

TEST_F(StringCommandsTest, LcsRefusesWhatItCannotDo) {
  make_hash("h");
  EXPECT_EQ(run("LCS a h"), "(error) ERR The specified keys must contain string values");
  EXPECT_EQ(run("LCS h h"), "(error) ERR The specified keys must contain string values");
  EXPECT_EQ(run("LCS a b IDX LEN"),
            "(error) ERR If you want both the length and indexes, please just use IDX.");
  EXPECT_EQ(run("LCS a b FOO"), kSyntax);
  EXPECT_EQ(run("LCS a b MINMATCHLEN"), kSyntax);
  EXPECT_EQ(run("LCS a b MINMATCHLEN x"), kNoInteger);
  const std::string large(20'000, 'x');
  run({"MSET", "a", large, "b", large});
  EXPECT_EQ(run("LCS a b LEN"),
            "(error) ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
}

// Room to grow would count towards maxmemory though the string may never grow.
TEST_F(StringCommandsTest, AStringThatIsMadeByAPositionTakesNoMoreThanItsSize) {
  constexpr std::size_t kSize = 1'000'000;
  run("SETRANGE range 999999 x");
  run("SETBIT bit 7999999 1");
  run("BITFIELD field SET u8 #999999 1");
  for (const char* const key : {"range", "bit", "field"}) {
    EXPECT_EQ(run(std::string("STRLEN ") + key), "(integer) 1000000") << key;
    const Database& database = keyspace()[0];
    EXPECT_LT(node_bytes(&database.node(database.stored_slot(key))), kSize + kSize / 4) << key;
  }
}

}  // namespace string_commands_test
}  // namespace mayfly
