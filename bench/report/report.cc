// SPDX-License-Identifier: Apache-2.0
#include "bench/report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/report/statistics.h"

namespace mayfly::bench {
namespace {

using Cell = TextTable::Cell;

std::string setting_text(const Setting& setting) {
  const auto* const number = std::get_if<double>(&setting);
  return number != nullptr ? number_text(*number) : std::get<std::string>(setting);
}

const Setting* find_setting(const Settings& settings, std::string_view name) {
  for (const auto& [its_name, value] : settings) {
    if (its_name == name) return &value;
  }
  return nullptr;
}

// Settings that are the same in all rows are shown once above the table; the others get a column.
struct SettingNames {
  Settings common;
  std::vector<std::string> varying;
};

SettingNames split_settings(const std::vector<Row>& rows) {
  SettingNames names;
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.settings) {
      if (std::ranges::find(names.varying, name) != names.varying.end()) continue;
      const bool is_common = std::ranges::all_of(rows, [&](const Row& other) {
        const Setting* const found = find_setting(other.settings, name);
        return found != nullptr && *found == value;
      });
      if (!is_common) names.varying.push_back(name);
      if (is_common && find_setting(names.common, name) == nullptr) {
        names.common.emplace_back(name, value);
      }
    }
  }
  return names;
}

// What a row begins with: the case and its settings. A case is named in its first row only.
std::vector<Cell> first_cells(const Row& row, const SettingNames& names, bool is_first) {
  std::vector<Cell> cells = {{is_first ? row.name : ""}};
  for (const std::string& name : names.varying) {
    const Setting* const setting = find_setting(row.settings, name);
    cells.push_back({is_first && setting != nullptr ? setting_text(*setting) : ""});
  }
  return cells;
}

Cell value_cell(const Row& row, std::string_view system, const Column& column) {
  const std::optional<double> value = row.median_of(system, column.metric);
  return {value ? number_text(*value / column.scale) : "-"};
}

std::vector<std::string> systems_of(const std::vector<Row>& rows) {
  std::vector<std::string> systems;
  for (const Row& row : rows) {
    for (const std::string& system : row.systems) {
      if (std::ranges::find(systems, system) == systems.end()) systems.push_back(system);
    }
  }
  return systems;
}

std::string render_across(const Table& table, const std::vector<Row>& rows,
                          const SettingNames& names, const Colours& colours) {
  const std::vector<std::string> systems = systems_of(rows);
  std::vector<TextTable::Column> heads = {{"", ""}};
  for (const std::string& name : names.varying) heads.push_back({name, ""});
  for (const Column& column : table.columns) {
    for (const std::string& system : systems) {
      heads.push_back({system, std::string(column.unit)});
      if (column.ratio && system != table.base) heads.push_back({"", std::string(table.base)});
    }
  }
  TextTable text(heads);
  for (const Row& row : rows) {
    std::vector<Cell> cells = first_cells(row, names, true);
    for (const Column& column : table.columns) {
      for (const std::string& system : systems) {
        cells.push_back(value_cell(row, system, column));
        if (!column.ratio || system == table.base) continue;
        cells.push_back(
            {ratio_text(ratio_of(row, table.base, row, system, column.metric)), Emphasis::strong});
      }
    }
    text.add_row(std::move(cells));
  }
  return text.render(colours);
}

std::string render_down(const Table& table, const std::vector<Row>& rows, const SettingNames& names,
                        const Colours& colours) {
  std::vector<TextTable::Column> heads = {{"", ""}};
  for (const std::string& name : names.varying) heads.push_back({name, ""});
  heads.push_back({"", ""});
  for (const Column& column : table.columns) {
    heads.push_back({std::string(column.title), std::string(column.unit)});
    if (column.ratio) heads.push_back({"of " + std::string(table.base), ""});
  }
  TextTable text(heads);
  for (const Row& row : rows) {
    for (const std::string& system : row.systems) {
      std::vector<Cell> cells = first_cells(row, names, &system == &row.systems.front());
      cells.push_back({system});
      for (const Column& column : table.columns) {
        cells.push_back(value_cell(row, system, column));
        if (!column.ratio) continue;
        const bool is_base = system == table.base;
        cells.push_back(
            {is_base ? "" : ratio_text(ratio_of(row, system, row, table.base, column.metric)),
             Emphasis::weak});
      }
      text.add_row(std::move(cells));
    }
  }
  return text.render(colours);
}

