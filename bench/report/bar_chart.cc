// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/report/chart_frame.h"
#include "bench/report/svg.h"

namespace mayfly {
namespace {

constexpr double kBarHeight = 13;
constexpr double kBarStep = 15;
constexpr double kGroupGap = 16;
constexpr double kFootHeight = 52;
constexpr double kValueSize = 11;
constexpr double kValueRoom = 56;  // for the number behind the longest bar

// One drawing of a chart: where its parts stand.
class BarDrawing {
 public:
  explicit BarDrawing(const BarChart& chart);

  std::string draw();

 private:
  void draw_grid();
  void draw_mark();
  void draw_group(const BarChart::Group& group, double top);
  double group_height() const { return kBarStep * static_cast<double>(chart_.series.size()); }
  double x_of(double value) const;

  const BarChart& chart_;
  std::vector<LegendItem> legend_;
  std::vector<double> ticks_;
  double left_ = 0;    // of the bars
  double right_ = 0;   // of the longest possible bar
  double top_ = 0;     // of the first group
  double bottom_ = 0;  // of the last
  Svg svg_;
};

double height_of(const BarChart& chart, std::span<const LegendItem> legend) {
  const double groups = static_cast<double>(chart.groups.size());
  const double bars = groups * kBarStep * static_cast<double>(chart.series.size());
  return head_height(legend) + bars + groups * kGroupGap + kFootHeight;
}

std::vector<LegendItem> legend_of(const BarChart& chart) {
  std::vector<LegendItem> legend;
  for (const BarChart::Series& series : chart.series)
    legend.push_back({series.name, series.colour});
  return legend;
}

BarDrawing::BarDrawing(const BarChart& chart)
    : chart_(chart),
      legend_(legend_of(chart)),
      svg_(kChartWidth, height_of(chart, legend_), chart.title) {
  double most = chart.mark.value_or(0);
  double widest = 0;
  for (const BarChart::Group& group : chart.groups) {
    widest = std::max(widest, text_width(group.name, 13));
    for (const auto& value : group.values) most = std::max(most, value.value_or(0));
  }
  ticks_ = chart.is_logarithmic ? decade_ticks(chart.least, most) : even_ticks(most);
  left_ = kChartMargin + widest + 12;
  right_ = kChartWidth - kChartMargin - kValueRoom;
  top_ = head_height(legend_) + kGroupGap / 2;
  const double groups = static_cast<double>(chart.groups.size());
  bottom_ = top_ + groups * (group_height() + kGroupGap) - kGroupGap / 2;
}

double BarDrawing::x_of(double value) const {
  double share = value / ticks_.back();
  if (chart_.is_logarithmic) {
    share = value <= ticks_.front()
                ? 0
                : std::log(value / ticks_.front()) / std::log(ticks_.back() / ticks_.front());
  }
  return left_ + share * (right_ - left_);
}

std::string BarDrawing::draw() {
  draw_head(svg_, chart_.title, chart_.subtitle, legend_);
  draw_grid();
  draw_mark();
  double top = top_;
  for (const BarChart::Group& group : chart_.groups) {
    draw_group(group, top);
    top += group_height() + kGroupGap;
  }
  return std::move(svg_).finish();
}

void BarDrawing::draw_grid() {
  for (const double tick : ticks_) {
    const double x = x_of(tick);
    svg_.line({x, top_ - 4}, {x, bottom_}, {.colour = kGridColour});
    svg_.text({x, bottom_ + 16}, short_number(tick),
              {.size = 11, .anchor = Svg::Anchor::middle, .colour = kQuietColour});
  }
  const std::string scale = chart_.is_logarithmic ? " (logarithmic scale)" : "";
  svg_.text({(left_ + right_) / 2, bottom_ + 34}, chart_.axis + scale,
            {.size = 12, .anchor = Svg::Anchor::middle, .colour = kQuietColour});
}

void BarDrawing::draw_mark() {
  if (!chart_.mark) return;
  const double x = x_of(*chart_.mark);
  svg_.line({x, top_ - 4}, {x, bottom_}, {.width = 1.2, .dashes = "5 4"});
  svg_.text({x, top_ - 8}, chart_.mark_name,
            {.size = 11, .anchor = Svg::Anchor::middle, .bold = true});
}

void BarDrawing::draw_group(const BarChart::Group& group, double top) {
  svg_.text({left_ - 10, top + group_height() / 2 + 4}, group.name,
            {.size = 13, .anchor = Svg::Anchor::end, .bold = true});
  for (std::size_t i = 0; i < chart_.series.size(); ++i) {
    const double y = top + kBarStep * static_cast<double>(i);
    const std::optional<double> value = i < group.values.size() ? group.values[i] : std::nullopt;
    const double end = value ? x_of(*value) : left_;
    if (end > left_) svg_.rectangle({left_, y, end - left_, kBarHeight}, chart_.series[i].colour);
    svg_.text({end + 5, y + kBarHeight - 2.5}, value ? short_number(*value) : "–",
              {.size = kValueSize, .halo = true});
  }
}

}  // namespace

std::string BarChart::render() const { return BarDrawing(*this).draw(); }

std::string short_number(double value) {
  if (value == 0) return "0";
  if (value < 1) return fmt::format("{:.2g}", value);
  if (value < 99.95) {
    const std::string text = fmt::format("{:.1f}", value);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  }
  if (value < 9999.5) return fmt::format("{:.0f}", value);
  if (value < 999'500) return fmt::format("{:.0f} k", value / 1e3);
  const std::string text = fmt::format("{:.1f}", value / 1e6);
  return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " M";
}

}  // namespace mayfly
