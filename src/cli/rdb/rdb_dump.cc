// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_dump.h"

#include <fmt/format.h>

#include <cmath>

#include "keyspace/value.h"
#include "resp/glob.h"
#include "resp/numbers.h"
#include "tools/byte_text.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

std::string deadline_member(Time deadline) {
  if (deadline == kNever) return "";
  return fmt::format(", \"deadline_ms\": {}", deadline.time_since_epoch().count());
}

std::string object_begin(const RdbKey& key, std::string_view type) {
  return fmt::format("{{\"db\": {}, \"key\": {}, \"type\": \"{}\"{}", key.database,
                     bytes_as_json(key.name), type, deadline_member(key.deadline));
}

// JSON has no infinity: such a score is a text.
std::string score_as_json(double score) {
  const std::string text = format_double(score);
  return std::isfinite(score) ? text : "\"" + text + "\"";
}

}  // namespace

Status RdbDump::print(const std::string& text) {
  write_output(text);
  return Done{};
}

Status RdbDump::string(const RdbKey& key, std::string_view value) {
  return print(object_begin(key, "string") + ", \"value\": " + bytes_as_json(value) + "}\n");
}

Status RdbDump::members_begin(const RdbKey& key, std::uint64_t) {
  type_ = key.value_type();
  is_first_ = true;
  return print(object_begin(key, type_name(type_)) +
               fmt::format(", \"{}s\": [", member_word(type_)));
}

Status RdbDump::members(std::span<const Member> members) {
  std::string text;
  for (const Member& member : members) {
    if (!is_first_) text += ", ";
    is_first_ = false;
    text += fmt::format("{{\"{}\": {}", member_word(type_), bytes_as_json(member.name));
    if (type_ == ValueType::hash) text += ", \"value\": " + bytes_as_json(member.value);
    if (type_ == ValueType::zset) text += ", \"score\": " + score_as_json(member.score());
    text += deadline_member(member.deadline) + "}";
  }
  return print(text);
}

Status RdbDump::members_end() { return print("]}\n"); }

Status RdbDump::skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                        std::uint64_t) {
  return print(object_begin(key, type) + fmt::format(", \"elements\": {}}}\n", elements));
}

bool RdbFilter::matches(const RdbKey& key) const { return glob_match(pattern_, key.name); }

Status RdbFilter::string(const RdbKey& key, std::string_view value) {
  return matches(key) ? handler_.string(key, value) : Status(Done{});
}

Status RdbFilter::members_begin(const RdbKey& key, std::uint64_t count) {
  is_selected_ = matches(key);
  return is_selected_ ? handler_.members_begin(key, count) : Status(Done{});
}

Status RdbFilter::members(std::span<const Member> members) {
  return is_selected_ ? handler_.members(members) : Status(Done{});
}

Status RdbFilter::members_end() { return is_selected_ ? handler_.members_end() : Status(Done{}); }

Status RdbFilter::skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                          std::uint64_t bytes) {
  return matches(key) ? handler_.skipped(key, type, elements, bytes) : Status(Done{});
}

}  // namespace mayfly
