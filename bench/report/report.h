// SPDX-License-Identifier: Apache-2.0
// The results as tables for a terminal. It knows nothing about the suites but the titles and
// columns of their tables (tables.cc).

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report/results.h"
#include "tools/terminal/text_table.h"

namespace mayfly::bench {

// A metric as it is shown.
struct Column {
  std::string_view metric;
  std::string_view title;
  std::string_view unit = {};
  double scale = 1;  // what is shown is the metric divided by this
  // Whether to show how many times the value of `base` it is, too.
  bool ratio = false;
};

struct Table {
  std::string_view suite;
  std::string_view part;
  std::string_view title;
  std::string_view how;
  std::vector<Column> columns;
  // The systems side by side, for one or two columns; otherwise below each other.
  bool is_across = false;
  std::string_view base = "mayfly";  // what ratios compare with
};

std::span<const Table> tables();

// All runs of one case with the same settings.
struct Row {
  std::string name;
  Settings settings;
  std::vector<std::string> systems = {};  // in the order in which they were measured
  std::vector<const Run*> runs = {};

  // The median over the rounds.
  std::optional<double> median_of(std::string_view system, std::string_view metric) const;
};

// The rows of a part, in the order in which they were measured.
std::vector<Row> rows_of(const Results& results, std::string_view suite, std::string_view part);

// How many times the number of the other system in its row this one is: the median of the ratios
// within each round, because what is measured in the same round has met the same conditions.
std::optional<double> ratio_of(const Row& row, std::string_view system, const Row& other_row,
                               std::string_view other, std::string_view metric);

std::string ratio_text(std::optional<double> ratio);

// "keys 1,000,000, value_bytes 60".
std::string settings_text(const Settings& settings);

// All tables that these results have runs for, and the goals.
std::string render_report(const Results& results, const Colours& colours);

// What Mayfly is expected to reach, and whether these results do: one table (goals.cc) for all
// suites.
struct Verdict {
  std::string text;        // what was measured, and the goal
  bool is_judged = false;  // false if fewer entries were measured than the goal speaks of
  bool is_reached = false;
};

// For each goal that these results can answer, the worst of the cases it applies to.
std::vector<Verdict> judge(const Results& results);

}  // namespace mayfly::bench
