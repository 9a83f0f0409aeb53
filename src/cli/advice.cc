// SPDX-License-Identifier: Apache-2.0
#include "cli/advice.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/nearest.h"
#include "cli/other_words.h"

namespace mayfly {
namespace {

// Hidden options are known, too, but are not told.
std::vector<std::string> right_words(const CLI::App& app, bool options, bool has_hidden) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group().empty() && !has_hidden) continue;
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  } else {
    for (const CLI::App* below : commands_below(app)) words.push_back(below->get_name());
  }
  return words;
}

// --TTL is --ttl, before anything else is guessed.
std::string guess_of(const std::string& name, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return std::string(nearest(CLI::detail::to_lower(name), views));
}

// Whoever is used to `sqlite3 app.db` says `mayfly app.db`.
std::string advice_about_file(const std::string& word) {
  std::error_code ignored;
  if (!word.ends_with(".db") && !std::filesystem::is_regular_file(word, ignored)) return "";
  return fmt::format("a store is opened with 'mayfly shell --db {}'", word);
}

}  // namespace

std::vector<const CLI::App*> commands_below(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* below) { return !below->get_group().empty(); });
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* below : commands_below(app)) {
    if (below->check_name(name)) return below;
  }
  return nullptr;
}

std::vector<std::string> unknown_words(const CLI::App& app) {
  std::vector<std::string> words = app.remaining();
  std::erase(words, "--");  // which only says that no option follows
  return words;
}

const CLI::App& reached(const CLI::App& app) {
  if (!unknown_words(app).empty()) return app;
  const auto below = app.get_subcommands();
  return below.empty() ? app : reached(*below.front());
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return full_name(*app.get_parent()) + " " + app.get_name();
}

std::string unknown_word(const CLI::App& app, const std::string& word) {
  const bool is_option = word.starts_with("-") && word != "-";
  const std::vector<std::string> words = right_words(app, is_option, false);
  const std::vector<std::string_view> views(words.begin(), words.end());
  const std::string name = word.substr(0, is_option ? word.find('=') : word.npos);
  const std::vector<std::string> all = right_words(app, is_option, true);
  const std::string guess = guess_of(name, all);
  const bool is_of_program = app.get_parent() == nullptr;
  std::string advice;
  if (is_of_program && !is_option) advice = advice_for(name);
  if (is_of_program && !is_option && advice.empty()) advice = advice_about_file(name);

  if (!is_option && views.empty()) {
    return fmt::format(
        "'{}' is one word too many for '{}'; put quotes around what belongs together", name,
        full_name(app));
  }
  std::string message = fmt::format("'{}' is not {} of '{}'", name,
                                    is_option ? "an option" : "a command", full_name(app));
  if (!advice.empty()) {
    message += fmt::format("; {}", advice);
  } else if (!guess.empty()) {
    message += fmt::format("; did you mean '{}'?", guess);
  } else {
    message += fmt::format("; it knows {}", listed(views));
    if (is_option) message += ". A word that begins with '-' and is no option goes behind '--'";
  }
  return message;
}

std::string explanation(const CLI::App& app, const CLI::ParseError& wrong) {
  const std::string_view message = wrong.what();
  const std::string_view name = message.substr(0, message.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr) {
    if (message.find(": At Most 1 required but received ") != message.npos) {
      const std::string_view times = message.substr(message.rfind(' ') + 1);
      return fmt::format("{} was given {} times; give it once", name, times);
    }
    return fmt::format("{} needs a value", name);  // "--sizes: 1 required N,... missing"
  }
  if (dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr) {
    // An option that is not known may have swallowed nothing and still be the real mistake.
    const CLI::App& chosen = reached(app);
    for (const std::string& word : unknown_words(chosen)) {
      const bool is_command = !commands_below(chosen).empty();  // or what was to be one
      if (word.starts_with("-") || is_command) return unknown_word(chosen, word);
    }
    const std::string_view what = message.substr(0, message.find(" is required"));
    return fmt::format("'{}' needs {}", full_name(chosen), what);  // "KEY is required"
  }
  return std::string(message);
}

}  // namespace mayfly
