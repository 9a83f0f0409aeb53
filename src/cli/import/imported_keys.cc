// SPDX-License-Identifier: Apache-2.0
#include "cli/import/imported_keys.h"

#include <fmt/format.h>

#include "cli/import/import_item.h"
#include "cli/import/import_stream.h"
#include "cli/store/store_answers.h"

namespace mayfly {
namespace {

// The names of the parts of a member in JSON; members of a set have no value.
struct MemberNames {
  std::string_view member;
  std::string_view value;
  std::string_view all;  // all members of a key
};

MemberNames names_of(CopyType type) {
  switch (type) {
    case CopyType::hash:
      return {"field", "value", "fields"};
    case CopyType::set:
      return {"member", "", "members"};
    case CopyType::zset:
      return {"member", "score", "members"};
    case CopyType::list:
      return {"index", "value", "elements"};
    case CopyType::stream:
      return {"id", "fields", "entries"};
    case CopyType::string:
      break;
  }
  return {"", "value", ""};
}

// The type whose members are in a family of that name: "hash" or "NAME.hash".
CopyType type_of_family(std::string_view name) {
  for (std::size_t i = 1; i < kCopyTypes.size(); ++i) {
    const std::string_view type = kCopyTypes[i];
    if (!name.ends_with(type)) continue;
    if (name.size() == type.size() || name[name.size() - type.size() - 1] == '.') {
      return static_cast<CopyType>(i);
    }
  }
  return CopyType::string;
}

// Nothing if the entry was not written by an import.
std::optional<MemberKey> member_of(std::string_view key, CopyType type) {
  if (type == CopyType::string) return std::nullopt;
  const std::optional<MemberKey> parts = split_member_key(key);
  if (parts && !is_member_name(type, parts->member)) return std::nullopt;
  return parts;
}

// Not an entry of a stream, but its groups and the like.
bool is_state(std::string_view member, CopyType type) {
  return type == CopyType::stream && member.empty();
}

std::string member_line(std::string_view member, CopyType type, const ByteWords& bytes) {
  if (is_state(member, type)) return "(state)";
  if (type == CopyType::stream) return stream_id_text(member).value_or("");
  return type == CopyType::list ? fmt::to_string(from_big_endian(member)) : bytes.line(member);
}

std::string member_json(std::string_view member, CopyType type, const ByteWords& bytes) {
  std::string value = bytes.json(member);
  if (type == CopyType::list) value = fmt::to_string(from_big_endian(member));
  if (type == CopyType::stream) {
    value = is_state(member, type) ? "null" : fmt::format("\"{}\"", *stream_id_text(member));
  }
  return fmt::format("\"{}\": {}", names_of(type).member, value);
}

// "field <tab> value <tab> field ..." of an entry of a stream.
std::string value_line(std::string_view value, CopyType type, const ByteWords& bytes) {
  const auto words = type == CopyType::stream ? stream_words(value) : std::nullopt;
  if (!words) return bytes.line(value);
  std::string line;
  for (const std::string_view word : *words) {
    if (word.data() != words->front().data()) line += '\t';
    line += bytes.line(word);
  }
  return line;
}

// "value": "..."; of an entry of a stream "fields": [{"field": "f", "value": "v"}, ...]
std::string value_json(std::string_view value, CopyType type, const ByteWords& bytes) {
  const auto words = type == CopyType::stream ? stream_words(value) : std::nullopt;
  if (!words) {
    return fmt::format("\"{}\": {}", type == CopyType::stream ? "state" : names_of(type).value,
                       bytes.json(value));
  }
  std::string json = "\"fields\": [";
  for (std::size_t i = 0; i < words->size(); i += 2) {
    json += fmt::format("{}{{\"field\": {}, \"value\": {}}}", i == 0 ? "" : ", ",
                        bytes.json((*words)[i]), bytes.json((*words)[i + 1]));
  }
  return json + "]";
}

}  // namespace

EntryText::EntryText(const StoreFile& file, std::string_view family)
    : bytes_(file.bytes()),
      type_(file.bytes().is_coded() ? CopyType::string : type_of_family(family)) {}

std::string EntryText::key_line(std::string_view key) const {
  const std::optional<MemberKey> parts = member_of(key, type_);
  if (!parts) return bytes_.line(key);
  return bytes_.line(parts->key) + "\t" + member_line(parts->member, type_, bytes_);
}

std::string EntryText::key_json(std::string_view key) const {
  const std::optional<MemberKey> parts = member_of(key, type_);
  if (!parts) return "\"key\": " + bytes_.json(key);
  return "\"key\": " + bytes_.json(parts->key) + ", " + member_json(parts->member, type_, bytes_);
}

std::string EntryText::entry_line(std::string_view key, std::string_view value) const {
  const CopyType type = member_of(key, type_) ? type_ : CopyType::string;
  if (names_of(type).value.empty()) return key_line(key);
  return key_line(key) + "\t" + value_line(value, type, bytes_);
}

std::string EntryText::entry_json(std::string_view key, std::string_view value) const {
  const CopyType type = member_of(key, type_) ? type_ : CopyType::string;
  if (names_of(type).value.empty()) return key_json(key);
  return key_json(key) + ", " + value_json(value, type, bytes_);
}

Result<std::optional<ImportedKey>> ImportedKey::find(const ReadTxn& txn, std::string_view family,
                                                     const std::string& key) {
  const CopyType own = type_of_family(family);  // with --cf hash, the family of the members itself
  for (std::size_t i = 1; i < kCopyTypes.size(); ++i) {
    const auto type = static_cast<CopyType>(i);
    const std::string name = own == type ? std::string(family) : family_name(family, type);
    const Result<Family> found = txn.family(name);
    if (!found && found.error().code == Code::not_found) continue;
    if (!found) return found.error();
    Result<Cursor> cursor = txn.cursor({.prefix = member_prefix(key)}, *found);
    if (!cursor) return cursor.error();
    if (cursor->first()) return std::optional(ImportedKey(key, type, *found));
    if (!cursor->status()) return cursor->status().error();
  }
  return std::optional<ImportedKey>();
}

Status ImportedKey::print(const ReadTxn& txn, const StoreFile& file) const {
  Result<Cursor> cursor = txn.cursor({.prefix = member_prefix(key_)}, family_);
  if (!cursor) return cursor.error();
  const ByteWords& bytes = file.bytes();
  const MemberNames names = names_of(type_);
  const std::size_t prefix = member_prefix(key_).size();
  Lines lines;
  if (file.is_json()) {
    lines.text() += fmt::format("{{\"key\": {}, \"type\": \"{}\", \"{}\": [", bytes.json(key_),
                                name_of(type_), names.all);
  }
  bool is_first = true;
  for (bool on = cursor->first(); on; on = cursor->next()) {
    const std::string_view member = cursor->key().substr(prefix);
    if (is_state(member, type_)) continue;
    if (file.is_json()) {
      lines.text() += is_first ? "{" : ", {";
      lines.text() += member_json(member, type_, bytes);
      if (!names.value.empty()) lines.text() += ", " + value_json(cursor->value(), type_, bytes);
      lines.text() += ", " + deadline_json(cursor->deadline(), txn.now()) + "}";
    } else {
      const bool has_name = type_ != CopyType::list;  // the order is the index
      if (has_name) lines.text() += member_line(member, type_, bytes);
      if (!names.value.empty()) {
        lines.text() += (has_name ? "\t" : "") + value_line(cursor->value(), type_, bytes);
      }
      lines.text() += '\n';
    }
    is_first = false;
    if (!lines.go_on()) break;
  }
  if (file.is_json()) lines.text() += "]}\n";
  if (const Status status = cursor->status(); !status) return status;
  return lines.finish();
}

void ImportedKey::erase(WriteTxn& txn) const {
  (void)erase_prefix(txn, member_prefix(key_), family_);  // the transaction keeps an error
}

Error ImportedKey::refusal(const StoreFile& file) const {
  const std::string shown = file.bytes().text(key_);
  return {Code::unsupported,
          fmt::format(
              "'{}' is an imported {} with a TTL per member, not a single value (use 'mayfly get "
              "{} --json')",
              shown, type(), shown)};
}

Result<bool> contains_key(const ReadTxn& txn, const std::string& key, Family family,
                          std::string_view family_name) {
  Result<bool> found = txn.contains(key, family);
  if (!found || *found) return found;
  const Result<std::optional<ImportedKey>> imported = ImportedKey::find(txn, family_name, key);
  if (!imported) return imported.error();
  return imported->has_value();
}

Result<Exit> print_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                            const StoreFile& file) {
  const Result<std::optional<ImportedKey>> found = ImportedKey::find(txn, family, key);
  if (!found) return found.error();
  if (!*found) return not_found(key, file);
  return exit_of((*found)->print(txn, file));
}

Result<Exit> refuse_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                             const StoreFile& file) {
  const Result<std::optional<ImportedKey>> found = ImportedKey::find(txn, family, key);
  if (!found) return found.error();
  if (!*found) return not_found(key, file);
  return (*found)->refusal(file);
}

Result<std::uint64_t> erase_prefix(WriteTxn& txn, const std::string& prefix, Family family) {
  std::vector<std::string> keys;
  {
    Result<Cursor> cursor = txn.cursor({.prefix = prefix}, family);
    if (!cursor) return cursor.error();
    for (bool on = cursor->first(); on; on = cursor->next()) keys.emplace_back(cursor->key());
    if (!cursor->status()) return cursor->status().error();
  }
  for (const std::string& key : keys) txn.erase(key, family);
  return keys.size();
}

}  // namespace mayfly
