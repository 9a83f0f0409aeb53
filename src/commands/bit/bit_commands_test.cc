// SPDX-License-Identifier: Apache-2.0
// The bit commands: replies, events and what replicas are told; then random operations against a
// plain vector of bits.

#include <random>
#include <string>
#include <vector>

#include "commands/call_fixture.h"

namespace mayfly {
namespace bit_commands_test {

constexpr const char* kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr const char* kSyntax = "(error) ERR syntax error";
constexpr const char* kNoOffset = "(error) ERR bit offset is not an integer or out of range";

class BitCommandsTest : public CallFixture {
 protected:
  void set(std::string_view key, std::string_view bytes) { run({"SET", key, bytes}); }
};

std::string integer(std::int64_t number) { return "(integer) " + std::to_string(number); }

// ---- Single bits ----

TEST_F(BitCommandsTest, SetbitReturnsTheBitAsItWas) {
  EXPECT_EQ(run("SETBIT k 7 1"), "(integer) 0");
  EXPECT_EQ(events(), "n:new:k $:setbit:k");
  EXPECT_EQ(changed_keys(), "k");
  EXPECT_EQ(propagated(), "SETBIT k 7 1");
  EXPECT_EQ(run("GET k"), "\"\\x01\"");
  EXPECT_EQ(run("SETBIT k 7 1"), "(integer) 1");
  EXPECT_EQ(events() + propagated(), "");  // nothing changed
  EXPECT_EQ(run("SETBIT k 15 0"), "(integer) 0");
  EXPECT_EQ(events(), "$:setbit:k");  // it is longer now
  EXPECT_EQ(run("STRLEN k"), "(integer) 2");
  EXPECT_EQ(run("SETBIT k 7 0"), "(integer) 1");
  EXPECT_EQ(run("BITCOUNT k"), "(integer) 0");
}

TEST_F(BitCommandsTest, SetbitKeepsTheDeadline) {
  run("SET k abc PX 100");
  EXPECT_EQ(run("SETBIT k 6 0"), "(integer) 0");
  run("SETBIT k 6 1");
  EXPECT_EQ(run("GET k"), "\"cbc\"");
  EXPECT_EQ(run("PTTL k"), "(integer) 100");
  advance(Millis(100));
  EXPECT_EQ(run("SETBIT k 0 0"), "(integer) 0");
  EXPECT_EQ(events(), "x:expired:k n:new:k $:setbit:k");
  EXPECT_EQ(run("STRLEN k"), "(integer) 1");
}

TEST_F(BitCommandsTest, GetbitIsZeroBeyondTheEnd) {
  set("k", "@");
  EXPECT_EQ(run("GETBIT k 1"), "(integer) 1");
  EXPECT_EQ(run("GETBIT k 2"), "(integer) 0");
  EXPECT_EQ(run("GETBIT k 4294967295"), "(integer) 0");
  EXPECT_EQ(run("GETBIT nothing 0"), "(integer) 0");
  EXPECT_EQ(lookups(), "m");
  EXPECT_EQ(events(), "m:keymiss:nothing");
}

TEST_F(BitCommandsTest, OffsetsHaveLimits) {
  for (const std::string_view offset : {"-1", "x", "1.5", "#1", "4294967296", ""}) {
    EXPECT_EQ(run({"SETBIT", "k", offset, "1"}), kNoOffset) << offset;
    EXPECT_EQ(run({"GETBIT", "k", offset}), kNoOffset) << offset;
  }
  for (const std::string_view bit : {"2", "-1", "x"}) {
    EXPECT_EQ(run({"SETBIT", "k", "0", bit}), "(error) ERR bit is not an integer or out of range");
  }
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
  const Slot slot = database().make_members(context(), ValueType::hash, "h");
  database().members(context(), slot).put("f", "v");
  for (const std::string_view line :
       {"SETBIT h 0 1", "GETBIT h 0", "BITCOUNT h", "BITPOS h 1", "BITOP NOT k h",
        "BITOP AND k nothing h", "BITFIELD h GET u8 0", "BITFIELD h SET u8 0 1",
        "BITFIELD_RO h GET u8 0"}) {
    EXPECT_EQ(run(line), kWrongType) << line;
    EXPECT_EQ(propagated(), "") << line;
  }
}

// A field that begins within the longest string possible, and ends beyond it.
TEST_F(BitCommandsTest, NoFieldEndsBeyondWhatANodeCanHold) {
  keyspace().options().string_bytes_max = kNodeBytesMax;
  EXPECT_EQ(run("BITFIELD k SET i64 34359738352 1"), kNoOffset);
  EXPECT_EQ(run("BITFIELD k GET i64 34359738352"), "[(integer) 0]");
  EXPECT_EQ(run("SETBIT k 34359738360 1"), kNoOffset);
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
}

// ---- Counting and finding ----

TEST_F(BitCommandsTest, BitcountCountsInBytesOrBits) {
  set("k", "foobar");
  EXPECT_EQ(run("BITCOUNT k"), "(integer) 26");
  EXPECT_EQ(run("BITCOUNT k 0 0"), "(integer) 4");
  EXPECT_EQ(run("BITCOUNT k 1 1 BYTE"), "(integer) 6");
  EXPECT_EQ(run("BITCOUNT k 5 30 bit"), "(integer) 17");
  EXPECT_EQ(run("BITCOUNT k -2"), "(integer) 7");
  EXPECT_EQ(run("BITCOUNT k -2 -3"), "(integer) 0");
  EXPECT_EQ(run("BITCOUNT k 4 1000"), "(integer) 7");
  EXPECT_EQ(run("BITCOUNT k 9223372036854775807 -9223372036854775808"), "(integer) 0");
  EXPECT_EQ(run("BITCOUNT nothing 0 1"), "(integer) 0");
  EXPECT_EQ(run("BITCOUNT k 0 1 FOO"), kSyntax);
  EXPECT_EQ(run("BITCOUNT k 0 1 BIT x"), kSyntax);
  EXPECT_EQ(run("BITCOUNT k x"), kNoInteger);
  EXPECT_EQ(run("BITCOUNT nothing 0 x"), kNoInteger);
  EXPECT_EQ(run("BITCOUNT k x 0 FOO"), kNoInteger);  // the unit is read before the end
  EXPECT_EQ(run("BITCOUNT k 0 x FOO"), kSyntax);
}

TEST_F(BitCommandsTest, BitposFindsTheFirst) {
  set("k", std::string("\xff\xf0\x00", 3));
  EXPECT_EQ(run("BITPOS k 0"), "(integer) 12");
  set("k", std::string("\x00\xff\xf0", 3));
  EXPECT_EQ(run("BITPOS k 1 0"), "(integer) 8");
  EXPECT_EQ(run("BITPOS k 1 2"), "(integer) 16");
  EXPECT_EQ(run("BITPOS k 1 7 15 BIT"), "(integer) 8");
  EXPECT_EQ(run("BITPOS k 1 -4 -1 BIT"), "(integer) -1");
  set("k", "\xff\xff\xff");
  EXPECT_EQ(run("BITPOS k 0"), "(integer) 24");       // zeros follow
  EXPECT_EQ(run("BITPOS k 0 1"), "(integer) 24");     // still
  EXPECT_EQ(run("BITPOS k 0 0 -1"), "(integer) -1");  // not within these bounds
  EXPECT_EQ(run("BITPOS k 0 3"), "(integer) -1");
  set("k", "");
  EXPECT_EQ(run("BITPOS k 0"), "(integer) -1");
  EXPECT_EQ(run("BITPOS nothing 0"), "(integer) 0");
  EXPECT_EQ(run("BITPOS nothing 1"), "(integer) -1");
  EXPECT_EQ(run("BITPOS k 2"), "(error) ERR The bit argument must be 1 or 0.");
  EXPECT_EQ(run("BITPOS k x"), kNoInteger);
  EXPECT_EQ(run("BITPOS k 1 0 1 FOO"), kSyntax);
  EXPECT_EQ(run("BITPOS k 1 0 x FOO"), kSyntax);
}

// ---- BITOP ----

TEST_F(BitCommandsTest, BitopStoresWithoutADeadline) {
  set("a", "\xf0");
  set("b", "\x3c\x01");
  run("SET t old PX 100");
  EXPECT_EQ(run("BITOP AND t a b"), "(integer) 2");
  EXPECT_EQ(events(), "$:set:t");
  EXPECT_EQ(changed_keys(), "t");
  EXPECT_EQ(propagated(), "BITOP AND t a b");
  EXPECT_EQ(run("GET t"), "\"0\\x00\"");
  EXPECT_EQ(run("PTTL t"), "(integer) -1");
  run("BITOP or t a b");
  EXPECT_EQ(run("GET t"), "\"\\xfc\\x01\"");
  run("BITOP XOR t a b nothing");
  EXPECT_EQ(run("GET t"), "\"\\xcc\\x01\"");
  EXPECT_EQ(run("BITOP NOT a a"), "(integer) 1");
  EXPECT_EQ(run("GET a"), "\"\\x0f\"");
}

// It may be one of the sources, longer or shorter than they are, or no string.
TEST_F(BitCommandsTest, BitopReplacesAnyTarget) {
  set("a", "\x01\x02\x03");
  set("t", "\x70");
  EXPECT_EQ(run("BITOP OR t t a"), "(integer) 3");
  EXPECT_EQ(run("GET t"), "\"q\\x02\\x03\"");
  set("t", "longer than a");
  EXPECT_EQ(run("BITOP XOR t a"), "(integer) 3");
  EXPECT_EQ(run("GET t"), "\"\\x01\\x02\\x03\"");
  run("HSET map f v");
  EXPECT_EQ(run("BITOP NOT map a"), "(integer) 3");
  EXPECT_EQ(events(), "$:set:map");
  EXPECT_EQ(run("GET map"), "\"\\xfe\\xfd\\xfc\"");
  EXPECT_EQ(run("BITOP NOT new a"), "(integer) 3");
  EXPECT_EQ(events(), "n:new:new $:set:new");
  set("n", "5");
  run("BITOP OR copy n");
  EXPECT_EQ(run("OBJECT ENCODING copy"), "\"raw\"");
}

TEST_F(BitCommandsTest, BitopOfNothingRemovesTheTarget) {
  set("t", "x");
  EXPECT_EQ(run("BITOP OR t nothing"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:nothing g:del:t");
  EXPECT_EQ(propagated(), "BITOP OR t nothing");
  EXPECT_EQ(run("BITOP OR t nothing"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
}

TEST_F(BitCommandsTest, BitopComparesTheFirstWithTheOthers) {
  set("x", "\xf0");
  set("y", "\x3c");
  set("z", "\x0a");
  run("BITOP DIFF t x y z");
  EXPECT_EQ(run("GET t"), "\"\\xc0\"");
  run("BITOP DIFF1 t x y z");
  EXPECT_EQ(run("GET t"), "\"\\x0e\"");
  run("BITOP ANDOR t x y z");
  EXPECT_EQ(run("GET t"), "\"0\"");
  run("BITOP ONE t x y z");
  EXPECT_EQ(run("GET t"), "\"\\xc6\"");
}

TEST_F(BitCommandsTest, BitopRefusesWhatIsNotRight) {
  EXPECT_EQ(run("BITOP NAND t a"), kSyntax);
  EXPECT_EQ(run("BITOP NOT t a b"),
            "(error) ERR BITOP NOT must be called with a single source key.");
  EXPECT_EQ(run("BITOP diff1 t a"),
            "(error) ERR BITOP DIFF1 must be called with at least two source keys.");
  EXPECT_EQ(run("BITOP AND t"), "(error) ERR wrong number of arguments for 'bitop' command");
}

// ---- BITFIELD ----

TEST_F(BitCommandsTest, BitfieldReadsAndWritesIntegers) {
  EXPECT_EQ(run("BITFIELD k SET u8 0 255 GET u8 0 GET i8 0 INCRBY u8 0 1 GET u4 100"),
            "[(integer) 0, (integer) 255, (integer) -1, (integer) 0, (integer) 0]");
  EXPECT_EQ(events(), "n:new:k $:setbit:k");
  EXPECT_EQ(propagated(), "BITFIELD k SET u8 0 255 GET u8 0 GET i8 0 INCRBY u8 0 1 GET u4 100");
  EXPECT_EQ(run("STRLEN k"), "(integer) 1");
  EXPECT_EQ(run("BITFIELD k SET i16 #3 -2"), "[(integer) 0]");
  EXPECT_EQ(run("BITFIELD k GET i16 48 GET u16 #3"), "[(integer) -2, (integer) 65534]");
  EXPECT_EQ(propagated() + events(), "");
  EXPECT_EQ(run("BITFIELD k SET u8 0 0"), "[(integer) 0]");
  EXPECT_EQ(propagated() + events(), "");  // it was so
  EXPECT_EQ(run("BITFIELD k"), "[]");
  EXPECT_EQ(run("BITFIELD nothing GET i64 5"), "[(integer) 0]");
  EXPECT_EQ(run("EXISTS nothing"), "(integer) 0");
}

TEST_F(BitCommandsTest, BitfieldOverflowsAsItIsTold) {
  EXPECT_EQ(run("BITFIELD k SET i8 0 127 INCRBY i8 0 1"), "[(integer) 0, (integer) -128]");
  EXPECT_EQ(run("BITFIELD k OVERFLOW SAT INCRBY i8 0 -1 INCRBY i8 0 1000"),
            "[(integer) -128, (integer) 127]");
  EXPECT_EQ(run("BITFIELD k OVERFLOW FAIL INCRBY i8 0 1 GET i8 0"), "[(nil), (integer) 127]");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("BITFIELD k OVERFLOW SAT SET u2 0 -1 GET u2 0 OVERFLOW FAIL SET u2 0 4"),
            "[(integer) 1, (integer) 3, (nil)]");
  EXPECT_EQ(run("BITFIELD k SET i64 0 9223372036854775807 INCRBY i64 0 1"),
            "[(integer) -72057594037927936, (integer) -9223372036854775808]");
  EXPECT_EQ(run("BITFIELD k OVERFLOW SAT INCRBY i64 0 -9223372036854775808"),
            "[(integer) -9223372036854775808]");
  EXPECT_EQ(run("BITFIELD k SET u63 1 -1 GET u63 1"),
            "[(integer) 0, (integer) 9223372036854775807]");
}

// The string has grown even if the value could not be set: replicas must know.
TEST_F(BitCommandsTest, BitfieldThatOnlyGrowsTheStringIsAChange) {
  EXPECT_EQ(run("BITFIELD k OVERFLOW FAIL SET u2 0 4"), "[(nil)]");
  EXPECT_EQ(run("STRLEN k"), "(integer) 1");
  EXPECT_EQ(run("BITFIELD k OVERFLOW FAIL SET u2 30 4"), "[(nil)]");
  EXPECT_EQ(propagated(), "BITFIELD k OVERFLOW FAIL SET u2 30 4");
  EXPECT_EQ(run("STRLEN k"), "(integer) 4");
}

TEST_F(BitCommandsTest, BitfieldRefusesWhatIsNotRight) {
  constexpr const char* kBadType =
      "(error) ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not "
      "supported but i64 is.";
  for (const std::string_view type : {"u64", "i65", "u0", "8", "x8", "U8", "i", "u-1"}) {
    EXPECT_EQ(run({"BITFIELD", "k", "GET", type, "0"}), kBadType) << type;
  }
  EXPECT_EQ(run("BITFIELD k GET u8 -1"), kNoOffset);
  EXPECT_EQ(run("BITFIELD k GET u8 #x"), kNoOffset);
  EXPECT_EQ(run("BITFIELD k GET u8 #9223372036854775807"), kNoOffset);
  EXPECT_EQ(run("BITFIELD k SET u8 0 x"), kNoInteger);
  EXPECT_EQ(run("BITFIELD k SET u8 0 1 FOO"), kSyntax);
  EXPECT_EQ(run("BITFIELD k SET u8 0"), kSyntax);
  EXPECT_EQ(run("BITFIELD k OVERFLOW"), kSyntax);
  EXPECT_EQ(run("BITFIELD k OVERFLOW FOO SET u8 0 1"),
            "(error) ERR Invalid OVERFLOW type specified");
  EXPECT_EQ(run("BITFIELD_RO k SET u8 0 1"),
            "(error) ERR BITFIELD_RO only supports the GET subcommand");
  EXPECT_EQ(run("EXISTS k"), "(integer) 0");
  set("k", "a");
  EXPECT_EQ(run("BITFIELD_RO k GET u8 0"), "[(integer) 97]");
}

// ---- Against a model ----

// Bits of one key as a plain vector, always a whole number of bytes.
class BitModel {
 public:
  bool get(std::size_t bit) const { return bit < bits_.size() && bits_[bit]; }
  void reach(std::size_t bit) {
    if (bit >= bits_.size()) bits_.resize((bit / 8 + 1) * 8);
  }
  void set(std::size_t bit, bool on) {
    reach(bit);
    bits_[bit] = on;
  }
  std::size_t size() const { return bits_.size(); }
  std::int64_t count(std::size_t begin, std::size_t end) const {
    std::int64_t count = 0;
    for (std::size_t i = begin; i < end; ++i) count += get(i);
    return count;
  }
  std::int64_t find(bool on, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (get(i) == on) return static_cast<std::int64_t>(i);
    }
    return -1;
  }
  std::int64_t number(std::size_t bit, std::size_t width) const {
    std::int64_t number = 0;
    for (std::size_t i = 0; i < width; ++i) number = number * 2 + get(bit + i);
    return number;
  }
  std::string bytes() const {
    std::string bytes(bits_.size() / 8, '\0');
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (0x80 >> i % 8));
    }
    return bytes;
  }

 private:
  std::vector<bool> bits_;
};

class BitModelTest : public BitCommandsTest {
 protected:
  std::size_t below(std::size_t end) { return random_() % end; }
  std::string key() const { return "k" + std::to_string(which_); }
  BitModel& model() { return models_[which_]; }

