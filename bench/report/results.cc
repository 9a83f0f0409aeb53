// SPDX-License-Identifier: Apache-2.0
#include "bench/report/results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "base/version.h"
#include "mayfly/clock.h"
#include "text/json.h"
#include "text/json_reader.h"

#ifndef MAYFLY_COMMIT
#define MAYFLY_COMMIT "unknown"
#endif

namespace mayfly::bench {
namespace {

// Linux says it in a line "model name : Intel ...".
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

void write_series(Json& json, const Series& series) {
  json.open('{');
  json.member("name", series.name);
  json.member("unit", series.unit);
  json.key("points");
  json.open('[');
  for (const auto& [at, value] : series.points) {
    json.open('[');
    json.value(at);
    json.value(value);
    json.close(']');
  }
  json.close(']');
  json.close('}');
}

void write_run(Json& json, const Run& run) {
  json.open('{');
  json.member("suite", run.suite);
  json.member("part", run.part);
  json.member("case", run.name);
  json.member("system", run.system);
  json.member("round", run.round);
  json.key("settings");
  json.open('{');
  for (const auto& [name, value] : run.settings) {
    std::visit([&](const auto& held) { json.member(name, held); }, value);
  }
  json.close('}');
  json.key("metrics");
  json.open('{');
  for (const auto& [name, value] : run.metrics) json.member(name, value);
  json.close('}');
  if (!run.series.empty()) {
    json.key("series");
    json.open('[');
    for (const Series& series : run.series) write_series(json, series);
    json.close(']');
  }
  json.close('}');
}

std::string text_of(const JsonValue& object, std::string_view name) {
  const JsonValue* const member = object.find(name);
  return member != nullptr && member->is(JsonValue::Kind::string) ? member->text : "";
}

double number_of(const JsonValue& object, std::string_view name) {
  const JsonValue* const member = object.find(name);
  return member != nullptr ? member->number().value_or(0) : 0;
}

const std::vector<JsonValue>& items_of(const JsonValue& object, std::string_view name) {
  static const std::vector<JsonValue> kNoItems;
  const JsonValue* const member = object.find(name);
  return member != nullptr ? member->values : kNoItems;
}

Series read_series(const JsonValue& value) {
  Series series{text_of(value, "name"), text_of(value, "unit")};
  for (const JsonValue& point : items_of(value, "points")) {
    if (point.values.size() != 2) continue;
    series.points.emplace_back(point.values[0].number().value_or(0),
                               point.values[1].number().value_or(0));
  }
  return series;
}

Run read_run(const JsonValue& value) {
  Run run{text_of(value, "suite"), text_of(value, "part"), text_of(value, "case"),
          text_of(value, "system"), static_cast<int>(number_of(value, "round"))};
  for (const JsonValue& setting : items_of(value, "settings")) {
    const std::optional<double> number = setting.number();
    run.settings.emplace_back(setting.name, number ? Setting(*number) : Setting(setting.text));
  }
  for (const JsonValue& metric : items_of(value, "metrics")) {
    if (const auto number = metric.number()) run.metrics.emplace_back(metric.name, *number);
  }
  for (const JsonValue& series : items_of(value, "series")) {
    run.series.push_back(read_series(series));
  }
  return run;
}

}  // namespace

std::optional<double> Run::metric(std::string_view metric_name) const {
  for (const auto& [its_name, value] : metrics) {
    if (its_name == metric_name) return value;
  }
  return {};
}

std::optional<double> Run::setting(std::string_view setting_name) const {
  for (const auto& [its_name, value] : settings) {
    if (its_name == setting_name && value.index() == 0) return std::get<double>(value);
  }
  return {};
}

Results new_results() {
  Results results{.version = std::string(kMayflyVersion), .commit = MAYFLY_COMMIT, .time = {}};
  const auto now = SystemClock().now().time_since_epoch();
  results.time = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(now / std::chrono::seconds(1)));
  results.machine.processor = processor_model();
  results.machine.cores = std::thread::hardware_concurrency();
#ifdef __clang__
  results.machine.compiler = "clang " __clang_version__;
#else
  results.machine.compiler = "g++ " __VERSION__;
#endif
#ifndef NDEBUG
  results.machine.has_assertions = true;
#endif
  return results;
}

std::string to_json(const Results& results) {
  Json json;
  json.open('{');
  json.member("program", "mayfly-bench");
  json.member("version", results.version);
  json.member("commit", results.commit);
  json.member("time", results.time);
  json.key("machine");
  json.open('{');
  json.member("processor", results.machine.processor);
  json.member("cores", std::uint64_t{results.machine.cores});
  json.member("compiler", results.machine.compiler);
  json.member("assertions", results.machine.has_assertions);
  json.close('}');
  json.member("seconds", results.seconds);
  json.key("systems");
  json.open('{');
  for (const auto& [name, what] : results.systems) json.member(name, what);
  json.close('}');
  json.key("notes");
  json.open('[');
  for (const std::string& note : results.notes) json.value(note);
  json.close(']');
  json.key("runs");
  json.open('[');
  for (const Run& run : results.runs) write_run(json, run);
  json.close(']');
  json.close('}');
  return json.text() + "\n";
}

Result<Results> results_from_json(std::string_view text) {
  const Result<JsonValue> read = read_json(text);
  if (!read) return read.error();
  const JsonValue* const runs = read->find("runs");
  if (runs == nullptr || !runs->is(JsonValue::Kind::array)) {
    return Error{Code::invalid, "no results of mayfly-bench: the list 'runs' is missing"};
  }
  Results results{text_of(*read, "version"), text_of(*read, "commit"), text_of(*read, "time")};
  results.seconds = number_of(*read, "seconds");
  if (const JsonValue* const machine = read->find("machine")) {
    const JsonValue* const assertions = machine->find("assertions");
    results.machine = {text_of(*machine, "processor"),
                       static_cast<unsigned>(number_of(*machine, "cores")),
                       text_of(*machine, "compiler"), assertions != nullptr && assertions->truth};
  }
  for (const JsonValue& system : items_of(*read, "systems")) {
    results.systems.emplace_back(system.name, system.text);
  }
  for (const JsonValue& note : items_of(*read, "notes")) results.notes.push_back(note.text);
  for (const JsonValue& run : runs->values) results.add(read_run(run));
  return results;
}

std::string number_text(double number) {
  const double size = std::abs(number);
  if (size < 99.95 && size != std::floor(size)) {
    if (size < 0.095) return fmt::format("{:.2g}", number);
    return fmt::format("{:.{}f}", number, size < 9.995 ? 2 : 1);
  }
  std::string text = fmt::format("{:.0f}", number);
  const std::size_t first = text.starts_with('-') ? 2 : 1;
  for (std::size_t place = text.size(); place > first + 2; text.insert(place, 1, ',')) place -= 3;
  return text;
}

}  // namespace mayfly::bench
