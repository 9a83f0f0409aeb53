// SPDX-License-Identifier: Apache-2.0
// Reading configuration from files and from the words of a command line.

#include <fmt/format.h>
#include <glob.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "commands/words.h"
#include "resp/inline_words.h"
#include "server/config/config.h"
#include "server/config/config_table.h"
#include "server/config/config_values.h"

namespace mayfly {
namespace {

constexpr int kIncludesDeep = 16;  // a file that includes itself is an error, not an endless loop

// A line or a pair of words that says something, and where it was said.
struct Statement {
  std::string where;  // "valkey.conf, line 3"
  std::string name;
  std::vector<std::string> values;
};

class Loader {
 public:
  Loader(Config& config, bool strict) : config_(config), strict_(strict) {}

  Status file(const std::string& path, int depth);
  Status apply(const Statement& statement);

  // Of all that was read.
  std::vector<std::string> warnings() const { return inert_warnings(inert_); }

 private:
  Status line(const std::string& path, int number, std::string_view text, int depth);
  Status include(const Statement& statement, int depth);
  Status refuse(const Statement& statement, const Error& error) const;
  Status note_inert(const Statement& statement);

  Config& config_;
  const bool strict_;
  std::vector<std::pair<std::string, std::string>> inert_;  // each once, with its last value
};

Status Loader::file(const std::string& path, int depth) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path)) {
    const std::string why = in ? "it is a directory" : std::strerror(errno);
    return Error{Code::io, fmt::format("cannot read the configuration file {}: {}", path, why)};
  }
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    const Status status = line(path, number, text, depth);
    if (!status) return status;
  }
  return Done{};
}

Status Loader::line(const std::string& path, int number, std::string_view text, int depth) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos || text[begin] == '#') return Done{};

  std::vector<std::string_view> words;
  std::string unquoted;
  const std::string where = fmt::format("{}, line {}", path, number);
  if (!split_inline(text, words, unquoted)) {
    return Error{Code::invalid, fmt::format("{}: the quotes are not balanced", where)};
  }
  if (words.empty()) return Done{};
  const Statement statement{where, std::string(words[0]), {words.begin() + 1, words.end()}};
  return equals(statement.name, "include") ? include(statement, depth) : apply(statement);
}

// A pattern that matches nothing is no error, a plain name that is not there is.
Status Loader::include(const Statement& statement, int depth) {
  if (depth >= kIncludesDeep) {
    return refuse(statement, bad_value("files include each other too deeply"));
  }
  for (const std::string& pattern : statement.values) {
    glob_t found{};
    const int result = ::glob(pattern.c_str(), GLOB_NOMAGIC, nullptr, &found);
    Status status = Done{};
    for (std::size_t i = 0; result == 0 && status && i < found.gl_pathc; ++i) {
      status = file(found.gl_pathv[i], depth + 1);
    }
    ::globfree(&found);
    if (!status) return status;
  }
  return Done{};
}

Status Loader::apply(const Statement& statement) {
  const Status status = set_directive(config_, statement.name, statement.values, true);
  if (!status) return refuse(statement, status.error());
  return is_inert(statement.name) ? note_inert(statement) : Status(Done{});
}

Status Loader::refuse(const Statement& statement, const Error& error) const {
  const bool is_secret = (marks_of(statement.name) & mark::secret) != 0;
  std::string text = statement.name;
  for (const std::string& value : statement.values) {
    text += ' ';
    text += is_secret ? "(a secret)" : quoted_word(value);
  }
  return Error{error.code, fmt::format("{}: '{}': {}", statement.where, text, error.message)};
}

Status Loader::note_inert(const Statement& statement) {
  const std::string name(find_inert(statement.name)->name);
  const std::string value = directive_text(config_, name).value_or("");
  if (strict_ && changes_safety(name, value)) {
    return refuse(statement, {Code::unsupported, "it has no effect here, and --strict was given"});
  }
  std::erase_if(inert_, [&](const auto& noted) { return noted.first == name; });
  inert_.emplace_back(name, value);
  return Done{};
}

bool is_option(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }

// Takes `--name value ...` or `--name=value` off the words, from `at` on.
Statement take_option(std::span<const std::string> words, std::size_t& at) {
  Statement statement{"command line", words[at++].substr(2), {}};
  if (const std::size_t equal = statement.name.find('='); equal != std::string::npos) {
    statement.values.push_back(statement.name.substr(equal + 1));
    statement.name.resize(equal);
  }
  while (at < words.size() && !is_option(words[at])) statement.values.push_back(words[at++]);
  // A word that says all by itself.
  if (equals(statement.name, "drop-unsupported") && statement.values.empty()) {
    statement.values.emplace_back("yes");
  }
  return statement;
}

}  // namespace

Status load_config_file(Config& config, const std::string& path, std::vector<std::string>& warnings,
                        bool strict) {
  const std::string words[] = {path};
  return load_config_words(config, words, warnings, strict);
}

Status load_config_words(Config& config, std::span<const std::string> words,
                         std::vector<std::string>& warnings, bool strict) {
  Config loaded = config;
  Loader loader(loaded, strict);
  std::size_t at = 0;
  if (!words.empty() && !is_option(words[0])) {
    const std::string& path = words[at++];
    if (Status status = loader.file(path, 0); !status) return status;
    loaded.file = std::filesystem::absolute(path).lexically_normal().string();
  }
  while (at < words.size()) {
    if (!is_option(words[at])) {
      return bad_value(
          fmt::format("command line: '{}' is no option; options begin with --", words[at]));
    }
    const Status status = loader.apply(take_option(words, at));
    if (!status) return status;
  }
  for (std::string& warning : loader.warnings()) warnings.push_back(std::move(warning));
  config = std::move(loaded);
  return Done{};
}

}  // namespace mayfly
