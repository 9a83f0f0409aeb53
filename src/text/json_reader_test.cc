// SPDX-License-Identifier: Apache-2.0
// Is what is JSON read as what it means, and all else refused, with its place?
#include "text/json_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "text/byte_text.h"

namespace mayfly {
namespace json_reader_test {

using Kind = JsonValue::Kind;

std::string wrong(std::string_view text) {
  const Result<JsonValue> value = read_json(text);
  return value ? "" : value.error().message;
}

TEST(JsonReader, ReadsEachKindOfValue) {
  const Result<JsonValue> value =
      read_json(R"( {"a": "x", "b": [1, -2.5e3, []], "c": true, "d": false, "e": null, "f": {}} )");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->values.size(), 6u);
  EXPECT_EQ(value->find("a")->text, "x");
  EXPECT_EQ(value->find("b")->values[0].whole_number(), 1);
  EXPECT_EQ(value->find("b")->values[1].whole_number(), -2500);
  EXPECT_TRUE(value->find("b")->values[2].is(Kind::array));
  EXPECT_TRUE(value->find("c")->truth);
  EXPECT_TRUE(value->find("d")->is(Kind::boolean));
  EXPECT_FALSE(value->find("d")->truth);
  EXPECT_TRUE(value->find("e")->is(Kind::null));
  EXPECT_TRUE(value->find("f")->is(Kind::object));
  EXPECT_EQ(value->find("g"), nullptr);
}

TEST(JsonReader, ReadsEscapesAndPairsOfThem) {
  EXPECT_EQ(read_json(R"("\"\\\/\b\f\n\r\t")")->text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(read_json(R"("\u0041\u00e9\u20AC\ud83d\ude00")")->text, "Aé€😀");
  EXPECT_EQ(read_json(R"("\u0000")")->text, std::string(1, '\0'));
}

TEST(JsonReader, TellsWholeNumbersFromOthers) {
  EXPECT_EQ(read_json("9223372036854775807")->whole_number(), INT64_MAX);
  EXPECT_EQ(read_json("-9223372036854775808")->whole_number(), INT64_MIN);
  EXPECT_EQ(read_json("9223372036854775808")->whole_number(), std::nullopt);
  EXPECT_EQ(read_json("0.5")->whole_number(), std::nullopt);
  EXPECT_EQ(read_json("0.5")->number(), 0.5);
  EXPECT_EQ(read_json("1e999")->number(), std::nullopt);
  EXPECT_EQ(read_json("\"1\"")->number(), std::nullopt);
}

TEST(JsonReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(wrong(""), "column 1: missing value");
  EXPECT_EQ(wrong(R"({"a" 1})"), "column 6: expected ':' after 'a'");
  EXPECT_EQ(wrong(R"({"a": 1 "b": 2})"), "column 9: expected ',' or '}' in the object");
  EXPECT_EQ(wrong(R"({"a": 1, "a": 2})"), "column 10: duplicate member 'a'");
  EXPECT_EQ(wrong("[1] 2"), "column 5: unexpected text after the value");
  EXPECT_EQ(wrong("[\"x]"), "column 2: unterminated string");
  EXPECT_EQ(wrong("\"a\xFF\""), "column 2: invalid UTF-8 (use {\"base64\": \"...\"})");
  EXPECT_EQ(wrong("\"a\tb\""), "column 3: unescaped control character (write \\u0009)");
}

TEST(JsonReader, RefusesWhatManyReadersTake) {
  for (const std::string_view text : {"{a: 1}",
                                      "{\"a\": 1,}",
                                      "[1,]",
                                      "[,1]",
                                      "01",
                                      "+1",
                                      ".5",
                                      "1.",
                                      "1e",
                                      "-",
                                      "nul",
                                      "NaN",
                                      "'a'",
                                      "\"\\x41\"",
                                      "\"\\u12g4\"",
                                      "\"\\u12\"",
                                      R"("\ud800")",
                                      R"("\udc00")",
                                      R"("\ud800\u0041")",
                                      "[1",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "\"",
                                      "\"\\",
                                      "// c\n1",
                                      "truefalse",
                                      "\xEF\xBB\xBF{}"}) {
    EXPECT_NE(wrong(text), "") << text;
  }
}

TEST(JsonReader, EndsWhereNestingGetsTooDeep) {
  EXPECT_EQ(wrong(std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']')), "");
  EXPECT_EQ(wrong(std::string(100'000, '[')),
            "column 33: arrays and objects nested deeper than 32");
}

TEST(JsonReader, ReadsBackAnyTextThatIsWritten) {
  EXPECT_TRUE(rc::check("round trip", [](const std::string& bytes) {
    const Result<JsonValue> value = read_json(bytes_as_json(bytes));
    RC_ASSERT(value.ok());
    if (is_utf8(bytes)) {
      RC_ASSERT(value->text == bytes);
    } else {
      RC_ASSERT(*from_base64(value->find("base64")->text) == bytes);
    }
  }));
}

// Nothing is read behind the end: with the text in memory of its own, sanitizers would see it.
TEST(JsonReader, TakesRandomBytesAndBrokenDocumentsWithoutHarm) {
  const std::string right =
      R"({"cf": "s", "key": {"base64": "/w=="}, "n": [-1.5e3, "\ud83d\ude00"]})";
  EXPECT_TRUE(rc::check("random bytes", [](const std::string& bytes) { (void)read_json(bytes); }));
  EXPECT_TRUE(rc::check("broken documents", [&right] {
    std::string text = right.substr(0, *rc::gen::inRange<std::size_t>(0, right.size() + 1));
    const auto changes = *rc::gen::inRange(0, 4);
    for (int i = 0; i < changes && !text.empty(); ++i) {
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    }
    const std::vector<char> alone(text.begin(), text.end());
    const Result<JsonValue> value = read_json({alone.data(), alone.size()});
    RC_ASSERT(value.ok() || value.error().message.starts_with("column "));
  }));
}

}  // namespace json_reader_test
}  // namespace mayfly
