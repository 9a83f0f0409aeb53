// SPDX-License-Identifier: Apache-2.0
#include "cli/advice.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/nearest.h"

namespace mayfly {
namespace {

// Hidden options are accepted, but not listed in messages.
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

std::string guess_of(const std::string& name, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return std::string(nearest(CLI::detail::to_lower(name), views));
}

// `mayfly app.db`, as in `sqlite3 app.db`.
std::string advice_about_file(const std::string& word) {
  std::error_code ignored;
  if (!word.ends_with(".db") && !std::filesystem::is_regular_file(word, ignored)) return "";
  return fmt::format("to open a store use 'mayfly shell --db {}'", word);
}

// clang-format off
constexpr Alias kAliases[] = {
    {"set", "put", ""},
    {"write", "put", ""},
    {"setnx", "set-if-absent", ""},
    {"read", "get", ""},
    {"cat", "get", ""},
    {"rm", "del", ""},
    {"delete", "del", ""},
    {"remove", "del", ""},
    {"unlink", "del", ""},
    {"has", "exists", ""},
    {"incrby", "incr", ""},
    {"ls", "list", ""},
    {"keys", "list", ""},
    {"dbsize", "count", ""},
    {"stats", "stat", ""},
    {"info", "stat", ""},
    {"status", "stat", ""},
    {"vacuum", "compact", ""},
    {"defrag", "compact", ""},
    {"repl", "shell", ""},
    {"prompt", "shell", ""},
    {"server", "serve", ""},
    {"start", "serve", ""},
    {"benchmark", "bench", ""},
    {"man", "manual", ""},

    {"setex", "", "use 'put KEY VALUE --ttl TIME'"},
    {"psetex", "", "use 'put KEY VALUE --ttl 1500ms'"},
    {"mset", "", "use 'mayfly txn' for several changes in one transaction"},
    {"mget", "", "'get' takes one key; 'scan' shows keys and values"},
    {"getdel", "", "use 'get KEY' and then 'del KEY'"},
    {"decr", "", "use 'incr KEY -1'"},
    {"decrby", "", "use 'incr KEY -N'"},
    {"pttl", "", "use 'ttl KEY', which prints milliseconds"},
    {"pexpire", "", "use 'expire KEY 1500ms'"},
    {"expireat", "", "use 'expire KEY 2099-12-31T23:59Z'"},
    {"pexpireat", "", "use 'expire KEY 2099-12-31T23:59Z'"},
    {"flushdb", "", "use 'clear' to delete all entries of a column family"},
    {"flushall", "", "use 'clear' to delete all entries of a column family"},
    {"truncate", "", "use 'clear' to delete all entries of a column family"},
    {"multi", "", "use 'begin' and 'commit' in 'mayfly shell', or 'mayfly txn'"},
    {"save", "", "every write is durable; use 'backup' to copy the file while it is in use"},
    {"bgsave", "", "every write is durable; use 'backup' to copy the file while it is in use"},
    {"restore", "", "use 'load' to read a dump; a backup is a store file, open it directly"},
    {"tables", "", "use 'cf list' for column families, 'list' for keys"},
    {".tables", "", "use 'cf list' for column families, 'list' for keys"},
    {".dump", "", "use 'dump'"},
    {".help", "", "use 'help'"},
    {".quit", "", "use 'quit', or press Ctrl-D"},
    {".exit", "", "use 'quit', or press Ctrl-D"},
    {"create", "", "'put' creates the file; 'cf create' creates a column family"},
    {"drop", "", "'del' deletes keys, 'cf drop' a column family"},
    {"insert", "", "use 'put KEY VALUE', or 'set-if-absent KEY VALUE' to keep an existing value"},
    {"add", "", "use 'put KEY VALUE', or 'set-if-absent KEY VALUE' to keep an existing value"},
    {"update", "", "use 'put KEY VALUE'"},
    {"select", "", "there is no SQL: 'get KEY' prints a value, 'scan' lists keys and values"},
    {"find", "", "use 'list --prefix PREFIX'"},
    {"search", "", "use 'list --prefix PREFIX'"},
    {"describe", "", "use 'stat' for the file, 'get KEY --json' for a key"},
    {"watch", "", "use 'top' to monitor a server; a store does not publish changes"},
    {"monitor", "", "use 'top' to monitor a server"},
    {"ping", "", "a store file needs no server; use 'redis-cli ping' to test a server"},
    {"hset", "", "a store has no hashes: use keys like 'user:1:name', or 'mayfly serve'"},
    {"hget", "", "a store has no hashes: use 'get KEY' for an imported hash"},
    {"hgetall", "", "a store has no hashes: use 'get KEY' for an imported hash"},
};
// clang-format on

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

const Alias* find_alias(const std::string& word) {
  const auto found = std::ranges::find(kAliases, word, &Alias::name);
  return found == std::end(kAliases) ? nullptr : found;
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
  std::erase(words, "--");
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
    return fmt::format("unexpected argument '{}' for '{}' (quote values that contain spaces)", name,
                       full_name(app));
  }
  std::string message = fmt::format("'{}' is not {} of '{}'", name,
                                    is_option ? "an option" : "a command", full_name(app));
  if (!advice.empty()) {
    message += fmt::format("; {}", advice);
  } else if (!guess.empty()) {
    message += fmt::format("; did you mean '{}'?", guess);
  } else {
    message += fmt::format("; choose one of {}", listed(views));
    if (is_option) message += ". Put '--' before an argument that starts with '-'";
  }
  return message;
}

std::string explanation(const CLI::App& app, const CLI::ParseError& wrong) {
  const std::string_view message = wrong.what();
  const std::string_view name = message.substr(0, message.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr) {
    if (message.find(": At Most 1 required but received ") != message.npos) {
      const std::string_view times = message.substr(message.rfind(' ') + 1);
      return fmt::format("{} was given {} times (use it once)", name, times);
    }
    return fmt::format("{} requires a value", name);  // "--sizes: 1 required N,... missing"
  }
  if (dynamic_cast<const CLI::RequiredError*>(&wrong) != nullptr) {
    // An unknown option may be the real mistake.
    const CLI::App& chosen = reached(app);
    for (const std::string& word : unknown_words(chosen)) {
      const bool is_command = !commands_below(chosen).empty();
      if (word.starts_with("-") || is_command) return unknown_word(chosen, word);
    }
    const std::string_view what = message.substr(0, message.find(" is required"));
    return fmt::format("'{}' requires {}", full_name(chosen), what);  // "KEY is required"
  }
  return std::string(message);
}

std::span<const Alias> aliases() { return kAliases; }

std::string command_meant(std::string_view word) {
  std::string name = lower(word);
  const Alias* const found = find_alias(name);
  return found == nullptr || found->command.empty() ? name : std::string(found->command);
}

std::string_view advice_for(std::string_view word) {
  const Alias* const found = find_alias(lower(word));
  return found == nullptr ? std::string_view() : found->advice;
}

}  // namespace mayfly
