// SPDX-License-Identifier: Apache-2.0
// The output of `mayfly top`: lines, or a JSON object on one line.

#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "cli/top/top_sample.h"
#include "mayfly/time.h"

namespace mayfly {

// Recent rates, for the sparklines.
struct TopHistory {
  std::deque<double> operations;
  std::deque<double> expired;

  void add(const TopView& view);
};

// Each line has at most `width` characters.
std::vector<std::string> top_lines(const TopView& view, const TopHistory& history,
                                   std::string_view address, std::size_t width);

std::string top_json(const TopView& view, std::string_view address, Time now);

// The last `width` values as characters of eight heights: "▁▂▅█".
std::string sparkline(const std::deque<double>& values, std::size_t width);

// The first `width` characters.
std::string cut(std::string_view text, std::size_t width);

}  // namespace mayfly
