// SPDX-License-Identifier: Apache-2.0
// Is what Svg writes a picture that a browser can read, whatever text is in it?

#include "bench/report/svg.h"

#include <gtest/gtest.h>

#include <array>

namespace mayfly {
namespace {

class SvgTest : public testing::Test {
 protected:
  // The file so far, without what every file begins and ends with.
  std::string drawn() {
    const std::string empty = Svg(100, 50, "title").finish();
    const std::string end = "</svg>\n";
    const std::size_t head = empty.size() - end.size();
    std::string all = std::move(svg_).finish();
    EXPECT_EQ(all.substr(0, head), empty.substr(0, head));
    EXPECT_TRUE(all.ends_with(end));
    return all.substr(head, all.size() - empty.size());
  }

  Svg svg_{100, 50, "title"};
};

TEST_F(SvgTest, BeginsWithItsSizeItsTitleAndAGround) {
  const std::string text = std::move(svg_).finish();
  EXPECT_TRUE(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 50\""));
  EXPECT_NE(text.find("<title>title</title>"), std::string::npos);
  EXPECT_NE(text.find("<rect width=\"100\" height=\"50\""), std::string::npos);
}

TEST_F(SvgTest, EscapesTextThatLooksLikeMarkup) {
  svg_.text({1, 2}, "a<b & \"c\">", {});
  EXPECT_NE(drawn().find(">a&lt;b &amp; &quot;c&quot;&gt;</text>"), std::string::npos);
}

TEST_F(SvgTest, WritesNumbersShortAndNeverMinusZero) {
  svg_.rectangle({0.04, -0.01, 1.25, 10}, "#000000");
  EXPECT_EQ(drawn(), "<rect x=\"0\" y=\"0\" width=\"1.2\" height=\"10\" fill=\"#000000\"/>\n");
}

TEST_F(SvgTest, DrawsALineThroughAllPoints) {
  const std::array<Svg::Point, 2> points = {{{1, 2}, {3.5, 4}}};
  svg_.polyline(points, {.colour = "#0072b2", .width = 2, .dashes = "4 2"});
  EXPECT_EQ(drawn(),
            "<polyline points=\"1,2 3.5,4\" fill=\"none\" stroke-linejoin=\"round\" "
            "stroke=\"#0072b2\" stroke-width=\"2\" stroke-dasharray=\"4 2\"/>\n");
}

TEST_F(SvgTest, GivesAHaloOnlyToTextThatAsksForIt) {
  svg_.text({1, 2}, "plain", {});
  svg_.text({1, 2}, "above a line", {.halo = true});
  const std::string text = drawn();
  EXPECT_NE(text.find("paint-order=\"stroke\">above a line<"), std::string::npos);
  EXPECT_EQ(text.find("paint-order=\"stroke\">plain<"), std::string::npos);
}

TEST_F(SvgTest, NamesTheAnchorOnlyWhenItIsNotTheUsualOne) {
  svg_.text({1, 2}, "x", {});
  svg_.text({1, 2}, "y", {.anchor = Svg::Anchor::end, .bold = true});
  const std::string text = drawn();
  EXPECT_EQ(text.find("text-anchor"), text.rfind("text-anchor"));
  EXPECT_NE(text.find("text-anchor=\"end\" font-weight=\"600\">y<"), std::string::npos);
}

}  // namespace
}  // namespace mayfly
