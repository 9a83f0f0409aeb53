// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_dump.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "keyspace/value.h"
#include "resp/glob.h"
#include "resp/numbers.h"
#include "text/byte_text.h"
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

std::int64_t ms_of(Time moment) { return moment.time_since_epoch().count(); }

std::string entry_as_json(const StreamEntry& entry) {
  std::string text = fmt::format("{{\"id\": \"{}\", \"fields\": [", entry.id.text());
  for (std::size_t i = 0; i + 1 < entry.words.size(); i += 2) {
    text += fmt::format("{}{{\"field\": {}, \"value\": {}}}", i == 0 ? "" : ", ",
                        bytes_as_json(entry.words[i]), bytes_as_json(entry.words[i + 1]));
  }
  return text + "]}";
}

std::string group_as_json(std::string_view name, const StreamGroup& group) {
  std::string text = fmt::format("{{\"group\": {}, \"last_id\": \"{}\"", bytes_as_json(name),
                                 group.last_id.text());
  if (group.entries_read) text += fmt::format(", \"entries_read\": {}", *group.entries_read);
  text += ", \"consumers\": [";
  for (const auto& [consumer_name, consumer] : group.consumers()) {
    if (text.back() != '[') text += ", ";
    text += fmt::format("{{\"consumer\": {}, \"seen_ms\": {}", bytes_as_json(consumer_name),
                        ms_of(consumer->seen));
    if (consumer->active) text += fmt::format(", \"active_ms\": {}", ms_of(*consumer->active));
    text += "}";
  }
  text += "], \"pending\": [";
  for (const auto& [id, pending] : group.pending()) {
    if (text.back() != '[') text += ", ";
    text += fmt::format(
        "{{\"id\": \"{}\", \"consumer\": {}, \"delivered_ms\": {}, \"deliveries\": {}}}", id.text(),
        bytes_as_json(pending.consumer->name), ms_of(pending.delivered), pending.deliveries);
  }
  return text + "]}";
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

Status RdbDump::list_begin(const RdbKey& key) {
  is_first_ = true;
  return print(object_begin(key, "list") + ", \"elements\": [");
}

Status RdbDump::list_elements(std::span<const std::string_view> elements) {
  std::string text;
  for (const std::string_view element : elements) {
    if (!is_first_) text += ", ";
    is_first_ = false;
    text += bytes_as_json(element);
  }
  return print(text);
}

Status RdbDump::list_end() { return print("]}\n"); }

Status RdbDump::stream(const RdbKey& key, std::unique_ptr<Stream> stream) {
  write_output(object_begin(key, "stream") + ", \"entries\": [");
  is_first_ = true;
  stream->each(kStreamIdMin, kStreamIdMax, true, [this](const StreamEntry& entry) {
    write_output((is_first_ ? "" : ", ") + entry_as_json(entry));
    is_first_ = false;
    return true;
  });
  std::string text = fmt::format(
      "], \"last_id\": \"{}\", \"max_deleted_id\": \"{}\", \"entries_added\": {}, \"groups\": [",
      stream->last_id().text(), stream->max_deleted_id().text(), stream->entries_added());
  for (const auto& [name, group] : stream->groups()) {
    if (text.back() != '[') text += ", ";
    text += group_as_json(name, *group);
  }
  return print(text + "]}\n");
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

Status RdbFilter::list_begin(const RdbKey& key) {
  is_selected_ = matches(key);
  return is_selected_ ? handler_.list_begin(key) : Status(Done{});
}

Status RdbFilter::list_elements(std::span<const std::string_view> elements) {
  return is_selected_ ? handler_.list_elements(elements) : Status(Done{});
}

Status RdbFilter::list_end() { return is_selected_ ? handler_.list_end() : Status(Done{}); }

Status RdbFilter::stream(const RdbKey& key, std::unique_ptr<Stream> stream) {
  return matches(key) ? handler_.stream(key, std::move(stream)) : Status(Done{});
}

}  // namespace mayfly
