// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_summary.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "keyspace/value.h"
#include "resp/numbers.h"
#include "text/byte_text.h"
#include "text/json.h"
#include "tools/terminal/progress.h"

namespace mayfly {
namespace {

constexpr std::size_t kLargest = 10;

constexpr std::size_t kTtlBarWidth = 30;
constexpr std::size_t kNameMost = 48;  // characters of a key that are shown

std::string number_text(std::uint64_t number) { return fmt::format("{}", number); }

std::string heading(const std::string& path, const RdbSummary& summary) {
  std::string line = fmt::format("{}: RDB version {}", path, summary.version);
  if (const std::string writer = writer_of(summary); !writer.empty())
    line += ", written by " + writer;
  const auto found = summary.aux.find("ctime");
  const std::optional<std::int64_t> seconds =
      found == summary.aux.end() ? std::nullopt : parse_integer(found->second);
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (seconds && *seconds >= 0 && *seconds < kYear10000) {
    line += fmt::format(", {:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(*seconds));
  }
  return line + fmt::format(", {} bytes, no damage found\n", summary.bytes);
}

std::string types_table(const RdbSummary& summary, const Colours& colours) {
  TextTable table({{"type", ""}, {"keys", ""}, {"elements", ""}, {"bytes", "in the file"}});
  RdbSummary::ByType all;
  for (const auto& [type, row] : summary.types) {
    table.add_row(
        {{type}, {number_text(row.keys)}, {number_text(row.elements)}, {number_text(row.bytes)}});
    all.keys += row.keys;
    all.elements += row.elements;
    all.bytes += row.bytes;
  }
  constexpr Emphasis kStrong = Emphasis::strong;
  table.add_row({{"all", kStrong},
                 {number_text(all.keys), kStrong},
                 {number_text(all.elements), kStrong},
                 {number_text(all.bytes), kStrong}});
  return table.render(colours);
}

std::string ttl_table(const RdbSummary& summary, const Colours& colours) {
  const std::uint64_t keys = sum(summary.keys_by_ttl);
  const std::uint64_t members = sum(summary.members_by_ttl);
  if (keys + members == 0) return "\nNo key or member has a TTL.\n";
  std::string out = fmt::format("\n{} keys and {} members have a TTL; already expired: {} and {}\n",
                                keys, members, summary.keys_by_ttl[0], summary.members_by_ttl[0]);
  TextTable table({{"left", ""}, {"keys", ""}, {"members", ""}, {"", ""}});
  std::uint64_t most = 0;
  const auto both = [&](std::size_t i) {
    return summary.keys_by_ttl[i] + summary.members_by_ttl[i];
  };
  for (std::size_t i = 0; i < kTtlRanges.size(); ++i) most = std::max(most, both(i));
  for (std::size_t i = 0; i < kTtlRanges.size(); ++i) {
    const double share = static_cast<double>(both(i)) / static_cast<double>(most);
    table.add_row({{std::string(kTtlRanges[i])},
                   {number_text(summary.keys_by_ttl[i])},
                   {number_text(summary.members_by_ttl[i])},
                   {pad_right(text_bar(share, kTtlBarWidth), kTtlBarWidth)}});
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
                   {number_text(key.elements)},
                   {number_text(key.bytes)}});
  }
  return "\nLargest keys\n" + table.render(colours);
}

void add_ranges(Json& json, const RdbSummary& summary) {
  json.key("ttl");
  json.open('[');
  for (std::size_t i = 0; i < kTtlRanges.size(); ++i) {
    json.open('{');
    json.member("left", kTtlRanges[i]);
    json.member("keys", summary.keys_by_ttl[i]);
    json.member("members", summary.members_by_ttl[i]);
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

std::size_t ttl_range(Time deadline, Time now) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::minutes;
  if (is_due(deadline, now)) return 0;
  constexpr Millis kEnds[] = {minutes(1), hours(1), days(1), days(7), days(30)};
  const Millis left = remaining(deadline, now);
  return 1 + static_cast<std::size_t>(std::ranges::upper_bound(kEnds, left) - std::begin(kEnds));
}

std::uint64_t sum(const RdbSummary::Histogram& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

std::string writer_of(const RdbSummary& summary) {
  for (const auto& [aux, name] :
       {std::pair("mayfly-ver", "Mayfly "), {"valkey-ver", "Valkey "}, {"redis-ver", "Redis "}}) {
    const auto found = summary.aux.find(aux);
    if (found != summary.aux.end()) return name + printable(found->second);
  }
  return "";
}

RdbSummary RdbCounter::summary() const {
  RdbSummary summary = summary_;
  summary.version = parser_->version();
  summary.bytes = parser_->offset();
  return summary;
}

void RdbCounter::aux(std::string_view name, std::string_view value) {
  constexpr std::size_t kMost = 64;
  if (summary_.aux.size() < kMost) summary_.aux.emplace(name, value);
}

Status RdbCounter::function(std::string_view) {
  ++summary_.functions;
  return Done{};
}

void RdbCounter::count(const RdbKey& key, std::string_view type, std::uint64_t elements) {
  const std::uint64_t bytes = parser_->offset() - key.offset;
  RdbSummary::ByType& by_type = summary_.types[std::string(type)];
  ++by_type.keys;
  by_type.elements += elements;
  by_type.bytes += bytes;
  ++summary_.databases[key.database];
  if (key.deadline != kNever) ++summary_.keys_by_ttl[ttl_range(key.deadline, now_)];

  std::vector<RdbSummary::LargeKey>& largest = summary_.largest;
  if (largest.size() == kLargest && largest.back().bytes >= bytes) return;
  if (largest.size() == kLargest) largest.pop_back();
  const auto place = std::ranges::find_if(
      largest, [&](const RdbSummary::LargeKey& other) { return other.bytes < bytes; });
  largest.insert(place, {.database = key.database,
                         .name = std::string(key.name),
                         .type = std::string(type),
                         .elements = elements,
                         .bytes = bytes});
}

Status RdbCounter::string(const RdbKey& key, std::string_view) {
  count(key, "string", 0);
  return Done{};
}

Status RdbCounter::members_begin(const RdbKey& key, std::uint64_t) {
  key_ = key;
  members_ = 0;
  return Done{};
}

Status RdbCounter::members(std::span<const Member> members) {
  members_ += members.size();
  for (const Member& member : members) {
    if (member.deadline != kNever) ++summary_.members_by_ttl[ttl_range(member.deadline, now_)];
  }
  return Done{};
}

Status RdbCounter::members_end() {
  count(key_, type_name(key_.value_type()), members_);
  return Done{};
}

Status RdbCounter::list_begin(const RdbKey& key) { return members_begin(key, 0); }

Status RdbCounter::list_elements(std::span<const std::string_view> elements) {
  members_ += elements.size();
  return Done{};
}

Status RdbCounter::list_end() { return members_end(); }

Status RdbCounter::stream(const RdbKey& key, std::unique_ptr<Stream> stream) {
  count(key, type_name(ValueType::stream), stream->size());
  return Done{};
}

std::string render_rdb_summary(const std::string& path, const RdbSummary& summary,
                               const Colours& colours) {
  std::string out = heading(path, summary) + "\n" + types_table(summary, colours);
  if (summary.databases.size() > 1) {
    out += "\nKeys by database:";
    for (const auto& [number, keys] : summary.databases)
      out += fmt::format(" {}: {}", number, keys);
    out += '\n';
  }
  if (summary.functions > 0) out += fmt::format("\nFunction libraries: {}\n", summary.functions);
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
  json.member("members_with_deadline", sum(summary.members_by_ttl));
  json.member("due_keys", summary.keys_by_ttl[0]);
  json.member("due_members", summary.members_by_ttl[0]);
  add_ranges(json, summary);
  add_largest(json, summary);
  json.close('}');
  return json.text();
}

}  // namespace mayfly
