// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/json/json.h"

namespace mayfly {
namespace {

constexpr std::array<std::string_view, kCopyTypes.size()> kMany = {"strings", "hashes", "sets",
                                                                   "sorted sets", "lists"};

std::string line(std::uint64_t number, std::string_view what) {
  return number == 0 ? "" : fmt::format("  {:>10}  {}\n", number, what);
}

}  // namespace

std::string summary_text(const CopySummary& summary, const CopyCounts& counts) {
  const std::uint64_t keys = counts.all_keys();
  std::string text = fmt::format("Copied {} key{} from {} to {} in {:.1f} s", keys,
                                 keys == 1 ? "" : "s", summary.from, summary.to, summary.seconds);
  text += summary.is_resumed
              ? " since the interruption.\n"
              : fmt::format(", {:.0f} a second.\n",
                            static_cast<double>(keys) / std::max(summary.seconds, 0.001));
  for (std::size_t i = 0; i < kMany.size(); ++i) text += line(counts.keys[i], kMany[i]);
  text += line(counts.members, "fields, members and elements");
  text += line(counts.key_deadlines, "keys have a deadline");
  text += line(counts.member_deadlines, "fields or members have a deadline of their own");
  text += line(counts.gone, "expired or deleted meanwhile");
  text += line(counts.kept, "kept as they were in the target");
  text += line(counts.loosened,
               "keys whose members had several deadlines, which no server keeps: the latest is "
               "that of the key now");
  text += line(counts.dropped, "deadlines of fields given up");
  for (const auto& [what, number] : counts.skipped) {
    text += line(number, fmt::format("skipped: {}", what));
  }
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
  json.member("resumed", summary.is_resumed);
  json.member("seconds", summary.seconds);
  json.close('}');
  return json.text();
}

}  // namespace mayfly
