// SPDX-License-Identifier: Apache-2.0
// Structures of scripts: forms, alignment, and sizes that a script chooses to do harm.

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_struct_test {

std::string packed(const std::string& arguments) {
  TestScript script;
  return script.text("local x = struct.pack(" + arguments +
                     ") return (x:gsub('.', function(c) return ('%02x'):format(c:byte()) end))");
}

std::string result(const std::string& call) {
  TestScript script;
  return script.text(
      "local a, b, c, d = struct." + call +
      " return table.concat({tostring(a), tostring(b), tostring(c), tostring(d)}, ' ')");
}

TEST(StructPack, WritesNumbersInBothOrders) {
  EXPECT_EQ(packed("'>I2<I2', 1, 1"), "00010100");
  EXPECT_EQ(packed("'bBhH', -1, 255, -2, 65534"), "fffffefffeff");
  EXPECT_EQ(packed("'>l', -1"), "ffffffffffffffff");
  EXPECT_EQ(packed("'i3', -1"), "ffffff");
  EXPECT_EQ(packed("'i0', 1"), "");
  EXPECT_EQ(packed("'>i10', -1"), "0000ffffffffffffffff") << "as in Valkey";
  EXPECT_EQ(packed("'>f>d', 0.5, 0.5"), "3f0000003fe0000000000000");
  EXPECT_EQ(packed("'L', 2^63"), "0000000000000080");
  EXPECT_EQ(packed("'L', 1e300"), "0000000000000000");
  EXPECT_EQ(packed("'b', 0/0"), "00");
}

TEST(StructPack, WritesTextsAndPadding) {
  EXPECT_EQ(packed("'sc0c2x', 'ab', 'cd', 'efg'"), "6162006364656600");
  EXPECT_EQ(packed("'!4bi', 1, 2"), "0100000002000000");
  EXPECT_EQ(packed("'!2bi', 1, 2"), "010002000000");
  EXPECT_EQ(packed("'!bd', 1, 0").size(), 32U);
  EXPECT_EQ(packed("'c5', 'abc'"),
            "error: user_script:1: bad argument #3 to 'pack' (string too short)");
}

TEST(StructUnpack, ReadsWhatPackWrites) {
  EXPECT_EQ(result("unpack('>I2<I2', '\\0\\1\\0\\1')"), "1 256 5 nil");
  EXPECT_EQ(result("unpack('bB', '\\255\\255')"), "-1 255 3 nil");
  EXPECT_EQ(result("unpack('>i3', '\\255\\255\\254')"), "-2 4 nil nil");
  EXPECT_EQ(result("unpack('sx', 'ab\\0.c')"), "ab 5 nil nil");
  EXPECT_EQ(result("unpack('bc0', '\\2abc')"), "ab 4 nil nil");
  EXPECT_EQ(result("unpack('c2', 'xabc', 2)"), "ab 4 nil nil");
  EXPECT_EQ(result("unpack('!4bi', '\\1...\\2\\0\\0\\0')"), "1 2 9 nil");
  EXPECT_EQ(result("unpack('>d', '\\63\\224\\0\\0\\0\\0\\0\\0')"), "0.5 9 nil nil");
  EXPECT_EQ(result("unpack('>i16', ('\\0'):rep(15) .. '\\7')"), "7 17 nil nil");
}

TEST(StructUnpack, RefusesWhatIsTooShort) {
  const std::string too_short =
      "error: user_script:1: bad argument #2 to 'unpack' (data string too short)";
  for (const char* const call :
       {"unpack('b', '')", "unpack('i', 'abc')", "unpack('d', '1234567')", "unpack('c4', 'abc')",
        "unpack('b', 'a', 2)", "unpack('b', 'a', 2^31)", "unpack('b', 'a', -1)",
        "unpack('bc0', '\\5ab')", "unpack('ic0', '\\255\\255\\255\\255')",
        "unpack('Lc0', ('\\255'):rep(8))", "unpack('dc0', ('\\255'):rep(8))", "unpack('x', '')",
        "unpack('c2147483647', 'abc')", "unpack('b!8l', 'a')", "unpack('s', 'a', 9)"}) {
    EXPECT_EQ(result(call), too_short) << call;
  }
  EXPECT_EQ(result("unpack('s', 'abc')"), "error: user_script:1: unfinished string in data");
  EXPECT_EQ(result("unpack('c0', 'abc')"),
            "error: user_script:1: format 'c0' needs a previous size");
  EXPECT_EQ(result("unpack('b', 'a', 0)"),
            "error: user_script:1: bad argument #3 to 'unpack' (offset must be 1 or greater)");
  EXPECT_TRUE(result("unpack(('x'):rep(10), 'abc')").starts_with("error: "));
  EXPECT_TRUE(result("unpack(('b'):rep(1e5), ('a'):rep(1e5))").starts_with("error: "));
}

TEST(StructSize, AddsUp) {
  EXPECT_EQ(result("size('bhilfdT')"), "35 nil nil nil");
  EXPECT_EQ(result("size('!8bl')"), "16 nil nil nil");
  EXPECT_EQ(result("size('c10x>i32')"), "43 nil nil nil");
  EXPECT_EQ(result("size('c2147483647c2147483647')"), "4294967294 nil nil nil");
  EXPECT_EQ(result("size('')"), "0 nil nil nil");
  EXPECT_EQ(result("size('s')"),
            "error: user_script:1: bad argument #1 to 'size' (option 's' has no fixed size)");
  EXPECT_EQ(result("size('c0')"),
            "error: user_script:1: bad argument #1 to 'size' (option 'c0' has no fixed size)");
}

TEST(StructFormat, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(packed("'i33', 1"),
            "error: user_script:1: integral size 33 is larger than limit of 32");
  EXPECT_EQ(packed("'c99999999999', 'x'"), "error: user_script:1: integral size overflow");
  EXPECT_EQ(packed("'!3i', 1"), "error: user_script:1: alignment 3 is not a power of 2");
  EXPECT_EQ(packed("'!0i', 1"), "error: user_script:1: alignment 0 is not a power of 2");
  EXPECT_EQ(packed("'=', 1"),
            "error: user_script:1: bad argument #1 to 'pack' (invalid format option '=')");
  EXPECT_TRUE(packed("'b', 'x'").starts_with("error: user_script:1: bad argument #2 to 'pack'"));
  EXPECT_TRUE(packed("'b'").starts_with("error: user_script:1: bad argument #2 to 'pack'"));
}

}  // namespace lua_struct_test
}  // namespace mayfly
