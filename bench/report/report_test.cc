// SPDX-License-Identifier: Apache-2.0
// Does the report say what the results say?

#include "bench/report/bench_report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/report/bench_example.h"

namespace mayfly {
namespace {

const Colours kPlain(false);
const Colours kColours(true);

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CostTable, ShowsCostsRatesAndRatiosToTheHeap) {
  const auto comparison = example::comparison(Layer::index, 1'000'000, Distribution::uniform);
  EXPECT_EQ(
      render_costs(comparison, kPlain),
      "  index alone  insert  change  cancel  cycle  vs heap  expire  vs heap  idle  memory\n"
      "                   ns      ns      ns     ns        x     M/s        x    ns   bytes\n"
      "  lazy only       5.0     5.0     5.0    5.0     0.05       -        -   5.0     8.0\n"
      "  heap            100     100     100    100      1.0    10.0      1.0   100    32.0\n"
      "  wheel          10.0    10.0    10.0   10.0     0.10     100     10.0  10.0    16.0\n");
}

TEST(CostTable, EmphasizesTheBestOfThoseThatSweep) {
  const auto comparison = example::comparison(Layer::index, 1'000'000, Distribution::uniform);
  const std::string text = render_costs(comparison, kColours);
  EXPECT_TRUE(contains(text, "\x1b[1m  10.0\x1b[0m")) << text;
  EXPECT_FALSE(contains(text, "\x1b[1m   5.0\x1b[0m")) << "lazy does not compete";
}

TEST(CostTable, WithoutTheHeapHasNoRatios) {
  auto comparison = example::comparison(Layer::cache, 1'000'000, Distribution::uniform);
  comparison.rows.erase(comparison.rows.begin() + 1);
  const std::string text = render_costs(comparison, kPlain);
  EXPECT_TRUE(contains(text, "100        -    16.0\n")) << text;
}

TEST(LatenessTable, ShowsHowLateAndHowMuchIsLeft) {
  const std::string text = render_lateness(example::results().lateness[0], kPlain);
  EXPECT_TRUE(contains(text, "20.0 s  40.0 s  80.0 s")) << text;
  EXPECT_TRUE(contains(text, " 80 %     7\n")) << text;
  EXPECT_TRUE(contains(text, "100 K keys")) << text;
}

TEST(Report, HasEachPartAndNoEscapesWithoutColours) {
  const std::string text =
      render_report(example::plan(), example::results(), example::machine(), kPlain);
  for (const std::string_view part :
       {"Mayfly 1.2.3 on Example \"9000\", 2 cores", "1 M entries, uniform", "index alone",
        "in the cache", "How late is what is due removed?", "What is expected"}) {
    EXPECT_TRUE(contains(text, part)) << part;
  }
  EXPECT_FALSE(contains(text, "\x1b"));
}

TEST(Report, WarnsWhenAssertionsWereOn) {
  Machine machine = example::machine();
  machine.has_assertions = true;
  const std::string text = render_report(example::plan(), example::results(), machine, kPlain);
  EXPECT_TRUE(contains(text, "Built with assertions"));
}

TEST(Report, FitsTheColumnsOfATerminal) {
  const std::string text =
      render_report(example::plan(), example::results(), example::machine(), kPlain);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    EXPECT_LE(display_width(line), 100u) << line;
    start = end + 1;
  }
}

TEST(DurationText, ChangesItsUnitAtASecond) {
  EXPECT_EQ(duration_text(Millis(0)), "0");
  EXPECT_EQ(duration_text(Millis(999)), "999 ms");
  EXPECT_EQ(duration_text(Millis(1500)), "1.5 s");
}

TEST(Sparkline, DrawsHeightsAndMarksZero) {
  EXPECT_EQ(sparkline({0, 0.1, 0.5, 1}, 1, 4), "·▁▄█");
  EXPECT_EQ(sparkline({0, 0, 0, 0}, 0, 4), "····");
}

TEST(Sparkline, KeepsPeaksWhenItIsNarrower) { EXPECT_EQ(sparkline({0, 1, 0, 0}, 1, 2), "█·"); }

TEST(Sparkline, HasItsWidthWhateverItIsGiven) {
  for (std::size_t count = 0; count < 100; ++count) {
    EXPECT_EQ(display_width(sparkline(std::vector<double>(count, 0.5), 1, 32)), 32u) << count;
  }
}

}  // namespace
}  // namespace mayfly
