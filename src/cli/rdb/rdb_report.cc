// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "resp/numbers.h"
#include "tools/byte_text.h"
#include "tools/json/json.h"
#include "tools/terminal/progress.h"

namespace mayfly {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kNameMost = 48;  // characters of a key that are shown

std::string text(std::uint64_t number) { return fmt::format("{}", number); }

std::string heading(const std::string& path, const RdbSummary& summary) {
  std::string line = fmt::format("{}: RDB version {}", path, summary.version);
  if (const std::string writer = writer_of(summary); !writer.empty()) line += ", by " + writer;
  const auto found = summary.aux.find("ctime");
  const std::optional<std::int64_t> seconds =
      found == summary.aux.end() ? std::nullopt : parse_integer(found->second);
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (seconds && *seconds >= 0 && *seconds < kYear10000) {
    line += fmt::format(", {:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(*seconds));
  }
  return line + fmt::format(", {} bytes, sound\n", summary.bytes);
}

std::string types_table(const RdbSummary& summary, const Colours& colours) {
  TextTable table({{"type", ""}, {"keys", ""}, {"elements", ""}, {"bytes", "in the file"}});
  RdbSummary::ByType all;
  for (const auto& [type, row] : summary.types) {
    table.add_row({{type}, {text(row.keys)}, {text(row.elements)}, {text(row.bytes)}});
    all.keys += row.keys;
    all.elements += row.elements;
    all.bytes += row.bytes;
  }
  constexpr Emphasis kStrong = Emphasis::strong;
  table.add_row({{"all", kStrong},
                 {text(all.keys), kStrong},
                 {text(all.elements), kStrong},
                 {text(all.bytes), kStrong}});
  return table.render(colours);
}

std::string ttl_table(const RdbSummary& summary, const Colours& colours) {
  const std::uint64_t keys = sum(summary.keys_by_ttl);
  const std::uint64_t fields = sum(summary.fields_by_ttl);
  if (keys + fields == 0) return "\nNo key and no field has a deadline.\n";
  std::string out =
      fmt::format("\nDeadlines: {} keys and {} fields have one; due already: {} and {}\n", keys,
                  fields, summary.keys_by_ttl[0], summary.fields_by_ttl[0]);
  TextTable table({{"left", ""}, {"keys", ""}, {"fields", ""}, {"", ""}});
  std::uint64_t most = 0;
  const auto both = [&](std::size_t i) {
    return summary.keys_by_ttl[i] + summary.fields_by_ttl[i];
  };
  for (std::size_t i = 0; i < kTtlRanges.size(); ++i) most = std::max(most, both(i));
  for (std::size_t i = 0; i < kTtlRanges.size(); ++i) {
    const double share = static_cast<double>(both(i)) / static_cast<double>(most);
    table.add_row({{std::string(kTtlRanges[i])},
                   {text(summary.keys_by_ttl[i])},
                   {text(summary.fields_by_ttl[i])},
                   {pad_right(text_bar(share, kBarWidth), kBarWidth)}});
  }
  return out + table.render(colours);
}

std::string largest_table(const RdbSummary& summary, const Colours& colours) {
  if (summary.largest.empty()) return "";
  TextTable table({{"key", ""}, {"database", ""}, {"type", ""}, {"elements", ""}, {"bytes", ""}});
  for (const RdbSummary::LargeKey& key : summary.largest) {
    table.add_row({{printable(key.name, kNameMost)},
                   {fmt::format("{}", key.database)},
                   {key.type},
                   {text(key.elements)},
                   {text(key.bytes)}});
  }
  return "\nThe largest keys\n" + table.render(colours);
}

void add_ranges(Json& json, const RdbSummary& summary) {
  json.key("ttl");
  json.open('[');
  for (std::size_t i = 0; i < kTtlRanges.size(); ++i) {
    json.open('{');
    json.member("left", kTtlRanges[i]);
    json.member("keys", summary.keys_by_ttl[i]);
    json.member("fields", summary.fields_by_ttl[i]);
    json.close('}');
  }
  json.close(']');
}

void add_name(Json& json, std::string_view name) {
  if (is_utf8(name)) return json.member("key", name);
  json.key("key");
  json.open('{');
  json.member("base64", base64(name));
  json.close('}');
}

void add_largest(Json& json, const RdbSummary& summary) {
  json.key("largest");
  json.open('[');
  for (const RdbSummary::LargeKey& key : summary.largest) {
    json.open('{');
    json.member("database", key.database);
    add_name(json, key.name);
    json.member("type", key.type);
    json.member("elements", key.elements);
    json.member("bytes", key.bytes);
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string render_rdb_summary(const std::string& path, const RdbSummary& summary,
                               const Colours& colours) {
  std::string out = heading(path, summary) + "\n" + types_table(summary, colours);
  if (summary.databases.size() > 1) {
    out += "\nKeys by database:";
    for (const auto& [number, keys] : summary.databases)
      out += fmt::format(" {}: {}", number, keys);
    out += '\n';
  }
  if (summary.functions > 0)
    out += fmt::format("\nLibraries of functions: {}\n", summary.functions);
  return out + ttl_table(summary, colours) + largest_table(summary, colours);
}

std::string rdb_summary_to_json(const std::string& path, const RdbSummary& summary) {
  Json json;
  json.open('{');
  json.member("file", path);
  json.member("version", summary.version);
  json.member("writer", writer_of(summary));
  json.member("bytes", summary.bytes);
  json.key("aux");
  json.open('{');
  for (const auto& [name, value] : summary.aux) json.member(printable(name), printable(value));
  json.close('}');
  json.key("databases");
  json.open('{');
  for (const auto& [number, keys] : summary.databases) json.member(std::to_string(number), keys);
  json.close('}');
  json.key("types");
  json.open('{');
  for (const auto& [type, row] : summary.types) {
    json.key(type);
    json.open('{');
    json.member("keys", row.keys);
    json.member("elements", row.elements);
    json.member("bytes", row.bytes);
    json.close('}');
  }
  json.close('}');
  json.member("functions", summary.functions);
  json.member("keys_with_deadline", sum(summary.keys_by_ttl));
  json.member("fields_with_deadline", sum(summary.fields_by_ttl));
  json.member("due_keys", summary.keys_by_ttl[0]);
  json.member("due_fields", summary.fields_by_ttl[0]);
  add_ranges(json, summary);
  add_largest(json, summary);
  json.close('}');
  return json.text();
}

}  // namespace mayfly
