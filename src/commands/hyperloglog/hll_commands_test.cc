// SPDX-License-Identifier: Apache-2.0
// PFADD, PFCOUNT, PFMERGE and PFDEBUG: replies, events and what replicas are told.

#include <string>

#include "commands/call_fixture.h"
#include "commands/hyperloglog/hll.h"

namespace mayfly {
namespace hll_commands_test {

constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr const char* kNoHll = "(error) WRONGTYPE Key is not a valid HyperLogLog string value.";
constexpr const char* kDamaged = "(error) INVALIDOBJ Corrupted HLL object detected";

class HllCommandsTest : public CallFixture {
 protected:
  std::string value(std::string_view key) {
    const Slot slot = database().peek(context(), key);
    return slot == kNoSlot ? std::string() : std::string(database().string(slot));
  }
  bool is_dense(std::string_view key) { return is_dense_hll(value(key)); }
  void add_numbers(std::string_view key, int from, int to) {
    for (int i = from; i < to; ++i) run({"PFADD", key, std::to_string(i)});
  }
};

// ---- PFADD ----

TEST_F(HllCommandsTest, PfaddSaysWhetherSomethingChanged) {
  EXPECT_EQ(run("PFADD h a b c"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:h $:pfadd:h");
  EXPECT_EQ(changed_keys(), "h");
  EXPECT_EQ(propagated(), "PFADD h a b c");
  EXPECT_EQ(run("PFDEBUG DECODE h"), "\"Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603\"");
  EXPECT_EQ(check_hll(value("h")), "");
  EXPECT_EQ(run("PFADD h a b c"), "(integer) 0");
  EXPECT_EQ(events() + propagated() + changed_keys(), "");
  EXPECT_EQ(run({"PFADD", "h", "a", ""}), "(integer) 1");
  EXPECT_EQ(events(), "$:pfadd:h");
  EXPECT_EQ(run("OBJECT ENCODING h"), "\"raw\"");
}

TEST_F(HllCommandsTest, PfaddWithoutElementsCreatesTheKey) {
  EXPECT_EQ(run("PFADD h"), "(integer) 1");
  EXPECT_EQ(events(), "n:new:h $:pfadd:h");
  EXPECT_EQ(propagated(), "PFADD h");
  EXPECT_EQ(value("h"), std::string("HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7F\xFF", 18));
  EXPECT_EQ(run("PFADD h"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("PFCOUNT h"), "(integer) 0");
}

TEST_F(HllCommandsTest, TheDeadlineStays) {
  run("PFADD h a");
  run("PEXPIRE h 100");
  run("PFADD h b");
  EXPECT_EQ(run("PTTL h"), "(integer) 100");
  run("PFMERGE h other");
  run("PFDEBUG TODENSE h");
  EXPECT_EQ(run("PTTL h"), "(integer) 100");
  advance(Millis(100));
  EXPECT_EQ(run("PFADD h a"), "(integer) 1");
  EXPECT_EQ(events(), "x:expired:h n:new:h $:pfadd:h");
}

TEST_F(HllCommandsTest, BecomesDenseAtTheLimit) {
  add_numbers("h", 0, 1000);
  EXPECT_FALSE(is_dense("h"));
  add_numbers("h", 1000, 2000);
  EXPECT_TRUE(is_dense("h"));
  keyspace().options().hll_sparse_max_bytes = 30;
  run("PFADD few a");
  EXPECT_FALSE(is_dense("few"));
  run("PFADD few b c d e");
  EXPECT_TRUE(is_dense("few"));
  EXPECT_EQ(run("PFCOUNT few"), "(integer) 5");
}

// A dense value has no room to spare, a sparse one not much.
TEST_F(HllCommandsTest, TakesNotMuchMoreMemoryThanItsBytes) {
  const auto spare = [&] {
    const KeyNode& node = database().node(database().peek(context(), "h"));
    return node_bytes(&node) - sizeof(KeyNode) - node.key_size - node.value_size;
  };
  for (int i = 0; i < 2000; ++i) {
    run({"PFADD", "h", std::to_string(i)});
    ASSERT_LE(spare(), is_dense("h") ? 2048u : 900u) << i;
  }
  EXPECT_TRUE(is_dense("h"));
}

// ---- PFCOUNT ----

TEST_F(HllCommandsTest, PfcountKeepsTheEstimateInTheValue) {
  run("PFADD h 1 2 3 4 5");
  const std::string before = value("h");
  EXPECT_EQ(run("PFCOUNT h"), "(integer) 5");
  EXPECT_EQ(changed_keys(), "h");  // so that replicas are told
  EXPECT_EQ(events(), "");
  EXPECT_EQ(lookups(), "h");
  EXPECT_NE(value("h"), before);
  EXPECT_EQ(cached_estimate(value("h")), 5u);
  EXPECT_EQ(run("PFCOUNT h"), "(integer) 5");
  EXPECT_EQ(changed_keys(), "");
  run("PFADD h 6 7 8 8 9 10");
  EXPECT_EQ(cached_estimate(value("h")), std::nullopt);
  EXPECT_EQ(run("PFCOUNT h"), "(integer) 10");
}

TEST_F(HllCommandsTest, PfcountOfSeveralKeysIsThatOfTheirUnion) {
  EXPECT_EQ(run("PFCOUNT none"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:none");
  EXPECT_EQ(run("PFCOUNT none none2"), "(integer) 0");
  run("PFADD a 1 2 3");
  run("PFADD b 3 4");
  run("PFDEBUG TODENSE b");
  EXPECT_EQ(run("PFCOUNT a b none"), "(integer) 4");
  EXPECT_EQ(lookups(), "hhm");
  EXPECT_EQ(changed_keys(), "");
  EXPECT_EQ(cached_estimate(value("a")), std::nullopt);
  EXPECT_EQ(run("PFCOUNT a a"), "(integer) 3");
}

// ---- PFMERGE ----

TEST_F(HllCommandsTest, PfmergeMergesTheTargetToo) {
  run("PFADD a a b c");
  run("PFADD b hello world");
  EXPECT_EQ(run("PFMERGE m a b none"), "OK");
  EXPECT_EQ(events(), "m:keymiss:m m:keymiss:none n:new:m $:pfadd:m");
  EXPECT_EQ(changed_keys(), "m");
  EXPECT_EQ(propagated(), "PFMERGE m a b none");
  EXPECT_EQ(run("PFDEBUG DECODE m"),
            "\"Z:2742 v:3,1 Z:5693 v:1,1 Z:779 v:1,1 Z:3494 v:2,1 Z:3068 v:1,1 Z:603\"");
  EXPECT_EQ(run("PFCOUNT m"), "(integer) 5");
  run("PFADD m x");
  EXPECT_EQ(run("PFMERGE m a"), "OK");
  EXPECT_EQ(events(), "$:pfadd:m");
  EXPECT_EQ(run("PFCOUNT m"), "(integer) 6");
  EXPECT_EQ(run("PFMERGE m"), "OK");
  EXPECT_EQ(propagated(), "PFMERGE m");
  EXPECT_EQ(cached_estimate(value("m")), std::nullopt);
  EXPECT_EQ(run("PFCOUNT m"), "(integer) 6");
  EXPECT_EQ(run("PFMERGE empty none"), "OK");
  EXPECT_EQ(value("empty"), std::string("HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7F\xFF", 18));
}

TEST_F(HllCommandsTest, PfmergeIsDenseIfASourceIs) {
  run("PFADD a 1 2 3");
  run("PFADD b 4 5");
  run("PFDEBUG TODENSE b");
  run("PFMERGE m a b");
  EXPECT_TRUE(is_dense("m"));
  EXPECT_EQ(run("PFCOUNT m"), "(integer) 5");
  run("PFMERGE a b");
  EXPECT_TRUE(is_dense("a"));
  EXPECT_EQ(check_hll(value("a")), "");
  EXPECT_EQ(run("PFCOUNT a"), "(integer) 5");
}

// The limit holds for a merge of sparse values, too.
TEST_F(HllCommandsTest, PfmergeOfSparseValuesMayBecomeDense) {
  add_numbers("a", 0, 1000);
  add_numbers("b", 1000, 2000);
  EXPECT_FALSE(is_dense("a") || is_dense("b"));
  run("PFMERGE m a b");
  EXPECT_TRUE(is_dense("m"));
  EXPECT_EQ(run("PFCOUNT m"), run("PFCOUNT a b"));
}

// ---- Wrong values ----

TEST_F(HllCommandsTest, OtherTypesAndStringsAreRefused) {
  run("PFADD h a");
  run("SET s HYLL");
  run("SET n 12345");
  run("HSET map f v");
  for (const std::string key : {"s", "n", "map"}) {
    const char* const error = key == "map" ? kWrongType : kNoHll;
    EXPECT_EQ(run("PFADD " + key + " a"), error);
    EXPECT_EQ(run("PFCOUNT " + key), error);
    EXPECT_EQ(run("PFCOUNT h " + key), error);
    EXPECT_EQ(run("PFMERGE " + key + " h"), error);
    EXPECT_EQ(run("PFMERGE new h " + key), error);
    EXPECT_EQ(run("PFDEBUG ENCODING " + key), error);
    EXPECT_EQ(propagated(), "");
  }
  EXPECT_EQ(run("EXISTS new"), "(integer) 0");
}

TEST_F(HllCommandsTest, DamagedValuesAreRefused) {
  run("PFADD h a b c");
  run("APPEND h hello");
  EXPECT_EQ(run("PFCOUNT h"), kDamaged);
  EXPECT_EQ(run("PFCOUNT h none"), kDamaged);
  EXPECT_EQ(run("PFMERGE m h"), kDamaged);
  EXPECT_EQ(run("PFDEBUG TODENSE h"), kDamaged);
  EXPECT_EQ(run("PFDEBUG GETREG h"), kDamaged);
  EXPECT_EQ(run("EXISTS m"), "(integer) 0");
  EXPECT_EQ(run("PFDEBUG ENCODING h"), "sparse");
  run("SETRANGE h 4 x");
  EXPECT_EQ(run("PFCOUNT h"), kNoHll);
}

// What PFADD changed before it found the damage is not lost on replicas.
TEST_F(HllCommandsTest, PfaddOfADamagedValuePropagatesWhatItChanged) {
  run({"SET", "h", std::string("HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x60\x00", 18)});  // half of it
  EXPECT_EQ(run("PFADD h a"), kDamaged);                                         // register 8436
  EXPECT_EQ(propagated() + changed_keys(), "");
  EXPECT_EQ(run("PFADD h world a"), kDamaged);  // register 2742 first
  EXPECT_EQ(changed_keys(), "h");
  EXPECT_EQ(propagated(), "SET h " + value("h") + " KEEPTTL");
}

// ---- PFDEBUG and PFSELFTEST ----

TEST_F(HllCommandsTest, PfdebugShowsAndConverts) {
  run("PFADD h a b c");
  EXPECT_EQ(run("PFDEBUG encoding h"), "sparse");
  EXPECT_EQ(run("PFDEBUG TODENSE h"), "(integer) 1");
  EXPECT_EQ(propagated(), "PFDEBUG TODENSE h");
  EXPECT_EQ(run("PFDEBUG TODENSE h"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("PFDEBUG ENCODING h"), "dense");
  EXPECT_EQ(run("PFDEBUG DECODE h"), "(error) ERR HLL encoding is not sparse");
  EXPECT_EQ(run("PFDEBUG FOO h"), "(error) ERR Unknown PFDEBUG subcommand 'FOO'");
  EXPECT_EQ(run("PFDEBUG GETREG none"), "(error) ERR The specified key does not exist");
  EXPECT_EQ(run("PFDEBUG GETREG"), "(error) ERR wrong number of arguments for 'pfdebug' command");
  EXPECT_EQ(run("PFDEBUG SIMD on"), "disabled");
  EXPECT_EQ(run("PFDEBUG SIMD maybe"), "(error) ERR Argument must be ON or OFF");
}

TEST_F(HllCommandsTest, PfdebugGetregReturnsAllRegisters) {
  run("PFADD h a b c");
  const std::string registers = run("PFDEBUG GETREG h");
  EXPECT_EQ(propagated(), "PFDEBUG GETREG h");
  EXPECT_TRUE(is_dense("h"));
  std::size_t count = 0;
  std::size_t raised = 0;
  for (std::size_t at = 0; (at = registers.find(") ", at)) != registers.npos; ++at) {
    ++count;
    if (registers[at + 2] != '0') ++raised;
  }
  EXPECT_EQ(count, kHllRegisters);
  EXPECT_EQ(raised, 3u);
}

TEST_F(HllCommandsTest, PfselftestPasses) { EXPECT_EQ(run("PFSELFTEST"), "OK"); }

}  // namespace hll_commands_test
}  // namespace mayfly
