// SPDX-License-Identifier: Apache-2.0
// Is what Json writes JSON, with the same values in it?

#include "text/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace mayfly {
namespace json_test {

// One value, inside an array.
template <class T>
std::string written(const T& what) {
  Json json;
  json.open('[');
  json.value(what);
  json.close(']');
  return json.text();
}

TEST(Json, PutsCommasBetweenAndNowhereElse) {
  Json json;
  json.open('{');
  json.member("a", 1);
  json.key("b");
  json.open('[');
  json.value(1);
  json.value(2.5);
  json.close(']');
  json.key("c");
  json.open('[');
  json.close(']');
  json.member("d", true);
  json.close('}');
  EXPECT_EQ(json.text(), "{\n  \"a\": 1,\n  \"b\": [1, 2.5],\n  \"c\": [],\n  \"d\": true\n}\n");
}

TEST(Json, SeparatesObjectsInAnArray) {
  Json json;
  json.open('[');
  for (int i = 0; i < 2; ++i) {
    json.open('{');
    json.member("i", i);
    json.close('}');
  }
  json.close(']');
  EXPECT_EQ(json.text(), "[{\n    \"i\": 0\n  }, {\n    \"i\": 1\n  }\n]\n");
}

TEST(Json, EscapesWhatWouldEndAString) {
  EXPECT_EQ(written("a\"b\\c\nd"), "[\"a\\\"b\\\\c\\nd\"]\n");
}

TEST(Json, WritesNumbersInFull) {
  EXPECT_EQ(written(0.1), "[0.1]\n");
  EXPECT_EQ(written(1.0 / 3), "[0.3333333333333333]\n");
  EXPECT_EQ(written(~std::uint64_t{0}), "[18446744073709551615]\n");
}

TEST(Json, WritesNullForWhatIsNoNumber) {
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "[null]\n");
  EXPECT_EQ(written(std::optional<double>()), "[null]\n");
}

}  // namespace json_test
}  // namespace mayfly
