// SPDX-License-Identifier: Apache-2.0
// What counts as a number, and how numbers are written, by the examples of Valkey's own tests.

#include "resp/numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace mayfly {
namespace numbers_test {

TEST(ParseInteger, TakesTheOneSpellingOfEachInteger) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("99"), 99);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_integer("-9223372036854775808"), INT64_MIN);
}

TEST(ParseInteger, RefusesEverythingElse) {
  for (const char* text :
       {"", "-", "+1", " 1", "1 ", "01", "-01", "-0", "00", "1.0", "1e3", "0x1", "a", "--1",
        "9223372036854775808", "-9223372036854775809", "18446744073709551616"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
}

TEST(ParseInteger, ReadsBackWhatIsWritten) {
  EXPECT_TRUE(rc::check(
      [](std::int64_t value) { RC_ASSERT(parse_integer(std::to_string(value)) == value); }));
}

TEST(ParseFloat, TakesWholeTexts) {
  EXPECT_EQ(parse_float("3.0e3"), 3000.0L);
  EXPECT_EQ(parse_float("-.5"), -0.5L);
  EXPECT_EQ(parse_float("inf"), std::numeric_limits<long double>::infinity());
  EXPECT_EQ(parse_double("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_double("+1"), 1.0);
  EXPECT_EQ(parse_double("0"), 0.0);
}

TEST(ParseFloat, RefusesSpacesNanAndWhatDoesNotFit) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view(" 1"), std::string_view("1 "),
        std::string_view("nan"), std::string_view("1a"), std::string_view("1\0", 2),
        std::string_view("\t1"), std::string_view("1e99999")}) {
    EXPECT_EQ(parse_float(text), std::nullopt) << text;
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_double("1e-999"), std::nullopt);
  EXPECT_EQ(parse_double(std::string(5 * 1024, '1')), std::nullopt);
}

TEST(FormatFloat, HasNoZerosAtTheEndAndNoExponent) {
  EXPECT_EQ(format_float(3.5L), "3.5");
  EXPECT_EQ(format_float(10.6L), "10.6");
  EXPECT_EQ(format_float(5000.0L), "5000");
  EXPECT_EQ(format_float(-0.0L), "0");
  EXPECT_EQ(format_float(-1e-20L), "0");
  EXPECT_EQ(format_float(1e21L), "1000000000000000000000");
  EXPECT_EQ(format_float(0.1L + 0.2L), "0.3");
  EXPECT_EQ(format_float(HUGE_VALL), "inf");
  EXPECT_EQ(format_float(std::numeric_limits<long double>::max()).size(), 4933u);
}

TEST(FormatDouble, IsTheShortestAsValkeyLaysItOut) {
  EXPECT_EQ(format_double(0), "0");
  EXPECT_EQ(format_double(-0.0), "-0");
  EXPECT_EQ(format_double(0.1), "0.1");
  EXPECT_EQ(format_double(-3.25), "-3.25");
  EXPECT_EQ(format_double(1e15), "1000000000000000");
  EXPECT_EQ(format_double(1e17), "100000000000000000");
  EXPECT_EQ(format_double(1e20), "1e+20");
  EXPECT_EQ(format_double(-1.5e300), "-1.5e+300");
  EXPECT_EQ(format_double(0.000001), "0.000001");
  EXPECT_EQ(format_double(1e-7), "1e-7");
  EXPECT_EQ(format_double(1.25e-7), "1.25e-7");
  EXPECT_EQ(format_double(0.00123456789), "0.00123456789");
  EXPECT_EQ(format_double(1234.5678901234567), "1234.5678901234567");
  EXPECT_EQ(format_double(HUGE_VAL), "inf");
  EXPECT_EQ(format_double(-HUGE_VAL), "-inf");
  EXPECT_EQ(format_double(std::nan("")), "nan");
}

TEST(FormatDouble, ReadsBackAsTheSame) {
  EXPECT_TRUE(rc::check([](double mantissa) {
    const double value = std::ldexp(mantissa, *rc::gen::inRange(-900, 900));
    RC_ASSERT(std::strtod(format_double(value).c_str(), nullptr) == value);
  }));
}

}  // namespace numbers_test
}  // namespace mayfly