  void set_bit() {
    const std::size_t bit = below(300);
    const bool on = below(2) == 1;
    EXPECT_EQ(run({"SETBIT", key(), std::to_string(bit), on ? "1" : "0"}),
              integer(model().get(bit)));
    model().set(bit, on);
  }

  void set_number() {
    const std::size_t width = 1 + below(62);
    const std::size_t bit = below(300);
    const std::int64_t value = static_cast<std::int64_t>(random_() % (std::uint64_t{1} << width));
    const std::string type = "u" + std::to_string(width);
    EXPECT_EQ(run({"BITFIELD", key(), "SET", type, std::to_string(bit), std::to_string(value)}),
              "[" + integer(model().number(bit, width)) + "]");
    model().reach(bit + width - 1);
    for (std::size_t i = 0; i < width; ++i) {
      model().set(bit + i, (value >> (width - 1 - i) & 1) != 0);
    }
    EXPECT_EQ(run({"BITFIELD_RO", key(), "GET", type, std::to_string(bit)}),
              "[" + integer(value) + "]");
  }

  void look() {
    if (model().size() == 0) return;
    const std::size_t begin = below(model().size());
    const std::size_t end = begin + 1 + below(model().size() - begin);
    const std::string first = std::to_string(begin);
    const std::string last = std::to_string(end - 1);
    EXPECT_EQ(run({"BITCOUNT", key(), first, last, "BIT"}), integer(model().count(begin, end)));
    for (const bool on : {false, true}) {
      const std::string bit = on ? "1" : "0";
      EXPECT_EQ(run({"BITPOS", key(), bit, first, last, "BIT"}),
                integer(model().find(on, begin, end)));
      const std::int64_t found = model().find(on, begin / 8 * 8, model().size());
      const std::int64_t after = on ? -1 : static_cast<std::int64_t>(model().size());
      EXPECT_EQ(run({"BITPOS", key(), bit, std::to_string(begin / 8)}),
                integer(found >= 0 ? found : after));
    }
  }

