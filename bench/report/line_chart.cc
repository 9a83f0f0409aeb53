// SPDX-License-Identifier: Apache-2.0
#include "bench/report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/report/bar_chart.h"
#include "bench/report/chart_frame.h"
#include "bench/report/svg.h"

namespace mayfly {
namespace {

constexpr double kPlotHeight = 300;
constexpr double kFootHeight = 56;
constexpr double kAxisRoom = 48;  // for the numbers to the left

bool is_flat(const LineChart::Series& series) {
  return std::ranges::all_of(series.values, [](double value) { return value == 0; });
}

// Lines that never leave zero cover each other; the legend says so.
std::vector<LegendItem> legend_of(const LineChart& chart) {
  std::vector<LegendItem> legend;
  for (const LineChart::Series& series : chart.series) {
    legend.push_back({series.name + (is_flat(series) ? " (always 0)" : ""), series.colour});
  }
  return legend;
}

// One drawing of a chart: where its parts stand.
class LineDrawing {
 public:
  explicit LineDrawing(const LineChart& chart)
      : chart_(chart),
        legend_(legend_of(chart)),
        top_(head_height(legend_) + 24),
        svg_(kChartWidth, top_ + kPlotHeight + kFootHeight, chart.title) {
    double longest = 0;
    double most = 0;
    for (const LineChart::Series& series : chart.series) {
      longest = std::max(longest, chart.step * static_cast<double>(series.values.size()));
      for (const double value : series.values) most = std::max(most, value);
    }
    x_ticks_ = even_ticks(longest);
    x_most_ = longest > 0 ? longest : 1;
    y_ticks_ = even_ticks(most);
  }

  std::string draw() {
    draw_head(svg_, chart_.title, chart_.subtitle, legend_);
    draw_grid();
    for (const LineChart::Series& series : chart_.series) draw_series(series);
    return std::move(svg_).finish();
  }

 private:
  double x_of(double x) const { return kLeft + x / x_most_ * (kRight - kLeft); }
  double y_of(double y) const { return top_ + kPlotHeight * (1 - y / y_ticks_.back()); }

  void draw_grid() {
    const Svg::TextStyle small{.size = 11, .anchor = Svg::Anchor::middle, .colour = kQuietColour};
    for (const double tick : x_ticks_) {
      if (tick > x_most_) continue;
      svg_.line({x_of(tick), top_ + kPlotHeight}, {x_of(tick), top_ + kPlotHeight + 4},
                {.colour = kQuietColour});
      svg_.text({x_of(tick), top_ + kPlotHeight + 18}, short_number(tick), small);
    }
    for (const double tick : y_ticks_) {
      svg_.line({kLeft, y_of(tick)}, {kRight, y_of(tick)}, {.colour = kGridColour});
      svg_.text({kLeft - 8, y_of(tick) + 4}, short_number(tick),
                {.size = 11, .anchor = Svg::Anchor::end, .colour = kQuietColour});
    }
    svg_.text({(kLeft + kRight) / 2, top_ + kPlotHeight + 38}, chart_.x_axis,
              {.size = 12, .anchor = Svg::Anchor::middle, .colour = kQuietColour});
    svg_.text({kChartMargin, top_ - 14}, chart_.y_axis, {.size = 12, .colour = kQuietColour});
  }

  void draw_series(const LineChart::Series& series) {
    std::vector<Svg::Point> points;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      points.push_back({x_of(chart_.step * static_cast<double>(i + 1)), y_of(series.values[i])});
    }
    svg_.polyline(points, {.colour = series.colour, .width = 2});
  }

  static constexpr double kLeft = kChartMargin + kAxisRoom;
  static constexpr double kRight = kChartWidth - kChartMargin;

  const LineChart& chart_;
  std::vector<LegendItem> legend_;
  double top_;
  Svg svg_;
  std::vector<double> x_ticks_;
  std::vector<double> y_ticks_;
  double x_most_ = 1;
};

}  // namespace

std::string LineChart::render() const { return LineDrawing(*this).draw(); }

}  // namespace mayfly
