// SPDX-License-Identifier: Apache-2.0
// The commands on keys of any type and on whole databases.

#include <set>
#include <string>

#include "commands/call_fixture.h"
#include "resp/glob.h"

namespace mayfly {
namespace key_commands_test {

constexpr const char* kSyntax = "(error) ERR syntax error";
constexpr const char* kNoInt =
    "(error) ERR value is out of range, value must between -2147483648 and 2147483647";
constexpr const char* kNoDatabase = "(error) ERR DB index is out of range";
constexpr const char* kSame = "(error) ERR source and destination objects are the same";

class KeyCommandsTest : public CallFixture {
 protected:
  void make_hash(std::string_view key, Time deadline = kNever) {
    const Slot slot = database().make_members(context(), ValueType::hash, key);
    database().members(context(), slot).put("field", "value", deadline);
  }
};

// ---- Whether they are there ----

TEST_F(KeyCommandsTest, DelRemovesAndCounts) {
  run("MSET a 1 b 2");
  make_hash("h");
  EXPECT_EQ(run("DEL a nothing h a"), "(integer) 2");
  EXPECT_EQ(events(), "g:del:a g:del:h");
  EXPECT_EQ(changed_keys(), "a h");
  EXPECT_EQ(propagated(), "DEL a nothing h a");
  EXPECT_EQ(run("DEL nothing"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("UNLINK b"), "(integer) 1");
  EXPECT_EQ(events(), "g:del:b");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
}

TEST_F(KeyCommandsTest, DelOfADeadKeyFindsNothing) {
  run("SET k v PX 1");
  advance(Millis(1));
  EXPECT_EQ(run("DEL k"), "(integer) 0");
  EXPECT_EQ(events(), "x:expired:k");
}

TEST_F(KeyCommandsTest, ExistsCountsRepetitions) {
  run("MSET a 1 b 2");
  EXPECT_EQ(run("EXISTS a b a nothing"), "(integer) 3");
  EXPECT_EQ(lookups(), "hhhm");
  EXPECT_EQ(events(), "m:keymiss:nothing");
}

TEST_F(KeyCommandsTest, TypeNamesWhatAKeyHolds) {
  run("SET k v");
  make_hash("h");
  EXPECT_EQ(run("TYPE k"), "string");
  EXPECT_EQ(run("TYPE h"), "hash");
  EXPECT_EQ(run("TYPE nothing"), "none");
}

TEST_F(KeyCommandsTest, DbsizeCountsWhatIsAlive) {
  run("MSET a 1 b 2");
  run("SET c 3 PX 1");
  EXPECT_EQ(run("DBSIZE"), "(integer) 3");
  advance(Millis(1));
  EXPECT_EQ(run("DBSIZE"), "(integer) 2");
  select(1);
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
}

// ---- All of them ----

TEST_F(KeyCommandsTest, KeysMatchesAndHidesTheDead) {
  run("MSET one 1 two 2 three 3");
  run("SET ten 1 PX 1");
  advance(Millis(1));
  EXPECT_EQ(run("KEYS o*"), "[\"one\"]");
  EXPECT_EQ(run("KEYS te?"), "[]");
  EXPECT_EQ(run("KEYS x*"), "[]");
  const std::string longest(std::size_t{64} << 10, '*');
  EXPECT_NE(run({"KEYS", longest}), "[]");
  const std::string refused = "(error) ERR pattern is too long (at most 64 KiB)";
  EXPECT_EQ(run({"KEYS", longest + "*"}), refused);
  EXPECT_EQ(run({"SCAN", "0", "MATCH", longest + "*"}), refused);
  const std::string many(kSignsMost, 'x');
  EXPECT_EQ(run({"KEYS", "*?" + many + "*"}), "(error) " + std::string(kPatternTooCostly));
  EXPECT_EQ(run("KEYS t[w]o"), "[\"two\"]");
  EXPECT_EQ(events(), "");
  run("HSET h f v");
  EXPECT_EQ(run({"HSCAN", "h", "0", "MATCH", longest + "*"}), refused);
}

TEST_F(KeyCommandsTest, RandomkeyReturnsSomethingAlive) {
  EXPECT_EQ(run("RANDOMKEY"), "(nil)");
  run("SET dead 1 PX 1");
  run("SET alive 1");
  advance(Millis(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run("RANDOMKEY"), "\"alive\"");
  run("DEL alive");
  EXPECT_EQ(run("RANDOMKEY"), "(nil)");
}

TEST_F(KeyCommandsTest, RandomkeyReclaimsWhatItMeetsDead) {
  run("SET a 1 PX 1");
  run("SET b 1 PX 1");
  advance(Millis(1));
  EXPECT_EQ(run("RANDOMKEY"), "(nil)");
  EXPECT_EQ(database().stored(), 0u);
  run("SET c 1 PX 1");
  advance(Millis(1));
  context().policy = Policy::hide;
  EXPECT_EQ(run("RANDOMKEY"), "(nil)");
  EXPECT_EQ(database().stored(), 1u);
}

// The keys that a whole scan with these options shows.
class ScanTest : public KeyCommandsTest {
 protected:
  std::set<std::string> scan_all(const std::vector<std::string_view>& options) {
    std::set<std::string> found;
    std::string cursor = "0";
    do {
      std::vector<std::string_view> words = {"SCAN", cursor};
      words.insert(words.end(), options.begin(), options.end());
      const std::string bytes = raw(words);
      ReplyParser parser;
      EXPECT_EQ(parser.parse(bytes), Parsed::request);
      const ReplyValue& value = parser.value();
      for (const ReplyValue& key : value.items.at(1).items) found.insert(key.text);
      cursor = value.items.at(0).text;
      ++steps_;
    } while (cursor != "0");
    return found;
  }

  int steps_ = 0;
};

TEST_F(ScanTest, ShowsEveryKeyInSteps) {
  for (int i = 0; i < 1000; ++i) run({"SET", "key" + std::to_string(i), "v"});
  EXPECT_EQ(scan_all({}).size(), 1000u);
  EXPECT_GT(steps_, 40);
  EXPECT_LT(steps_, 160);
  steps_ = 0;
  EXPECT_EQ(scan_all({"COUNT", "1000"}).size(), 1000u);
  EXPECT_LE(steps_, 2);
}

TEST_F(ScanTest, FiltersByPatternAndType) {
  run("MSET one 1 two 2");
  make_hash("three");
  EXPECT_EQ(scan_all({"MATCH", "t*"}), (std::set<std::string>{"two", "three"}));
  EXPECT_EQ(scan_all({"TYPE", "hash"}), (std::set<std::string>{"three"}));
  EXPECT_EQ(scan_all({"TYPE", "STRING", "match", "t*"}), (std::set<std::string>{"two"}));
  EXPECT_EQ(scan_all({"TYPE", "list"}), (std::set<std::string>{}));
  EXPECT_EQ(scan_all({"TYPE", "Stream"}), (std::set<std::string>{}));
  EXPECT_EQ(run("SCAN 0 TYPE nosuchtype"), "(error) ERR unknown type name 'nosuchtype'");
  EXPECT_EQ(run("SCAN 0 TYPE foo COUNT x"), "(error) ERR unknown type name 'foo'");
}

TEST_F(ScanTest, ReclaimsWhatItMeetsDead) {
  run("SET alive 1");
  run("SET dead 1 PX 1");
  advance(Millis(1));
  EXPECT_EQ(run("SCAN 0 COUNT 100"), "[\"0\", [\"alive\"]]");
  EXPECT_EQ(events(), "x:expired:dead");
  EXPECT_EQ(database().stored(), 1u);
}

TEST_F(ScanTest, OnlyHidesTheDeadWhereItMayNotReclaim) {
  run("SET dead 1 PX 1");
  advance(Millis(1));
  context().policy = Policy::hide;
  EXPECT_EQ(run("SCAN 0"), "[\"0\", []]");
  EXPECT_EQ(database().stored(), 1u);
}

TEST_F(ScanTest, RefusesOptionsThatAreNotRight) {
  EXPECT_EQ(run("SCAN x"), "(error) ERR invalid cursor");
  EXPECT_EQ(run("SCAN 1x"), "(error) ERR invalid cursor");
  EXPECT_EQ(run("SCAN 99999999999999999999"), "(error) ERR invalid cursor");
  EXPECT_EQ(run("SCAN 0 COUNT x"), kNoInteger);
  EXPECT_EQ(run("SCAN 0 COUNT 0"), kSyntax);
  EXPECT_EQ(run("SCAN 0 COUNT"), kSyntax);
  EXPECT_EQ(run("SCAN 0 MATCH"), kSyntax);
  EXPECT_EQ(run("SCAN 0 TYPE"), kSyntax);
  EXPECT_EQ(run("SCAN 0 FOO"), kSyntax);
  EXPECT_EQ(run("SCAN 0 NOVALUES"), "(error) ERR NOVALUES option can only be used in HSCAN");
  EXPECT_EQ(run("SCAN 18446744073709551615"), "[\"0\", []]");
}

// ---- Other names and other databases ----

TEST_F(KeyCommandsTest, RenameTakesValueAndDeadlineAlong) {
  run("SET a 1 PX 100");
  EXPECT_EQ(run("RENAME a b"), "OK");
  EXPECT_EQ(events(), "n:new:b g:rename_from:a g:rename_to:b");
  EXPECT_EQ(changed_keys(), "a b");
  EXPECT_EQ(propagated(), "RENAME a b");
  EXPECT_EQ(run("GET b"), "\"1\"");
  EXPECT_EQ(run("PTTL b"), "(integer) 100");
  EXPECT_EQ(run("EXISTS a"), "(integer) 0");
}

TEST_F(KeyCommandsTest, RenameOverwritesAndRenamenxDoesNot) {
  run("SET a 1");
  run("SET b 2 PX 100");
  EXPECT_EQ(run("RENAMENX a b"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("RENAME a b"), "OK");
  EXPECT_EQ(run("GET b"), "\"1\"");
  EXPECT_EQ(run("TTL b"), "(integer) -1");
  EXPECT_EQ(run("RENAMENX b c"), "(integer) 1");
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
}

TEST_F(KeyCommandsTest, RenameOfNothingFailsAndToItselfDoesNothing) {
  EXPECT_EQ(run("RENAME nothing b"), "(error) ERR no such key");
  EXPECT_EQ(run("RENAMENX nothing b"), "(error) ERR no such key");
  EXPECT_EQ(run("RENAME nothing nothing"), "(error) ERR no such key");
  run("SET a 1");
  EXPECT_EQ(run("RENAME a a"), "OK");
  EXPECT_EQ(run("RENAMENX a a"), "(integer) 0");
  EXPECT_EQ(events() + propagated(), "");
}

TEST_F(KeyCommandsTest, CopyCopiesAllDeadlines) {
  run("SET a 1 PX 100");
  EXPECT_EQ(run("COPY a b"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:b g:copy_to:b");
  EXPECT_EQ(changed_keys(), "b");
  EXPECT_EQ(propagated(), "COPY a b");
  EXPECT_EQ(run("PTTL b"), "(integer) 100");
  make_hash("h", now() + Millis(50));
  EXPECT_EQ(run("COPY h g"), "(integer) 1");
  advance(Millis(50));
  EXPECT_EQ(run("EXISTS h g"), "(integer) 0");
}

TEST_F(KeyCommandsTest, CopyOverwritesOnlyIfAsked) {
  run("MSET a 1 b 2");
  EXPECT_EQ(run("COPY a b"), "(integer) 0");
  EXPECT_EQ(run("COPY nothing b"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("COPY a b REPLACE"), "(integer) 1");
  EXPECT_EQ(run("GET b"), "\"1\"");
}

TEST_F(KeyCommandsTest, CopyReachesOtherDatabases) {
  run("SET a 1");
  EXPECT_EQ(run("COPY a a"), kSame);
  EXPECT_EQ(run("COPY a a DB 0"), kSame);
  EXPECT_EQ(run("COPY a a DB 3"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:a@3 g:copy_to:a@3");
  EXPECT_EQ(changed_keys(), "a@3");
  EXPECT_EQ(run("COPY a a DB 16"), kNoDatabase);
  EXPECT_EQ(run("COPY a a DB -1"), kNoDatabase);
  EXPECT_EQ(run("COPY a a DB x"), kNoInteger);
  EXPECT_EQ(run("COPY a a DB 99999999999"), kNoInt);
  EXPECT_EQ(run("COPY a a DB"), kSyntax);
  EXPECT_EQ(run("COPY a a FOO"), kSyntax);
}

TEST_F(KeyCommandsTest, MoveTakesAKeyToAnotherDatabase) {
  run("SET a 1 PX 100");
  EXPECT_EQ(run("MOVE a 1"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:a@1 g:move_from:a g:move_to:a@1");
  EXPECT_EQ(changed_keys(), "a a@1");
  EXPECT_EQ(propagated(), "MOVE a 1");
  EXPECT_EQ(run("MOVE a 1"), "(integer) 0");
  run("SET a 2");
  EXPECT_EQ(run("MOVE a 1"), "(integer) 0");
  select(1);
  EXPECT_EQ(run("GET a"), "\"1\"");
  EXPECT_EQ(run("PTTL a"), "(integer) 100");
}

TEST_F(KeyCommandsTest, MoveReplacesIfAsked) {
  run("SET a 1 PX 100");
  select(1);
  run("SET a 2");
  select(0);
  EXPECT_EQ(run("MOVE a 1"), "(integer) 0");
  EXPECT_EQ(run("MOVE a 1 replace"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:a@1 g:move_from:a g:move_to:a@1");
  EXPECT_EQ(changed_keys(), "a a@1");
  EXPECT_EQ(propagated(), "MOVE a 1 replace");
  EXPECT_EQ(run("MOVE a 1 REPLACE"), "(integer) 0");  // it is not there any more
  EXPECT_EQ(events() + propagated(), "");
  select(1);
  EXPECT_EQ(run("GET a"), "\"1\"");
  EXPECT_EQ(run("PTTL a"), "(integer) 100");
  EXPECT_EQ(run("MOVE a 0 REPLACE"), "(integer) 1");
  EXPECT_EQ(run("MOVE a 0 FOO"), kSyntax);
  EXPECT_EQ(run("MOVE a 0 REPLACE REPLACE"), kSyntax);
}

TEST_F(KeyCommandsTest, MoveRefusesDatabasesThatAreNone) {
  EXPECT_EQ(run("MOVE a 0"), kSame);
  EXPECT_EQ(run("MOVE a 16"), kNoDatabase);
  EXPECT_EQ(run("MOVE a x"), kNoInteger);
  EXPECT_EQ(run("MOVE a -99999999999"), kNoInt);
}

TEST_F(KeyCommandsTest, FlushdbEmptiesOneDatabaseAndFlushallAll) {
  run("SET a 1");
  select(1);
  run("SET b 1");
  EXPECT_EQ(run("FLUSHDB"), "OK");
  EXPECT_EQ(changed_keys(), "all@1");
  EXPECT_EQ(run("FLUSHDB ASYNC"), "OK");
  EXPECT_EQ(propagated(), "FLUSHDB ASYNC");  // though it was empty
  select(0);
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
  EXPECT_EQ(run("FLUSHALL sync"), "OK");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  EXPECT_EQ(run("FLUSHALL FOO"), kSyntax);
  EXPECT_EQ(run("FLUSHDB SYNC ASYNC"), kSyntax);
}

TEST_F(KeyCommandsTest, SwapdbExchangesDatabases) {
  run("SET a 1 PX 100");
  EXPECT_EQ(run("SWAPDB 0 1"), "OK");
  EXPECT_EQ(changed_keys(), "all@0 all@1");
  EXPECT_EQ(run("EXISTS a"), "(integer) 0");
  select(1);
  EXPECT_EQ(run("PTTL a"), "(integer) 100");
  EXPECT_EQ(run("SWAPDB x 1"), "(error) ERR invalid first DB index");
  EXPECT_EQ(run("SWAPDB 1 x"), "(error) ERR invalid second DB index");
  EXPECT_EQ(run("SWAPDB 99999999999 1"), "(error) ERR invalid first DB index");
  EXPECT_EQ(run("SWAPDB 1 16"), kNoDatabase);
  EXPECT_EQ(run("SWAPDB -1 1"), kNoDatabase);
  EXPECT_EQ(run("SWAPDB 16 x"), "(error) ERR invalid second DB index");
}

// ---- How they are kept ----

TEST_F(KeyCommandsTest, EncodingTellsWhatClientsExpect) {
  const auto encoding_of = [&](std::string_view value) {
    run({"SET", "k", value});
    return run("OBJECT ENCODING k");
  };
  EXPECT_EQ(encoding_of("123"), "\"int\"");
  EXPECT_EQ(encoding_of("-9223372036854775808"), "\"int\"");
  EXPECT_EQ(encoding_of("9223372036854775808"), "\"embstr\"");
  EXPECT_EQ(encoding_of("01"), "\"embstr\"");
  EXPECT_EQ(encoding_of(std::string(44, 'x')), "\"embstr\"");
  EXPECT_EQ(encoding_of(std::string(45, 'x')), "\"raw\"");
  EXPECT_EQ(encoding_of("1"), "\"int\"");
  run("APPEND k 2");
  EXPECT_EQ(run("OBJECT ENCODING k"), "\"raw\"");
  run("INCR k");
  EXPECT_EQ(run("OBJECT ENCODING k"), "\"int\"");
  run("SETRANGE k 0 5");
  EXPECT_EQ(run("OBJECT ENCODING k"), "\"raw\"");
}

TEST_F(KeyCommandsTest, EncodingOfAHashDependsOnSizeAndDeadlines) {
  make_hash("small");
  EXPECT_EQ(run("OBJECT ENCODING small"), "\"listpack\"");
  make_hash("timed", now() + Millis(100));
  EXPECT_EQ(run("OBJECT ENCODING timed"), "\"hashtable\"");
  database()
      .members(context(), database().find(context(), "small"))
      .put("long", std::string(65, 'x'));
  EXPECT_EQ(run("OBJECT ENCODING small"), "\"hashtable\"");
}

TEST_F(KeyCommandsTest, IdletimeCountsSecondsWithoutUse) {
  run("SET k v");
  advance(std::chrono::seconds(100));
  EXPECT_EQ(run("OBJECT IDLETIME k"), "(integer) 100");
  run("TYPE k");
  run("EXISTS k");
  EXPECT_EQ(run("OBJECT IDLETIME k"), "(integer) 100");
  EXPECT_EQ(run("TOUCH k nothing k"), "(integer) 2");
  EXPECT_EQ(run("OBJECT IDLETIME k"), "(integer) 0");
  EXPECT_EQ(run("OBJECT FREQ k"),
            "(error) ERR An LFU maxmemory policy is not selected, access frequency not tracked. "
            "Please note that when switching between policies at runtime LRU and LFU data will "
            "take some time to adjust.");
}

TEST_F(KeyCommandsTest, FreqCountsUseUnderLfu) {
  keyspace().options().uses_lfu = true;
  run("SET k v");
  EXPECT_EQ(run("OBJECT FREQ k"), "(integer) 5");
  EXPECT_EQ(run("OBJECT IDLETIME k"),
            "(error) ERR An LFU maxmemory policy is selected, idle time not tracked. Please note "
            "that when switching between policies at runtime LRU and LFU data will take some time "
            "to adjust.");
}

TEST_F(KeyCommandsTest, ObjectOfNothingIsNull) {
  for (const std::string_view line : {"OBJECT ENCODING nothing", "OBJECT FREQ nothing",
                                      "OBJECT IDLETIME nothing", "OBJECT REFCOUNT nothing"}) {
    EXPECT_EQ(run(line), "(nil)") << line;
    EXPECT_EQ(events(), "") << line;
  }
  run("SET k v");
  EXPECT_EQ(run("OBJECT REFCOUNT k"), "(integer) 1");
  EXPECT_NE(run("OBJECT HELP").find("ENCODING <key>"), std::string::npos);
  EXPECT_EQ(run("OBJECT ENCODING"),
            "(error) ERR wrong number of arguments for 'object|encoding' command");
}

}  // namespace key_commands_test
}  // namespace mayfly
