// SPDX-License-Identifier: Apache-2.0
// Words and tables that the parts of the report of `mayfly bench server` have in common.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/server/bench_server_results.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

// With three digits, in that unit; "-" for nothing.
std::string number_text(std::optional<double> number, double unit = 1);

// "1.30x"
std::string ratio_text(std::optional<double> ratio);

// What a part asks, and how it was measured.
std::string heading(std::string_view title, std::string_view how, const Colours& colours);

// Whether a bar holds, as the last word of a row.
TextTable::Cell verdict(bool is_judged, bool holds);

// How long requests took: the table, and a row of it.
TextTable latency_table(std::string title);
std::vector<TextTable::Cell> latency_cells(const std::string& name, const ReplyTimes& latency);

}  // namespace mayfly
