// SPDX-License-Identifier: Apache-2.0
// Are there five charts, each with the strategies that were measured?

#include "bench/report/bench_charts.h"

#include <gtest/gtest.h>

#include "bench/report/bench_example.h"

namespace mayfly {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(BenchCharts, AreFiveFilesOfTheirOwn) {
  std::vector<std::string> names;
  for (const Chart& chart : make_charts(example::results())) names.push_back(chart.file_name);
  EXPECT_EQ(names, (std::vector<std::string>{"cost.svg", "mass_expiry.svg", "memory.svg",
                                             "lateness.svg", "expired_but_present.svg"}));
}

TEST(BenchCharts, NameTheStrategiesTheirColoursAndTheQuestion) {
  for (const Chart& chart : make_charts(example::results())) {
    EXPECT_TRUE(contains(chart.svg, ">lazy only<")) << chart.file_name;
    EXPECT_TRUE(contains(chart.svg, "#0072b2")) << chart.file_name;
    EXPECT_TRUE(contains(chart.svg, "?</title>")) << chart.file_name;
    EXPECT_FALSE(contains(chart.svg, "=\"nan") || contains(chart.svg, "=\"inf")) << chart.file_name;
  }
}

TEST(BenchCharts, ShowMassExpiryInMillionsASecond) {
  const Chart chart = make_charts(example::results())[1];
  EXPECT_TRUE(contains(chart.svg, ">100<")) << "the wheel's 10 ns are 100 million a second";
  EXPECT_TRUE(contains(chart.svg, "million entries a second"));
}

TEST(BenchCharts, OfNothingAreNone) { EXPECT_TRUE(make_charts({}).empty()); }

}  // namespace
}  // namespace mayfly
