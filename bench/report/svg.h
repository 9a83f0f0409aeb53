// SPDX-License-Identifier: Apache-2.0
// Svg: writes a picture as a Scalable Vector Graphics file.
//
//   Svg svg(640, 400, "How late is each strategy?");
//   svg.rectangle({20, 20, 100, 12}, "#0072b2");
//   svg.text({130, 30}, "12 ms", {.size = 12});
//   save(svg.finish());
//
// The picture has a light ground of its own, so that it looks the same on white and on dark pages,
// and its title is also what a screen reader says. Units are pixels, from the top left.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mayfly {

class Svg {
 public:
  struct Point {
    double x;
    double y;
  };
  struct Box {
    double x;
    double y;
    double width;
    double height;
  };
  enum class Anchor { start, middle, end };
  struct TextStyle {
    double size = 13;
    Anchor anchor = Anchor::start;
    bool bold = false;
    std::string_view colour = "#24292f";
    bool halo = false;  // keeps it readable on a line that it crosses
  };
  struct Stroke {
    std::string_view colour = "#24292f";
    double width = 1;
    std::string_view dashes = {};  // as stroke-dasharray takes them; empty for a whole line
  };

  Svg(double width, double height, std::string_view title);

  void rectangle(const Box& box, std::string_view colour);
  void line(Point from, Point to, const Stroke& stroke);
  void polyline(std::span<const Point> points, const Stroke& stroke);
  void text(Point at, std::string_view text, const TextStyle& style);

  // The whole file. Nothing can be added afterwards.
  std::string finish() &&;

 private:
  std::string text_;
};

// How wide a text will be, about: fonts differ, so leave some room.
double text_width(std::string_view text, double size);

}  // namespace mayfly
