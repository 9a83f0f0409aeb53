// SPDX-License-Identifier: Apache-2.0
// What all charts have in common: where things stand, the head with its legend, and axes.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report/svg.h"

namespace mayfly {

inline constexpr double kChartWidth = 860;
inline constexpr double kChartMargin = 24;
inline constexpr std::string_view kQuietColour = "#6a737d";
inline constexpr std::string_view kGridColour = "#e3e6ea";

struct LegendItem {
  std::string name;
  std::string colour;
};

// The height that draw_head() needs for so many items.
double head_height(std::span<const LegendItem> legend);

// The title, what it is about, and the legend, which takes as many lines as it needs.
void draw_head(Svg& svg, std::string_view title, std::string_view subtitle,
               std::span<const LegendItem> legend);

// Numbers for an axis from 0 to at least `most`, at round steps; at most seven.
std::vector<double> even_ticks(double most);

// Powers of ten from `least` on, up to the first that is at or above `most`.
// REQUIRES: least > 0.
std::vector<double> decade_ticks(double least, double most);

}  // namespace mayfly
