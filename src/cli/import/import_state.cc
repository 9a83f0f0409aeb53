// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "resp/numbers.h"
#include "tools/files.h"

namespace mayfly {
namespace {

constexpr std::string_view kTitle = "mayfly copy 2\n";

std::uint64_t number_in(std::string_view text) {
  return static_cast<std::uint64_t>(parse_integer(text).value_or(0));
}

// The text before the first space, which is taken off.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

void read_line(std::string_view line, CopyState& state) {
  const std::string_view name = take_word(line);
  if (name == "from") state.from = line;
  if (name == "to") state.to = line;
  if (name == "match") state.match = line;
  if (name == "cf") state.family = line;
  if (name == "if-absent") state.if_absent = line;
  if (name == "run") state.run = line;
  if (name == "target") state.target = line;
  if (name == "place") state.place = line;
  if (name == "skipped") {
    const std::uint64_t number = number_in(take_word(line));
    state.counts.skipped[std::string(line)] = number;
  }
  if (name == "count") {
    const std::string_view which = take_word(line);
    CopyCounts::each(state.counts, [&](std::string_view known, std::uint64_t& number) {
      if (known == which) number = number_in(line);
    });
  }
}

}  // namespace

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char byte : text) {
    if (byte == '\\') line += "\\\\";
    if (byte == '\n') line += "\\n";
    if (byte != '\\' && byte != '\n') line += byte;
  }
  return line;
}

Status save_state(const std::string& path, const CopyState& state) {
  std::string text(kTitle);
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{} {}\n", name, value);
  };
  add("from", state.from);
  add("to", state.to);
  add("match", state.match);
  add("cf", state.family);
  add("if-absent", state.if_absent);
  add("run", state.run);
  add("target", state.target);
  add("place", state.place);
  CopyCounts::each(state.counts, [&](std::string_view name, std::uint64_t number) {
    text += fmt::format("count {} {}\n", name, number);
  });
  for (const auto& [what, number] : state.counts.skipped) {
    text += fmt::format("skipped {} {}\n", number, what);
  }
  const std::string beside = path + ".new";
  if (const Status status = write_file(beside, text + "end\n"); !status) return status;
  std::error_code failure;
  std::filesystem::rename(beside, path, failure);
  if (!failure) return Done{};
  return Error{Code::io, fmt::format("cannot replace '{}': {}", path, failure.message())};
}

Result<std::optional<CopyState>> load_state(const std::string& path) {
  if (!std::filesystem::exists(path)) return std::optional<CopyState>();
  const Result<std::string> content = read_file(path);
  if (!content) return content.error();
  std::string_view rest = *content;
  if (!rest.starts_with(kTitle) || !rest.ends_with("\nend\n")) {
    return Error{Code::corrupt,
                 fmt::format("'{}' is not the state of a copy, or was written by another version "
                             "of mayfly; choose another --state FILE, or drop it with --restart",
                             path)};
  }
  CopyState state;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    read_line(line, state);
  }
  return std::optional<CopyState>(std::move(state));
}

}  // namespace mayfly
