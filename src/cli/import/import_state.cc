// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "resp/numbers.h"
#include "text/json.h"
#include "tools/files.h"

namespace mayfly {
namespace {

constexpr std::string_view kStateTitle = "mayfly copy 3\n";

std::uint64_t count_in(std::string_view text) {
  return static_cast<std::uint64_t>(parse_integer(text).value_or(0));
}

// Takes the text before the first space off the line.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

void read_state_line(std::string_view line, CopyState& state) {
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
    const std::uint64_t number = count_in(take_word(line));
    state.counts.skipped[std::string(line)] = number;
  }
  if (name == "count") {
    const std::string_view which = take_word(line);
    CopyCounts::each(state.counts, [&](std::string_view known, std::uint64_t& number) {
      if (known == which) number = count_in(line);
    });
  }
}

constexpr std::array<std::string_view, kCopyTypes.size()> kTypePlurals = {
    "strings", "hashes", "sets", "sorted sets", "lists", "streams"};

std::string summary_line(std::uint64_t number, std::string_view what) {
  return number == 0 ? "" : fmt::format("  {:>10}  {}\n", number, what);
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
  std::string text(kStateTitle);
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
  if (!rest.starts_with(kStateTitle) || !rest.ends_with("\nend\n")) {
    return Error{Code::corrupt,
                 fmt::format("'{}' is not a state file of this version (use another --state FILE "
                             "or --restart)",
                             path)};
  }
  CopyState state;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    read_state_line(line, state);
  }
  return std::optional<CopyState>(std::move(state));
}

std::string summary_text(const CopySummary& summary, const CopyCounts& counts) {
  const std::uint64_t keys = counts.all_keys();
  std::string text = fmt::format("Copied {} key{} from {} to {} in {:.1f} s", keys,
                                 keys == 1 ? "" : "s", summary.from, summary.to, summary.seconds);
  text += summary.is_resumed
              ? " since it was resumed.\n"
              : fmt::format(", {:.0f} per second.\n",
                            static_cast<double>(keys) / std::max(summary.seconds, 0.001));
  for (std::size_t i = 0; i < kTypePlurals.size(); ++i)
    text += summary_line(counts.keys[i], kTypePlurals[i]);
  text += summary_line(counts.members, "fields, members and elements");
  text += summary_line(counts.key_deadlines, "keys with a TTL");
  text += summary_line(counts.member_deadlines, "fields or members with their own TTL");
  text += summary_line(counts.gone, "expired or deleted during the copy");
  text += summary_line(counts.kept, "existing keys kept");
  text += summary_line(counts.loosened, "lists or streams that expire with their last element");
  text += summary_line(counts.dropped, "member TTLs dropped");
  for (const auto& [what, number] : counts.skipped) {
    text += summary_line(number, fmt::format("skipped: {}", what));
  }
  for (const std::string& what : summary.left_out) text += fmt::format("Not copied: {}\n", what);
  return text;
}

std::string summary_json(const CopySummary& summary, const CopyCounts& counts) {
  Json json;
  json.open('{');
  json.member("from", std::string_view(summary.from));
  json.member("to", std::string_view(summary.to));
  json.member("keys", counts.all_keys());
  CopyCounts::each(counts, [&](std::string_view name, std::uint64_t number) {
    if (name != "seen") json.member(name, number);
  });
  json.key("skipped");
  json.open('{');
  for (const auto& [what, number] : counts.skipped) json.member(what, number);
  json.close('}');
  json.key("not_copied");
  json.open('[');
  for (const std::string& what : summary.left_out) json.value(std::string_view(what));
  json.close(']');
  json.member("resumed", summary.is_resumed);
  json.member("seconds", summary.seconds);
  json.close('}');
  return json.text();
}

}  // namespace mayfly
