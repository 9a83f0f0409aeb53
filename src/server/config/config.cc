// SPDX-License-Identifier: Apache-2.0
// Setting and showing directives by name.

#include "server/config/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "commands/words.h"
#include "server/config/config_table.h"
#include "server/config/config_values.h"

namespace mayfly {
namespace {

std::string suggestion(std::string_view name) {
  const std::string_view meant = nearest(lowered(name), directive_names());
  return meant.empty() ? std::string() : fmt::format("; did you mean {}?", meant);
}

Error unknown(std::string_view name) {
  for (const RefusedDirective& row : refused_directives()) {
    if (equals(name, row.name)) return {Code::unsupported, std::string(row.why)};
  }
  return {Code::not_found, fmt::format("there is no directive {}{}", name, suggestion(name))};
}

// Of the primary, replicas and children.
Result<std::string> read_oom_scores(Values values) {
  const std::vector<std::string> words = split_words(values);
  if (words.size() != 3) return bad_value("wrong number of arguments");
  for (const std::string& word : words) {
    if (read_number(word, -2000, 2000)) continue;
    return bad_value("Invalid oom-score-adj-values, elements must be between -2000 and 2000.");
  }
  return fmt::format("{}", fmt::join(words, " "));
}

Result<std::string> read_inert(const InertDirective& row, Values values) {
  if (row.form == Form::words) return fmt::format("{}", fmt::join(split_words(values), " "));
  if (row.form == Form::oom_scores) return read_oom_scores(values);
  const auto word = only_word(values);
  if (!word) return word.error();
  if (row.form == Form::boolean) {
    const auto is = read_bool(*word);
    if (!is) return is.error();
    return std::string(*is ? "yes" : "no");
  }
  if (row.form == Form::number) {
    const auto number = read_number(*word, INT64_MIN, kLongMax);
    if (!number) return number.error();
    return std::to_string(*number);
  }
  if (row.form == Form::signed_memory && word->starts_with('-')) {
    const auto number = read_number(*word, -1, kLongMax);
    if (!number) return number.error();
    return std::to_string(*number);
  }
  if (row.form == Form::memory || row.form == Form::signed_memory) {
    const auto bytes = read_memory(*word, 0);
    if (!bytes) return bytes.error();
    return std::to_string(*bytes);
  }
  return *word;
}

Status set_inert(Config& config, const InertDirective& row, Values values) {
  auto text = read_inert(row, values);
  if (!text) return text.error();
  const auto found = std::ranges::find_if(
      config.inert, [&](const auto& given) { return given.first == row.name; });
  if (found == config.inert.end()) {
    config.inert.emplace_back(row.name, std::move(*text));
  } else {
    found->second = std::move(*text);
  }
  return Done{};
}

}  // namespace

Status set_directive(Config& config, std::string_view name, Values values, bool at_start) {
  const Directive* const row = find_directive(name);
  const InertDirective* const inert = row == nullptr ? find_inert(name) : nullptr;
  if (row == nullptr && inert == nullptr) return unknown(name);

  if (!at_start && (marks_of(name) & mark::fixed) != 0) {
    return Error{Code::denied, "can't set immutable config"};
  }
  return row != nullptr ? row->field.set(config, values, at_start)
                        : set_inert(config, *inert, values);
}

std::optional<std::string> directive_text(const Config& config, std::string_view name) {
  if (const Directive* const row = find_directive(name)) return row->field.show(config);
  const InertDirective* const inert = find_inert(name);
  if (inert == nullptr) return std::nullopt;
  for (const auto& [given, text] : config.inert) {
    if (given == inert->name) return text;
  }
  return std::string(inert->value);
}

std::vector<std::string_view> directive_names() {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      names.push_back(row.name);
      if (!row.alias.empty()) names.push_back(row.alias);
    }
  };
  add(directives());
  add(inert_directives());
  std::ranges::sort(names);
  return names;
}

bool changes_safety(std::string_view name, std::string_view value) {
  const InertDirective* const row = find_inert(name);
  return row != nullptr && (row->marks & mark::safety) != 0 && value != row->value;
}

std::string_view refusal_of_inert(std::string_view name, std::string_view value) {
  const InertDirective* const row = find_inert(name);
  if (row == nullptr || (row->marks & mark::encrypts) == 0 || value == row->value) return "";
  return "this server has no TLS and would send plain text (leave it out, and put a tunnel in "
         "front "
         "of the server)";
}

std::vector<std::string> inert_warnings(
    std::span<const std::pair<std::string, std::string>> directives) {
  std::vector<std::string> warnings;
  std::string names;
  for (const auto& [name, value] : directives) {
    if (changes_safety(name, value)) {
      warnings.push_back(
          fmt::format("{} {} has no effect in Mayfly: the server is less safe than Valkey with it",
                      name, value));
    } else {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
  }
  if (names.empty()) return warnings;
  warnings.insert(warnings.begin(), fmt::format("Settings without effect here: {}", names));
  return warnings;
}

bool is_inert(std::string_view name) { return find_inert(name) != nullptr; }

}  // namespace mayfly
