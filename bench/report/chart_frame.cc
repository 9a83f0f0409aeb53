// SPDX-License-Identifier: Apache-2.0
#include "bench/report/chart_frame.h"

#include <algorithm>
#include <cmath>

namespace mayfly {
namespace {

constexpr double kLegendTop = 84;
constexpr double kLegendLine = 20;
constexpr double kLegendSize = 13;
constexpr double kSwatch = 12;

// Where each item of a legend stands.
std::vector<Svg::Point> place_legend(std::span<const LegendItem> legend) {
  std::vector<Svg::Point> places;
  Svg::Point next{kChartMargin, kLegendTop};
  for (const LegendItem& item : legend) {
    const double width = kSwatch + 6 + text_width(item.name, kLegendSize) + 16;
    if (next.x + width > kChartWidth - kChartMargin) {
      next = {kChartMargin, next.y + kLegendLine};
    }
    places.push_back(next);
    next.x += width;
  }
  return places;
}

}  // namespace

double head_height(std::span<const LegendItem> legend) {
  return (legend.empty() ? kLegendTop - kLegendLine : place_legend(legend).back().y) + 24;
}

void draw_head(Svg& svg, std::string_view title, std::string_view subtitle,
               std::span<const LegendItem> legend) {
  svg.text({kChartMargin, 36}, title, {.size = 19, .bold = true});
  svg.text({kChartMargin, 58}, subtitle, {.size = 13, .colour = kQuietColour});
  const std::vector<Svg::Point> places = place_legend(legend);
  for (std::size_t i = 0; i < legend.size(); ++i) {
    const auto [x, y] = places[i];
    svg.rectangle({x, y - kSwatch + 1.5, kSwatch, kSwatch}, legend[i].colour);
    svg.text({x + kSwatch + 6, y}, legend[i].name, {.size = kLegendSize});
  }
}

std::vector<double> even_ticks(double most) {
  if (!(most > 0)) return {0, 1};
  const double rough = most / 5;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / decade;  // from 1 to below 10
  const double step = decade * (lead <= 1     ? 1
                                : lead <= 2   ? 2
                                : lead <= 2.5 ? 2.5
                                : lead <= 5   ? 5
                                              : 10);
  std::vector<double> ticks = {0};
  while (ticks.back() < most * (1 - 1e-9)) {
    ticks.push_back(step * static_cast<double>(ticks.size()));
  }
  return ticks;
}

std::vector<double> decade_ticks(double least, double most) {
  std::vector<double> ticks = {std::pow(10, std::floor(std::log10(least) + 1e-9))};
  do {
    ticks.push_back(ticks.back() * 10);
  } while (ticks.back() < most);
  return ticks;
}

}  // namespace mayfly