std::string render_table(const Table& table, const Results& results, const Colours& colours) {
  const std::vector<Row> rows = rows_of(results, table.suite, table.part);
  if (rows.empty()) return "";
  const SettingNames names = split_settings(rows);
  std::string text = fmt::format("\n{}\n", colours.apply(table.title, Emphasis::strong));
  std::string how = fmt::format("  {}\n", table.how);
  if (!names.common.empty()) how += fmt::format("  With {}.\n", settings_text(names.common));
  text += colours.apply(how, Emphasis::weak) + "\n";
  return text + (table.is_across ? render_across(table, rows, names, colours)
                                 : render_down(table, rows, names, colours));
}

std::string render_head(const Results& results, const Colours& colours) {
  int rounds = 0;
  for (const Run& run : results.runs) rounds = std::max(rounds, run.round + 1);
  std::string text = fmt::format("Mayfly {}, commit {}, on {}, {} cores; {} UTC, {:.0f} s.\n",
                                 results.version, results.commit, results.machine.processor,
                                 results.machine.cores, results.time, results.seconds);
  text += rounds < 2 ? "One round.\n"
                     : fmt::format("Medians of up to {} interleaved rounds.\n", rounds);
  for (const auto& [name, what] : results.systems) text += fmt::format("  {:<13} {}\n", name, what);
  for (const std::string& note : results.notes) text += note + "\n";
  if (results.machine.has_assertions) {
    text += colours.apply("Built with assertions: these numbers mean nothing.\n", Emphasis::bad);
  }
  return text;
}

std::string render_goals(const Results& results, const Colours& colours) {
  std::string text;
  for (const Verdict& verdict : judge(results)) {
    const std::string word = !verdict.is_judged   ? "-     "
                             : verdict.is_reached ? colours.apply("ok    ", Emphasis::good)
                                                  : colours.apply("MISSED", Emphasis::bad);
    text += fmt::format("  {}  {}\n", word, verdict.text);
  }
  if (text.empty()) return "";
  return fmt::format("\n{} (the worst case of each; - where fewer entries were measured)\n\n{}",
                     colours.apply("Goals", Emphasis::strong), text);
}

}  // namespace

std::optional<double> Row::median_of(std::string_view system, std::string_view metric) const {
  std::vector<double> values;
  for (const Run* const run : runs) {
    const std::optional<double> value = run->metric(metric);
    if (run->system == system && value) values.push_back(*value);
  }
  if (values.empty()) return {};
  return median(std::move(values));
}

std::vector<Row> rows_of(const Results& results, std::string_view suite, std::string_view part) {
  std::vector<Row> rows;
  for (const Run& run : results.runs) {
    if (run.suite != suite || run.part != part) continue;
    auto row = std::ranges::find_if(rows, [&](const Row& candidate) {
      return candidate.name == run.name && candidate.settings == run.settings;
    });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{run.name, run.settings});
    row->runs.push_back(&run);
    if (std::ranges::find(row->systems, run.system) == row->systems.end()) {
      row->systems.push_back(run.system);
    }
  }
  return rows;
}

std::optional<double> ratio_of(const Row& row, std::string_view system, const Row& other_row,
                               std::string_view other, std::string_view metric) {
  std::vector<double> ratios;
  for (const Run* const run : row.runs) {
    if (run->system != system) continue;
    for (const Run* const peer : other_row.runs) {
      if (peer->system != other || peer->round != run->round) continue;
      const std::optional<double> above = run->metric(metric);
      const std::optional<double> below = peer->metric(metric);
      if (above && below && *below > 0) ratios.push_back(*above / *below);
    }
  }
  if (ratios.empty()) return {};
  return median(std::move(ratios));
}

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.{}f}x", *ratio, *ratio < 9.995 ? 2 : 1) : "-";
}

std::string settings_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, setting_text(value));
  }
  return text;
}

std::string render_report(const Results& results, const Colours& colours) {
  std::string text = render_head(results, colours);
  for (const Table& table : tables()) text += render_table(table, results, colours);
  return text + render_goals(results, colours);
}

}  // namespace mayfly::bench
