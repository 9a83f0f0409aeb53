// SPDX-License-Identifier: Apache-2.0
// Reading configuration from files and from the words of a command line.

#include <fmt/format.h>
#include <glob.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "commands/words.h"
#include "resp/inline_words.h"
#include "server/config.h"
#include "server/config_table.h"
#include "server/config_values.h"

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
  Loader(Config& config, std::vector<std::string>& warnings, bool strict)
      : config_(config), warnings_(warnings), strict_(strict) {}

  Status file(const std::string& path, int depth);
  Status apply(const Statement& statement);

 private:
  Status line(const std::string& path, int number, std::string_view text, int depth);
  Status include(const Statement& statement, int depth);
  Status refuse(const Statement& statement, const Error& error) const;
  void warn(const Statement& statement);

  Config& config_;
  std::vector<std::string>& warnings_;
  const bool strict_;
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
  if (is_inert(statement.name) && strict_) {
    return refuse(statement, {Code::unsupported, "it has no effect here, and --strict was given"});
  }
  const Status status = set_directive(config_, statement.name, statement.values, true);
  if (!status) return refuse(statement, status.error());
  warn(statement);
  return Done{};
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

void Loader::warn(const Statement& statement) {
  if (is_inert(statement.name)) {
    warnings_.push_back(fmt::format("{}: {} has no effect here", statement.where, statement.name));
  }
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
  return statement;
}

}  // namespace

Status load_config_file(Config& config, const std::string& path, std::vector<std::string>& warnings,
                        bool strict) {
  Config loaded = config;
  const Status status = Loader(loaded, warnings, strict).file(path, 0);
  if (!status) return status;
  loaded.file = std::filesystem::absolute(path).lexically_normal().string();
  config = std::move(loaded);
  return Done{};
}

Status load_config_words(Config& config, std::span<const std::string> words,
                         std::vector<std::string>& warnings, bool strict) {
  Config loaded = config;
  std::size_t at = 0;
  if (!words.empty() && !is_option(words[0])) {
    const Status status = load_config_file(loaded, words[at++], warnings, strict);
    if (!status) return status;
  }
  Loader loader(loaded, warnings, strict);
  while (at < words.size()) {
    if (!is_option(words[at])) {
      return bad_value(
          fmt::format("command line: '{}' is no option; options begin with --", words[at]));
    }
    const Status status = loader.apply(take_option(words, at));
    if (!status) return status;
  }
  config = std::move(loaded);
  return Done{};
}

}  // namespace mayfly