  // The three keys into the present one, which may be among them by itself.
  void combine() {
    static constexpr std::string_view kOps[] = {"AND",  "OR",    "XOR",   "NOT",
                                                "DIFF", "DIFF1", "ANDOR", "ONE"};
    const std::string_view op = kOps[below(std::size(kOps))];
    const bool is_not = op == "NOT";
    BitModel result;
    const std::size_t size =
        is_not ? models_[0].size()
               : std::max({models_[0].size(), models_[1].size(), models_[2].size()});
    if (size > 0) result.reach(size - 1);
    for (std::size_t i = 0; i < size; ++i) {
      const int x = models_[0].get(i);
      const int others = models_[1].get(i) + models_[2].get(i);
      const int sum = x + others;
      const bool on = op == "AND"     ? sum == 3
                      : op == "OR"    ? sum > 0
                      : op == "XOR"   ? sum % 2 == 1
                      : op == "NOT"   ? x == 0
                      : op == "DIFF"  ? x == 1 && others == 0
                      : op == "DIFF1" ? x == 0 && others > 0
                      : op == "ANDOR" ? x == 1 && others > 0
                                      : sum == 1;
      result.set(i, on);
    }
    const std::string bytes = integer(static_cast<std::int64_t>(size / 8));
    EXPECT_EQ(
        is_not ? run({"BITOP", op, key(), "k0"}) : run({"BITOP", op, key(), "k0", "k1", "k2"}),
        bytes);
    model() = result;
  }

  void check() {
    const Slot slot = database().peek(context(), key());
    EXPECT_EQ(slot == kNoSlot ? std::string() : std::string(database().string(slot)),
              model().bytes());
  }

  std::mt19937_64 random_{24};
  std::size_t which_ = 0;
  BitModel models_[3];
};

TEST_F(BitModelTest, AgreesWithAPlainVectorOfBits) {
  for (int step = 0; step < 3000 && !HasFailure(); ++step) {
    SCOPED_TRACE(step);
    which_ = below(3);
    switch (below(8)) {
      case 0:
        combine();
        break;
      case 1:
      case 2:
        set_number();
        break;
      case 3:
      case 4:
        look();
        break;
      default:
        set_bit();
    }
    check();
  }
}

}  // namespace bit_commands_test
}  // namespace mayfly
