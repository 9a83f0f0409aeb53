// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_dump.h"

#include <fmt/format.h>

#include "resp/glob.h"
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

}  // namespace

Status RdbDump::print(const std::string& text) {
  write_output(text);
  return Done{};
}

Status RdbDump::string(const RdbKey& key, std::string_view value) {
  return print(object_begin(key, "string") + ", \"value\": " + bytes_as_json(value) + "}\n");
}

Status RdbDump::hash_begin(const RdbKey& key, std::uint64_t) {
  is_first_ = true;
  return print(object_begin(key, "hash") + ", \"fields\": [");
}

Status RdbDump::hash_fields(std::span<const Member> fields) {
  std::string text;
  for (const Member& field : fields) {
    if (!is_first_) text += ", ";
    is_first_ = false;
    text += fmt::format("{{\"field\": {}, \"value\": {}{}}}", bytes_as_json(field.name),
                        bytes_as_json(field.value), deadline_member(field.deadline));
  }
  return print(text);
}

Status RdbDump::hash_end() { return print("]}\n"); }

Status RdbDump::skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                        std::uint64_t) {
  return print(object_begin(key, type) + fmt::format(", \"elements\": {}}}\n", elements));
}

bool RdbFilter::matches(const RdbKey& key) const { return glob_match(pattern_, key.name); }

Status RdbFilter::string(const RdbKey& key, std::string_view value) {
  return matches(key) ? handler_.string(key, value) : Status(Done{});
}

Status RdbFilter::hash_begin(const RdbKey& key, std::uint64_t fields) {
  is_hash_selected_ = matches(key);
  return is_hash_selected_ ? handler_.hash_begin(key, fields) : Status(Done{});
}

Status RdbFilter::hash_fields(std::span<const Member> fields) {
  return is_hash_selected_ ? handler_.hash_fields(fields) : Status(Done{});
}

Status RdbFilter::hash_end() { return is_hash_selected_ ? handler_.hash_end() : Status(Done{}); }

Status RdbFilter::skipped(const RdbKey& key, std::string_view type, std::uint64_t elements,
                          std::uint64_t bytes) {
  return matches(key) ? handler_.skipped(key, type, elements, bytes) : Status(Done{});
}

}  // namespace mayfly
