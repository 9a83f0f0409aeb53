// SPDX-License-Identifier: Apache-2.0
// Distances and coordinates as text.

#include "commands/geo/geo_reply.h"

#include <gtest/gtest.h>

#include <string>

#include "mayfly/random.h"
#include "resp/numbers.h"

namespace mayfly {
namespace geo_reply_test {

std::string distance(double value) { return std::string(distance_text(value).view()); }
std::string coordinate(double value) { return std::string(coordinate_text(value).view()); }

TEST(GeoReplyTest, DistancesHaveFourDecimals) {
  EXPECT_EQ(distance(0), "0.0000");
  EXPECT_EQ(distance(0.775), "0.7750");
  EXPECT_EQ(distance(0.00004), "0.0000");
  EXPECT_EQ(distance(0.00006), "0.0001");
  EXPECT_EQ(distance(0.99996), "1.0000");
  EXPECT_EQ(distance(166274.15156), "166274.1516");
  EXPECT_EQ(distance(65673000.0625), "65673000.0625");
}

TEST(GeoReplyTest, CoordinatesHaveAllDecimalsThatMatter) {
  EXPECT_EQ(coordinate(0), "0");
  EXPECT_EQ(coordinate(-0.0), "0");
  EXPECT_EQ(coordinate(180), "180");
  EXPECT_EQ(coordinate(-90.5), "-90.5");
  EXPECT_EQ(coordinate(13.36138933897018433), "13.36138933897018433");
  EXPECT_EQ(coordinate(0.0000000000000000049), "0");
  EXPECT_EQ(coordinate(-0.0000000000000000049), "0");
  EXPECT_EQ(coordinate(0.0000000000000000051), "0.00000000000000001");
  EXPECT_EQ(coordinate(5e-324), "0");
}

// The slow way knows every number.
TEST(GeoReplyTest, CoordinatesAreRoundedExactly) {
  Random random(5);
  for (int i = 0; i < 20'000; ++i) {
    const double scale = std::pow(10, -static_cast<double>(random.below(22)));
    const double value = (static_cast<double>(random.below(1 << 30)) - (1 << 29)) / (1 << 29) *
                         scale * (i % 2 == 0 ? 180 : 1.0 / 3);
    EXPECT_EQ(coordinate(value), format_float(value));
  }
  for (int power = 0; power < 120; ++power) {  // halves of the last digit, among others
    const double value = std::ldexp(1, -power);
    EXPECT_EQ(coordinate(value), format_float(value));
    EXPECT_EQ(coordinate(3 * value), format_float(3 * value));
  }
}

TEST(GeoReplyTest, APointIsTwoNumbersInResp3) {
  std::string out;
  Reply two(out, 2);
  reply_point(two, {1.5, -2});
  EXPECT_EQ(out, "*2\r\n$3\r\n1.5\r\n$2\r\n-2\r\n");
  out.clear();
  Reply three(out, 3);
  reply_point(three, {1.5, -2});
  reply_distance(three, 3);
  EXPECT_EQ(out, "*2\r\n,1.5\r\n,-2\r\n$6\r\n3.0000\r\n");
}

}  // namespace geo_reply_test
}  // namespace mayfly
