// SPDX-License-Identifier: Apache-2.0
#include "bench/report/svg.h"

#include <fmt/format.h>

#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

constexpr std::string_view kGround = "#fcfcfa";
constexpr std::string_view kFonts =
    "system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

// A tenth of a pixel is finer than anybody can see, and keeps files small.
std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string stroke_attributes(const Svg::Stroke& stroke) {
  std::string text =
      fmt::format(R"(stroke="{}" stroke-width="{}")", stroke.colour, number(stroke.width));
  if (!stroke.dashes.empty()) text += fmt::format(R"( stroke-dasharray="{}")", stroke.dashes);
  return text;
}

std::string_view name_of_anchor(Svg::Anchor anchor) {
  switch (anchor) {
    case Svg::Anchor::start:
      return "start";
    case Svg::Anchor::middle:
      return "middle";
    case Svg::Anchor::end:
      return "end";
  }
  return "start";
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title) {
  text_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" font-family=\"{2}\">\n<title>{3}</title>\n",
      number(width), number(height), kFonts, escaped(title));
  text_ += fmt::format("<rect width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{}\"/>\n", number(width),
                       number(height), kGround);
}

void Svg::rectangle(const Box& box, std::string_view colour) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                       number(box.x), number(box.y), number(box.width), number(box.height), colour);
}

void Svg::line(Point from, Point to, const Stroke& stroke) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", number(from.x),
                       number(from.y), number(to.x), number(to.y), stroke_attributes(stroke));
}

void Svg::polyline(std::span<const Point> points, const Stroke& stroke) {
  text_ += "<polyline points=\"";
  for (const Point& point : points) {
    text_ += fmt::format("{},{} ", number(point.x), number(point.y));
  }
  if (!points.empty()) text_.pop_back();
  text_ +=
      fmt::format("\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", stroke_attributes(stroke));
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", number(at.x),
                       number(at.y), number(style.size), style.colour);
  if (style.anchor != Anchor::start) {
    text_ += fmt::format(" text-anchor=\"{}\"", name_of_anchor(style.anchor));
  }
  if (style.bold) text_ += " font-weight=\"600\"";
  if (style.halo) {
    text_ += fmt::format(" stroke=\"{}\" stroke-width=\"3\" paint-order=\"stroke\"", kGround);
  }
  text_ += fmt::format(">{}</text>\n", escaped(text));
}

std::string Svg::finish() && {
  text_ += "</svg>\n";
  return std::move(text_);
}

double text_width(std::string_view text, double size) {
  return static_cast<double>(display_width(text)) * size * 0.6;
}

}  // namespace mayfly
