// SPDX-License-Identifier: Apache-2.0
// JSON of scripts: results and messages as those of lua-cjson, which Valkey has.

#include "lua/libraries/lua_cjson.h"

#include <gtest/gtest.h>

#include <string>

#include "lua/test_script.h"

namespace mayfly {
namespace lua_cjson_test {

std::string encoded(const std::string& value) {
  TestScript script;
  return script.text("local x = cjson.encode(" + value + ") return x");
}

// The text, decoded and encoded again.
std::string decoded(const std::string& text) {
  TestScript script;
  push_text(script.state().get(), text);
  script.state().set_global("text");
  return script.text("local x = cjson.decode(text) return cjson.encode(x)");
}

TEST(CjsonEncode, WritesValues) {
  EXPECT_EQ(encoded("nil"), "null");
  EXPECT_EQ(encoded("cjson.null"), "null");
  EXPECT_EQ(encoded("true"), "true");
  EXPECT_EQ(encoded("{}"), "{}");
  EXPECT_EQ(encoded("{1, 'a', {false}}"), "[1,\"a\",[false]]");
  EXPECT_EQ(encoded("{a = {b = 1}}"), "{\"a\":{\"b\":1}}");
  EXPECT_EQ(encoded("{[1.5] = 1}"), "{\"1.5\":1}");
  EXPECT_EQ(encoded("{[0] = 1}"), "{\"0\":1}");
}

TEST(CjsonEncode, WritesNumbersWith14Digits) {
  EXPECT_EQ(encoded("0"), "0");
  EXPECT_EQ(encoded("-5"), "-5");
  EXPECT_EQ(encoded("0.1"), "0.1");
  EXPECT_EQ(encoded("1/3"), "0.33333333333333");
  EXPECT_EQ(encoded("99999999999999"), "99999999999999");
  EXPECT_EQ(encoded("1e14"), "1e+14");
  EXPECT_EQ(encoded("123456789012345"), "1.2345678901234e+14");
  EXPECT_EQ(encoded("-1e-7"), "-1e-07");
}

TEST(CjsonEncode, EscapesTexts) {
  EXPECT_EQ(encoded("'a/b\"c\\\\'"), "\"a\\/b\\\"c\\\\\"");
  EXPECT_EQ(encoded("'\\0\\1\\31\\127'"), "\"\\u0000\\u0001\\u001f\\u007f\"");
  EXPECT_EQ(encoded("'\\b\\t\\n\\f\\r'"), "\"\\b\\t\\n\\f\\r\"");
  EXPECT_EQ(encoded("'\\195\\169\\255'"), "\"\xC3\xA9\xFF\"");
}

TEST(CjsonEncode, FillsSparseArraysUpToALimit) {
  EXPECT_EQ(encoded("{[1] = 1, [3] = 3}"), "[1,null,3]");
  EXPECT_EQ(encoded("{[10] = 1}"), "[null,null,null,null,null,null,null,null,null,1]");
  EXPECT_EQ(encoded("{[11] = 1}"),
            "error: user_script:1: Cannot serialise table: excessively sparse array");
}

TEST(CjsonEncode, RefusesWhatJsonDoesNotHave) {
  EXPECT_EQ(encoded("type"), "error: user_script:1: Cannot serialise function: type not supported");
  EXPECT_EQ(encoded("1/0"),
            "error: user_script:1: Cannot serialise number: must not be NaN or Inf");
  EXPECT_EQ(encoded("{[true] = 1}"),
            "error: user_script:1: Cannot serialise boolean: table key must be a number or string");
  EXPECT_EQ(encoded("1, 2"),
            "error: user_script:1: bad argument #1 to 'encode' (expected 1 argument)");
  TestScript script;
  EXPECT_EQ(script.run("local t = {} t.t = t local x = cjson.encode(t)"),
            "error: user_script:1: Cannot serialise, excessive nesting (1001)");
  EXPECT_EQ(script.run("cjson.encode_max_depth(1e6) local t = {} t.t = t local x = cjson.encode(t)")
                .substr(0, 60),
            "error: user_script:1: Cannot serialise, excessive nesting (3");
}

// Debian's library writes behind its buffer here (CVE-2022-24834).
TEST(CjsonEncode, WritesLongTexts) {
  TestScript script({.memory_most = std::size_t{256} << 20});
  EXPECT_EQ(script.run("return #cjson.encode(('\\1'):rep(1e7))"), ":60000002");
  EXPECT_TRUE(script.run("return #cjson.encode(('\\1'):rep(1e8))").starts_with("error: "));
}

TEST(CjsonDecode, ReadsValues) {
  for (const char* const text :
       {"null", "true", "false", "0", "-12", "1.5", "\"\"", "\"abc\"", "[1,2,3]", "[[],[1]]",
        "{\"a\":[true,null]}", "{\"a\":{\"b\":{\"c\":1}}}"}) {
    if (std::string_view(text).find("[]") != std::string_view::npos) continue;
    EXPECT_EQ(decoded(text), text);
  }
  EXPECT_EQ(decoded(" \t\r\n[ 1 , 2 ] "), "[1,2]");
  EXPECT_EQ(decoded("[]"), "{}");
  EXPECT_EQ(decoded("{\"a\":1,\"a\":2}"), "{\"a\":2}");
  EXPECT_EQ(decoded("1e3"), "1000");
  EXPECT_EQ(decoded("-0.5E-1"), "-0.05");
  EXPECT_EQ(decoded("123456789012345678901"), "1.2345678901235e+20");
  EXPECT_EQ(decoded(std::string("12\0x", 4)), "12") << "a zero byte ends the text";
}

TEST(CjsonDecode, ReadsEscapes) {
  EXPECT_EQ(decoded(R"("\"\\\/\b\f\n\r\t")"), R"("\"\\\/\b\f\n\r\t")");
  EXPECT_EQ(decoded(R"("a\u0041\u00e9\u20AC\ud83d\ude00z")"),
            "\"aA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\"");
  EXPECT_EQ(decoded(R"("\u0000")"), R"("\u0000")");
}

TEST(CjsonDecode, ReadsNumbersThatJsonDoesNotHaveUnlessToldNotTo) {
  TestScript script;
  EXPECT_EQ(script.text("return cjson.decode('0x10') + cjson.decode('010') + cjson.decode('+1')"),
            "27");
  EXPECT_EQ(script.text("return tostring(cjson.decode('-inf')) .. tostring(cjson.decode('NaN'))"),
            "-infnan");
  const std::string strict =
      "local c = cjson.new() c.decode_invalid_numbers(false) local x = c.decode(";
  for (const char* const text : {"0x10", "010", "-inf", "-01"}) {
    EXPECT_EQ(script.run(strict + "'" + text + "')"),
              "error: user_script:1: Expected value but found invalid number at character 1");
  }
  EXPECT_EQ(script.run(strict + "'nan')"),
            "error: user_script:1: Expected value but found invalid token at character 1");
}

TEST(CjsonDecode, SaysWhereItIsWrong) {
  const std::string at = "error: user_script:1: ";
  EXPECT_EQ(decoded(""), at + "Expected value but found T_END at character 1");
  EXPECT_EQ(decoded("{\"a\":1"),
            at + "Expected comma or object end but found T_END at character 7");
  EXPECT_EQ(decoded("{\"a\" 1}"), at + "Expected colon but found T_NUMBER at character 6");
  EXPECT_EQ(decoded("{\"a\":1,}"),
            at + "Expected object key string but found T_OBJ_END at character 8");
  EXPECT_EQ(decoded("[1,]"), at + "Expected value but found T_ARR_END at character 4");
  EXPECT_EQ(decoded("[1 \"a\"]"),
            at + "Expected comma or array end but found T_STRING at character 4");
  EXPECT_EQ(decoded("1 2"), at + "Expected the end but found T_NUMBER at character 3");
  EXPECT_EQ(decoded("nul"), at + "Expected value but found invalid token at character 1");
  EXPECT_EQ(decoded("\"ab"),
            at + "Expected value but found unexpected end of string at character 4");
  EXPECT_EQ(decoded("\"a\\x\""),
            at + "Expected value but found invalid escape code at character 3");
  for (const char* const text : {R"("\u12")", R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")"}) {
    EXPECT_EQ(decoded(text),
              at + "Expected value but found invalid unicode escape code at character 2");
  }
  EXPECT_EQ(decoded(std::string("\0\"a\"", 4)),
            at + "JSON parser does not support UTF-16 or UTF-32");
  EXPECT_EQ(decoded(std::string(1001, '[')),
            at + "Found too many nested data structures (1001) at character 1001");
}

TEST(CjsonDecode, GoesAsDeepAsTheStackIfTold) {
  TestScript script;
  EXPECT_TRUE(script.run("cjson.decode_max_depth(1e6) local x = cjson.decode(('['):rep(1e5))")
                  .starts_with("error: user_script:1: Found too many nested data structures"));
}

TEST(CjsonSettings, AreReturnedAndChecked) {
  TestScript script;
  EXPECT_EQ(script.run("return {cjson.encode_max_depth(), cjson.decode_max_depth(20), "
                       "cjson.encode_number_precision(), cjson.encode_keep_buffer(), "
                       "cjson.encode_invalid_numbers('null'), cjson.decode_invalid_numbers('off')}",
                       3),
            "*6\r\n:1000\r\n:20\r\n:14\r\n#t\r\n$4\r\nnull\r\n#f");
  EXPECT_EQ(script.run("return {cjson.encode_sparse_array(true, 3, 4)}", 3),
            "*3\r\n#t\r\n:3\r\n:4");
  EXPECT_EQ(
      script.run("local x = cjson.encode_max_depth(0)"),
      "error: user_script:1: bad argument #1 to 'encode_max_depth' (expected integer between 1 "
      "and 2147483647)");
  EXPECT_EQ(
      script.run("local x = cjson.encode_invalid_numbers('x')"),
      "error: user_script:1: bad argument #1 to 'encode_invalid_numbers' (invalid option 'x')");
  EXPECT_EQ(
      script.run("local x = cjson.encode_max_depth(1, 2)"),
      "error: user_script:1: bad argument #2 to 'encode_max_depth' (found too many arguments)");
}

TEST(CjsonSettings, AreThoseOfATable) {
  TestScript script;
  EXPECT_EQ(script.run("local c = cjson.new() c.encode_number_precision(3) "
                       "c.encode_sparse_array(true) c.encode_invalid_numbers(true) "
                       "return {c.encode(1/3), cjson.encode(1/3), c.encode({[20] = 1/0})}"),
            "*3\r\n$5\r\n0.333\r\n$16\r\n0.33333333333333\r\n$10\r\n{\"20\":inf}");
}

}  // namespace lua_cjson_test
}  // namespace mayfly
