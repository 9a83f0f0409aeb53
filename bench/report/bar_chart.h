// SPDX-License-Identifier: Apache-2.0
// BarChart: groups of horizontal bars, one bar in each group for every series.
//
//   What does an operation cost?
//   1 M entries, uniform TTLs
//   ■ heap  ■ wheel  ■ tree
//
//   insert   ▇▇▇▇▇▇▇▇▇▇ 56
//            ▇▇▇▇ 8.6
//            ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 923
//   change   ...

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mayfly {

struct BarChart {
  struct Series {
    std::string name;
    std::string colour;
  };
  struct Group {
    std::string name;
    std::vector<std::optional<double>> values;  // by series; absent ones have no bar and a dash
  };

  std::string title;     // the question that the chart answers
  std::string subtitle;  // under which conditions
  std::string axis;      // what the values are, with their unit
  bool is_logarithmic = false;
  double least = 1;            // where a logarithmic axis begins; what is below has no bar
  std::optional<double> mark;  // a line across all groups, for what is hoped for
  std::string mark_name;
  std::vector<Series> series;
  std::vector<Group> groups;

  // The picture, as SVG.
  std::string render() const;
};

// A value in as few digits as tell it from its neighbours: "8.6", "923", "12 k", "1.4 M".
std::string short_number(double value);

}  // namespace mayfly
