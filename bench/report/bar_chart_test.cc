// SPDX-License-Identifier: Apache-2.0
// Do bars have the lengths of their values, and values the digits that tell them apart?

#include "bench/report/bar_chart.h"

#include <gtest/gtest.h>

#include <charconv>

namespace mayfly {
namespace {

BarChart example() {
  BarChart chart;
  chart.title = "Which is longer?";
  chart.axis = "ns";
  chart.series = {{"one", "#111111"}, {"two", "#222222"}};
  chart.groups = {{"insert", {10, 40}}, {"expire", {std::nullopt, 20}}};
  return chart;
}

// The widths of the bars of a colour, without the square in the legend.
std::vector<double> widths(const std::string& svg, const std::string& colour) {
  std::vector<double> result;
  const std::string mark = "fill=\"" + colour + "\"";
  for (std::size_t at = svg.find(mark); at != std::string::npos; at = svg.find(mark, at + 1)) {
    const std::size_t start = svg.rfind("width=\"", at) + 7;
    double width = 0;
    std::from_chars(svg.data() + start, svg.data() + at, width);
    result.push_back(width);
  }
  if (!result.empty()) result.erase(result.begin());
  return result;
}

TEST(BarChart, DrawsLengthsInProportion) {
  const std::string svg = example().render();
  ASSERT_EQ(widths(svg, "#111111").size(), 1u);
  ASSERT_EQ(widths(svg, "#222222").size(), 2u);
  EXPECT_NEAR(widths(svg, "#222222")[0] / widths(svg, "#111111")[0], 4, 0.01);
  EXPECT_NEAR(widths(svg, "#222222")[1] / widths(svg, "#111111")[0], 2, 0.01);
}

TEST(BarChart, WithALogarithmicAxisDrawsDecadesAlike) {
  BarChart chart = example();
  chart.is_logarithmic = true;
  chart.groups = {{"insert", {10, 100}}, {"expire", {1000, 0}}};
  const std::string svg = chart.render();
  const std::vector<double> ones = widths(svg, "#111111");
  ASSERT_EQ(ones.size(), 2u);
  EXPECT_NEAR(ones[1] / ones[0], 3, 0.01);
  EXPECT_EQ(widths(svg, "#222222").size(), 1u) << "zero has no bar";
}

TEST(BarChart, ShowsADashForWhatIsAbsent) {
  EXPECT_NE(example().render().find(">–</text>"), std::string::npos);
}

TEST(BarChart, MarksWhatIsHopedFor) {
  BarChart chart = example();
  EXPECT_EQ(chart.render().find("stroke-dasharray"), std::string::npos);
  chart.mark = 16;
  chart.mark_name = "bar: 16";
  EXPECT_NE(chart.render().find("stroke-dasharray"), std::string::npos);
  EXPECT_NE(chart.render().find("bar: 16"), std::string::npos);
}

TEST(ShortNumber, KeepsTheDigitsThatMatter) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.25), "0.25");
  EXPECT_EQ(short_number(8.64), "8.6");
  EXPECT_EQ(short_number(16.14), "16.1");
  EXPECT_EQ(short_number(20), "20");
  EXPECT_EQ(short_number(99.96), "100");
  EXPECT_EQ(short_number(923.4), "923");
  EXPECT_EQ(short_number(12'345), "12 k");
  EXPECT_EQ(short_number(1'440'000), "1.4 M");
  EXPECT_EQ(short_number(2'000'000), "2 M");
}

}  // namespace
}  // namespace mayfly
