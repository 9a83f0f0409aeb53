// SPDX-License-Identifier: Apache-2.0
// Reading the configuration from files and from the command line, and writing it back.

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "commands/words.h"
#include "resp/inline_words.h"
#include "server/config/config.h"
#include "server/config/config_table.h"
#include "server/config/config_values.h"

namespace mayfly {
namespace {

constexpr int kIncludesDeep = 16;  // a file that includes itself is an error, not an endless loop

// A directive with its values, and where it was read.
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
  if (const std::string_view refusal = refusal_of_inert(name, value); !refusal.empty()) {
    return refuse(statement, {Code::unsupported, std::string(refusal)});
  }
  if (strict_ && changes_safety(name, value)) {
    return refuse(statement, {Code::unsupported, "it has no effect here, and --strict was given"});
  }
  std::erase_if(inert_, [&](const auto& noted) { return noted.first == name; });
  inert_.emplace_back(name, value);
  return Done{};
}

constexpr const char* kStandardInput = "-";  // in the place of a file
constexpr const char* kInputFile = "/dev/stdin";

bool is_option(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }

// Whether an option may stand without a value: then the next word is not taken for it, even if
// there is one.
bool needs_no_value(std::string_view name) {
  return equals(name, "save") || equals(name, "drop-unsupported");
}

// Takes `--name value ...`, `--name=value` or `"--name value"` off the words, from `at` on. As in
// Valkey, the dashes of the first one may be missing, and the first value may begin with dashes.
Statement take_option(std::span<const std::string> words, std::size_t& at) {
  const std::string& first = words[at++];
  Statement statement{"command line", is_option(first) ? first.substr(2) : first, {}};
  const std::size_t space = statement.name.find_first_of(" \t");
  if (const std::size_t equal = statement.name.find('='); equal < space) {
    statement.values.push_back(statement.name.substr(equal + 1));
    statement.name.resize(equal);
  } else if (space != std::string::npos) {
    const std::string line = statement.name;
    statement.values = split_words({&line, 1});
    statement.name = statement.values.empty() ? "" : statement.values.front();
    if (!statement.values.empty()) statement.values.erase(statement.values.begin());
  }
  if (statement.values.empty() && at < words.size() &&
      (!is_option(words[at]) || !needs_no_value(statement.name))) {
    statement.values.push_back(words[at++]);
  }
  while (at < words.size() && !is_option(words[at])) statement.values.push_back(words[at++]);
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
    if (Status status = loader.file(path == kStandardInput ? kInputFile : path, 0); !status) {
      return status;
    }
    if (path != kStandardInput) {
      loaded.file = std::filesystem::absolute(path).lexically_normal().string();
    }
  }
  if (at == 1 && words.size() > 1 && words[0] != kStandardInput && words[1] == kStandardInput) {
    ++at;  // a file, and more from a pipe
    if (Status status = loader.file(kInputFile, 0); !status) return status;
  }
  while (at < words.size()) {
    const Status status = loader.apply(take_option(words, at));
    if (!status) return status;
  }
  for (std::string& warning : loader.warnings()) warnings.push_back(std::move(warning));
  config = std::move(loaded);
  return Done{};
}

// ---- CONFIG REWRITE ----
//
// The file is read once more, on top of the defaults, and only directives that differ from what is
// in effect are changed. So a file that says what is in effect stays as it is.

namespace {

constexpr std::string_view kMarker = "# Generated by CONFIG REWRITE";

Error io_error(const std::string& path) {
  return {Code::io, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
}

// The name of the directive of a line; empty if the line has none.
std::string_view directive_of(const std::string& line) {
  std::vector<std::string_view> words;
  std::string unquoted;
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string::npos || line[begin] == '#') return {};
  if (!split_inline(line, words, unquoted) || words.empty()) return {};
  if (const Directive* const row = find_directive(words[0])) return row->name;
  const InertDirective* const inert = find_inert(words[0]);
  return inert == nullptr ? std::string_view() : inert->name;
}

bool takes_words(std::string_view name) {
  const InertDirective* const inert = find_inert(name);
  const bool has_words =
      inert != nullptr && (inert->form == Form::words || inert->form == Form::oom_scores);
  return has_words || (marks_of(name) & mark::several) != 0;
}

std::string line_of(const Config& config, std::string_view name) {
  const std::string text = directive_text(config, name).value_or("");
  if (name == "replicaof" && text.empty()) return "replicaof no one";
  const bool is_bare = takes_words(name) && !text.empty();
  return fmt::format("{} {}", name, is_bare ? text : quoted_word(text));
}

std::set<std::string_view> differences(const Config& a, const Config& b) {
  std::set<std::string_view> names;
  const auto compare = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (directive_text(a, row.name) != directive_text(b, row.name)) names.insert(row.name);
    }
  };
  compare(directives());
  compare(inert_directives());
  return names;
}

std::set<std::string_view> all_names() {
  std::set<std::string_view> names;
  for (const Directive& row : directives()) names.insert(row.name);
  for (const InertDirective& row : inert_directives()) names.insert(row.name);
  return names;
}

// Each directive of `changed` is written in the place of its first line; its other lines are
// dropped.
std::string rewritten(std::istream& in, const Config& config,
                      const std::set<std::string_view>& changed) {
  std::string text;
  std::set<std::string_view> missing = changed;
  bool has_marker = false;
  for (std::string line; std::getline(in, line);) {
    const std::string_view name = directive_of(line);
    if (line == kMarker) has_marker = true;
    if (changed.contains(name)) {
      if (missing.erase(name) == 0) continue;
      line = line_of(config, name);
    }
    text += line;
    text += '\n';
  }
  if (!missing.empty() && !has_marker) text += fmt::format("{}\n", kMarker);
  for (const std::string_view name : missing) text += line_of(config, name) + '\n';
  return text;
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) return io_error(path);
  return Done{};
}

// A new file takes the place of the old one, with the permissions of the old one.
Status replace_file(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return io_error(temporary);

  struct stat old {};
  const mode_t mode = ::stat(path.c_str(), &old) == 0 ? old.st_mode & 07777 : 0600;
  Status status = write_all(fd, bytes, temporary);
  if (status && ::fchmod(fd, mode) != 0) status = io_error(temporary);
  if (::close(fd) != 0 && status) status = io_error(temporary);
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = io_error(path);
  if (!status) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

Status rewrite_config(const Config& config, bool writes_all) {
  if (config.file.empty()) {
    return Error{Code::not_found, "The server is running without a config file"};
  }
  Config old;
  old.start_directory = config.start_directory;
  std::ifstream in(config.file);
  if (in) {
    std::vector<std::string> warnings;
    const Status status = load_config_file(old, config.file, warnings, false);
    if (!status) return status;
  }
  const std::set<std::string_view> names = writes_all ? all_names() : differences(old, config);
  return replace_file(config.file, rewritten(in, config, names));
}

}  // namespace mayfly
