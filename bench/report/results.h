// SPDX-License-Identifier: Apache-2.0
// The one form of all results: what every suite produces, what is written as JSON, and what the
// reporter and bench/charts.py read. docs/benchmarks.md describes the JSON.
//
//   Results results = new_results();
//   results.add({.suite = "store", .part = "rates", .name = "get, random", .system = "lmdb",
//                .round = 0, .settings = {{"keys", 1e6}}, .metrics = {{"ops_per_second", 9e5}}});
//   write(to_json(results));
//
// A run is one measurement of one system in one round. Medians and ratios are computed from the
// runs when they are shown, never before.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mayfly/result.h"

namespace mayfly::bench {

using Setting = std::variant<double, std::string>;
using Settings = std::vector<std::pair<std::string, Setting>>;
using Metrics = std::vector<std::pair<std::string, double>>;

// Values over time or over another quantity.
struct Series {
  std::string name;
  std::string unit;  // of the values; the first number of a point is in seconds
  std::vector<std::pair<double, double>> points = {};
};

struct Run {
  std::string suite;   // expiry, cache, store, server, python
  std::string part;    // a table of the report
  std::string name;    // the case: a row of that table
  std::string system;  // what was measured
  int round = 0;
  Settings settings = {};  // the same for all systems that are compared in this case
  Metrics metrics = {};
  std::vector<Series> series = {};

  std::optional<double> metric(std::string_view metric_name) const;
  std::optional<double> setting(std::string_view setting_name) const;  // if it is a number
};

struct Machine {
  std::string processor;
  unsigned cores = 0;
  std::string compiler;
  bool has_assertions = false;  // then the numbers mean nothing
};

struct Results {
  std::string version;  // of Mayfly
  std::string commit;
  std::string time;  // UTC
  Machine machine = {};
  double seconds = 0;                                             // that the whole run took
  std::vector<std::pair<std::string, std::string>> systems = {};  // name, and what it is
  std::vector<std::string> notes = {};                            // what is missing
  std::vector<Run> runs = {};

  void add(Run run) { runs.push_back(std::move(run)); }
};

// Without runs; the rest says where and when this program runs.
Results new_results();

std::string to_json(const Results& results);

// Code::invalid if the text is not of this form.
Result<Results> results_from_json(std::string_view text);

// "1,234,567", "12.3", "0.04": about three digits, with thousands separated.
std::string number_text(double number);

}  // namespace mayfly::bench
