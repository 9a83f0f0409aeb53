// SPDX-License-Identifier: Apache-2.0
// Do lines go through their values?

#include "bench/report/line_chart.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

LineChart example() {
  LineChart chart;
  chart.title = "How much?";
  chart.step = 5;
  chart.series = {{"steps", "#111111", {0, 100}}, {"flat", "#222222", {0, 0}}};
  return chart;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LineChart, GoesFromTheBottomToTheTopOfItsAxis) {
  const std::string svg = example().render();
  // Two values, half way and at the right end; the plot is 300 high.
  const std::size_t start = svg.find("<polyline points=\"") + 18;
  const std::string points = svg.substr(start, svg.find('"', start) - start);
  const double first_y = std::stod(points.substr(points.find(',') + 1));
  const double last_y = std::stod(points.substr(points.rfind(',') + 1));
  EXPECT_NEAR(first_y - last_y, 300, 0.1) << points;
  EXPECT_TRUE(contains(points, "454,")) << points;
  EXPECT_TRUE(contains(points, "836,")) << points;
}

TEST(LineChart, SaysWhichLinesNeverLeaveZero) {
  const std::string svg = example().render();
  EXPECT_TRUE(contains(svg, ">flat (always 0)<"));
  EXPECT_TRUE(contains(svg, ">steps<"));
}

TEST(LineChart, OfNothingIsStillAPicture) {
  LineChart chart = example();
  chart.series.clear();
  EXPECT_TRUE(chart.render().ends_with("</svg>\n"));
}

}  // namespace
}  // namespace mayfly
