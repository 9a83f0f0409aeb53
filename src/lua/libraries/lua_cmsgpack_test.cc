// SPDX-License-Identifier: Apache-2.0
// MessagePack of scripts, by the examples of the specification and of Valkey's own tests.

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_cmsgpack_test {

// The bytes of cmsgpack.pack() in hexadecimal.
std::string packed(const std::string& values) {
  TestScript script;
  return script.text("local x = cmsgpack.pack(" + values +
                     ") return (x:gsub('.', function(c) return ('%02x'):format(c:byte()) end))");
}

std::string unpacked(const std::string& expression) {
  TestScript script;
  return script.text(
      "local a, b, c, d = cmsgpack." + expression +
      " return table.concat({tostring(a), tostring(b), tostring(c), tostring(d)}, ' ')");
}

TEST(CmsgpackPack, TakesTheShortestForm) {
  EXPECT_EQ(packed("0, 127, 128, 255, 256"), "007fcc80ccffcd0100");
  EXPECT_EQ(packed("65535, 65536, 2^32 - 1, 2^32"), "cdffffce00010000ceffffffffcf0000000100000000");
  EXPECT_EQ(packed("-1, -32, -33, -128, -129"), "ffe0d0dfd080d1ff7f");
  EXPECT_EQ(packed("-32768, -32769, -2^31, -2^31 - 1"),
            "d18000d2ffff7fffd280000000d3ffffffff7fffffff");
  EXPECT_EQ(packed("2^62, -2^63, 2^63"), "cf4000000000000000d38000000000000000ca5f000000");
  EXPECT_EQ(packed("0.5, 0.1, -0, 1/0"), "ca3f000000cb3fb999999999999a00ca7f800000");
  EXPECT_EQ(packed("nil, true, false, type, cjson.null"), "c0c3c2c0c0");
  EXPECT_EQ(packed("'', 'a', ('x'):rep(31)").substr(0, 8), "a0a161bf");
  EXPECT_EQ(packed("('x'):rep(32)").substr(0, 6), "d92078");
  EXPECT_EQ(packed("('x'):rep(256)").substr(0, 8), "da010078");
  EXPECT_EQ(packed("('x'):rep(65536)").substr(0, 12), "db0001000078");
}

TEST(CmsgpackPack, TellsArraysFromMaps) {
  EXPECT_EQ(packed("{}"), "90");
  EXPECT_EQ(packed("{1, 2, 3}"), "93010203");
  EXPECT_EQ(packed("{[1] = 1, [2] = 2}"), "920102");
  EXPECT_EQ(packed("{a = 1}"), "81a16101");
  EXPECT_EQ(packed("{[0] = 1}"), "810001");
  EXPECT_EQ(packed("{[2] = 1}"), "810201");
  EXPECT_EQ(packed("{[1.5] = 1}"), "81ca3fc0000001");
  EXPECT_EQ(packed("{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}").substr(0, 6),
            "dc0010");
}

TEST(CmsgpackPack, EndsAtADepth) {
  TestScript script;
  EXPECT_EQ(script.run("local t = {} t[1] = t return #cmsgpack.pack(t)"), ":17");
  EXPECT_EQ(packed("{{{{{{{{{{{{{{{{{{1}}}}}}}}}}}}}}}}}}"), "91919191919191919191919191919191c0");
  EXPECT_EQ(packed(""),
            "error: user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)");
}

TEST(CmsgpackUnpack, ReadsAllForms) {
  EXPECT_EQ(unpacked("unpack('\\0\\127\\255\\224')"), "0 127 -1 -32");
  EXPECT_EQ(unpacked("unpack('\\204\\255\\205\\255\\255\\206\\255\\255\\255\\255')"),
            "255 65535 4294967295 nil");
  EXPECT_EQ(unpacked("unpack('\\208\\128\\209\\128\\0\\210\\128\\0\\0\\0')"),
            "-128 -32768 -2147483648 nil");
  EXPECT_EQ(unpacked("unpack('\\202\\63\\0\\0\\0\\203\\63\\240\\0\\0\\0\\0\\0\\0\\192\\195')"),
            "0.5 1 nil true");
  EXPECT_EQ(unpacked("unpack('\\161a\\217\\1b\\218\\0\\1c\\219\\0\\0\\0\\1d')"), "a b c d");
  EXPECT_EQ(unpacked("unpack('\\196\\1a\\197\\0\\1b\\198\\0\\0\\0\\1c')"), "a b c nil") << "bin";
  TestScript script;
  EXPECT_EQ(script.run("return cmsgpack.unpack('\\147\\1\\145\\2\\144')"),
            "*3\r\n:1\r\n*1\r\n:2\r\n*0");
  EXPECT_EQ(script.run("return cmsgpack.unpack('\\129\\161a\\1').a"), ":1");
  EXPECT_EQ(script.run("return cmsgpack.unpack('\\222\\0\\1\\161a\\220\\0\\1\\1').a"), "*1\r\n:1");
}

TEST(CmsgpackUnpack, ReadsOneOrSome) {
  EXPECT_EQ(unpacked("unpack_one('\\1\\2')"), "1 1 nil nil");
  EXPECT_EQ(unpacked("unpack_one('\\1\\2', 1)"), "-1 2 nil nil");
  EXPECT_EQ(unpacked("unpack_one('\\1', 1)"), "-1 nil nil nil");
  EXPECT_EQ(unpacked("unpack_limit('\\1\\2\\3', 2)"), "2 1 2 nil");
  EXPECT_EQ(unpacked("unpack_limit('\\1\\2\\3', 9, 1)"), "-1 2 3 nil");
  EXPECT_EQ(unpacked("unpack_limit('\\1\\2', 0)"), "1 2 nil nil");
  EXPECT_EQ(unpacked("unpack_one('\\1', 5)"),
            "error: user_script:1: Start offset 5 greater than input length 1.");
  EXPECT_EQ(unpacked("unpack_one('\\1', -1)"),
            "error: user_script:1: Invalid request to unpack with offset of -1 and limit of 1.");
}

TEST(CmsgpackUnpack, RefusesWrongInput) {
  for (const char* const bytes :
       {"\\204", "\\205\\1", "\\202\\1\\1\\1", "\\161", "\\217\\5abc", "\\219\\255\\255\\255\\255a",
        "\\145", "\\129\\1", "\\221\\255\\255\\255\\255", "\\223\\255\\255\\255\\255\\1"}) {
    EXPECT_EQ(unpacked("unpack('" + std::string(bytes) + "')"),
              "error: user_script:1: Missing bytes in input.")
        << bytes;
  }
  for (const char* const bytes : {"\\193", "\\199\\1\\1\\1", "\\212\\1\\1", "\\129\\192\\1",
                                  "\\129\\203\\127\\248\\0\\0\\0\\0\\0\\0\\1"}) {
    EXPECT_EQ(unpacked("unpack('" + std::string(bytes) + "')"),
              "error: user_script:1: Bad data format in input.")
        << bytes;
  }
  EXPECT_TRUE(unpacked("unpack(('\\145'):rep(100000))").starts_with("error: "));
  EXPECT_TRUE(
      unpacked("unpack(('\\1'):rep(100000))").starts_with("error: user_script:1: stack ov"));
}

TEST(Cmsgpack, GivesBackWhatItGot) {
  TestScript script;
  EXPECT_EQ(script.run("local function same(a, b) if type(a) ~= 'table' then return a == b end "
                       "for k, v in pairs(a) do if not same(v, b[k]) then return false end end "
                       "return true end "
                       "local t = {a = {1, 2, {3}}, ['b\\0'] = -1.5, [-7] = true, [0.5] = 'x'} "
                       "local u = cmsgpack.unpack(cmsgpack.pack(t)) "
                       "return same(t, u) and same(u, t)",
                       3),
            "#t");
}

}  // namespace lua_cmsgpack_test
}  // namespace mayfly
