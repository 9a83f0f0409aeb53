// SPDX-License-Identifier: Apache-2.0
// LineChart: values over time, a line for every series.

#pragma once

#include <string>
#include <vector>

namespace mayfly {

struct LineChart {
  struct Series {
    std::string name;
    std::string colour;
    std::vector<double> values;  // at even steps, the first at `step`
  };

  std::string title;     // the question that the chart answers
  std::string subtitle;  // under which conditions
  std::string x_axis;
  std::string y_axis;
  double step = 1;  // on the x axis, from one value to the next
  std::vector<Series> series;

  // The picture, as SVG.
  std::string render() const;
};

}  // namespace mayfly
