// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/import/import_item.h"
#include "cli/import/import_marks.h"
#include "cli/import/imported_keys.h"
#include "resp/glob.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

// The first key after all keys with this prefix. REQUIRES: not all of its bytes are 255.
std::string prefix_end(std::string prefix) {
  while (prefix.back() == '\xFF') prefix.pop_back();
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

void share_deadline(CopyItem& item) {
  if (item.members.empty()) return;
  const Time first = item.members.front().deadline;
  const auto is_same = [&](const CopyMember& member) { return member.deadline == first; };
  if (!std::ranges::all_of(item.members, is_same)) return;
  item.deadline = first;
  for (CopyMember& member : item.members) member.deadline = kNever;
}

std::size_t index_of(CopyType type) { return static_cast<std::size_t>(type); }

bool fits_in_store(const CopyItem& item) {
  if (item.type == CopyType::string) return !item.key.empty() && item.key.size() <= kStoreKeyMax;
  std::size_t longest = item.type == CopyType::list ? kIndexBytes : 0;  // else it has names
  for (const CopyMember& member : item.members) longest = std::max(longest, member.name.size());
  return kLengthBytes + item.key.size() + longest <= kStoreKeyMax;
}

}  // namespace

Result<StoreSource> StoreSource::open(const Store& store, const std::string& path, Choice choice) {
  const Result<StoreMark> mark = StoreMark::of(store, choice.family);
  if (!mark) return mark.error();
  StoreSource source(store, path, std::move(choice));
  source.mark_ = *mark;
  bool has_any = false;
  for (std::size_t i = 0; i < kCopyTypes.size(); ++i) {
    const std::string name = family_name(source.choice_.family, static_cast<CopyType>(i));
    const Result<Family> found = name == "default" ? Family() : store.family(name);
    if (!found && found.error().code != Code::not_found) return found.error();
    if (found) source.families_[i] = *found;
    has_any = has_any || found;
  }
  if (!has_any) {
    return Error{Code::not_found,
                 fmt::format("{} has no column family '{}' or '{}.hash' (use 'mayfly "
                             "cf list')",
                             path, source.choice_.family, source.choice_.family)};
  }
  if (!source.families_[0]) source.next_family();
  return source;
}

Result<double> StoreSource::total() {
  std::uint64_t sum = 0;
  for (const std::optional<Family>& family : families_) {
    if (!family) continue;
    const Result<FamilyCounts> counts = store_.count(*family);
    if (!counts) return counts.error();
    sum += counts->live;
  }
  return static_cast<double>(sum);
}

bool StoreSource::matches(std::string_view key) const {
  return choice_.match.empty() || glob_match(choice_.match, key);
}

void StoreSource::next_family() {
  next_.clear();
  do {
    ++type_;
  } while (type_ < families_.size() && !families_[type_]);
}

Result<std::vector<CopyItem>> StoreSource::read(CopyCounts& counts) {
  std::vector<CopyItem> items;
  bytes_ = 0;
  Result<Cursor> cursor = store_.cursor({}, *families_[type_]);
  if (!cursor) return cursor.error();
  if (next_.empty() ? cursor->first() : cursor->seek(next_)) {
    if (type_ == 0) {
      read_strings(*cursor, items, counts);
    } else {
      read_members(*cursor, items, counts);
    }
  }
  if (!cursor->status()) return cursor->status().error();
  if (!cursor->valid()) next_family();
  return items;
}

void StoreSource::read_strings(Cursor& cursor, std::vector<CopyItem>& items, CopyCounts& counts) {
  std::uint64_t entries = 0;
  do {
    next_.assign(cursor.key()).push_back('\0');
    ++entries;
    ++counts.seen;
    if (!matches(cursor.key())) continue;
    CopyItem& item = items.emplace_back();
    item.key = cursor.key();
    item.value = cursor.value();
    item.deadline = cursor.deadline();
    bytes_ += item.key.size() + item.value.size();
  } while (cursor.next() && !is_enough(entries));
}

// Reads whole keys only: a key that is not complete is read again with the next batch.
void StoreSource::read_members(Cursor& cursor, std::vector<CopyItem>& items, CopyCounts& counts) {
  const CopyType type = static_cast<CopyType>(type_);
  std::uint64_t entries = 0;
  std::string prefix;  // of the key being read; empty: none
  bool is_selected = false;
  for (bool on = true; on; on = cursor.next()) {
    const std::optional<MemberKey> place = split_member_key(cursor.key());
    if (!place || !is_member_name(type, place->member)) {
      counts.skip(fmt::format("entries of the family {} not written by an import",
                              family_name(choice_.family, type)),
                  std::string(cursor.key()));
      next_.assign(cursor.key()).push_back('\0');
      ++counts.seen;
      continue;
    }
    if (prefix.empty() || !cursor.key().starts_with(prefix)) {
      if (is_enough(entries)) break;
      prefix = member_prefix(place->key);
      next_ = prefix_end(prefix);
      is_selected = matches(place->key);
      if (is_selected) {
        items.emplace_back().key = place->key;
        items.back().type = type;
      }
    }
    ++entries;
    ++counts.seen;
    if (!is_selected) continue;
    CopyMember& member = items.back().members.emplace_back();
    if (type != CopyType::list) member.name = place->member;
    member.value = cursor.value();
    member.deadline = cursor.deadline();
    bytes_ += place->member.size() + member.value.size();
  }
  for (CopyItem& item : items) share_deadline(item);
}

std::string StoreSource::place() const { return fmt::format("{} {}", type_, hex(next_)); }

Status StoreSource::go_to(std::string_view place) {
  const auto [end, failure] = std::from_chars(place.data(), place.data() + place.size(), type_);
  const Result<std::string> next =
      from_hex(end == place.data() + place.size() ? "" : std::string_view(end + 1));
  if (failure != std::errc() || !next || type_ >= families_.size() || !families_[type_]) {
    return Error{Code::corrupt, fmt::format("invalid position in the state file: '{}'", place)};
  }
  next_ = *next;
  return Done{};
}

StoreTarget::StoreTarget(Store& store, std::string path, std::string family, bool keeps)
    : store_(store), path_(std::move(path)), family_(std::move(family)), keeps_(keeps) {
  for (std::size_t i = 0; i < kCopyTypes.size(); ++i) {
    const std::string name = family_name(family_, static_cast<CopyType>(i));
    const Result<Family> found = name == "default" ? Family() : store_.family(name);
    if (found) families_[i] = *found;
  }
}

Result<std::string> StoreTarget::mark() {
  const Result<StoreMark> now = StoreMark::of(store_, family_);
  if (!now) return now.error();
  return now->text();
}

Result<std::string> StoreTarget::loss_since(std::string_view mark) {
  const Result<StoreMark> now = StoreMark::of(store_, family_);
  if (!now) return now.error();
  return now->loss_since(StoreMark::parse(mark));
}

Status StoreTarget::make_families(const std::vector<CopyItem>& items) {
  for (const CopyItem& item : items) {
    std::optional<Family>& family = families_[index_of(item.type)];
    if (family) continue;
    const Result<Family> made = store_.open_family(family_name(family_, item.type));
    if (!made) return made.error();
    family = *made;
  }
  return Done{};
}

Status StoreTarget::write(std::vector<CopyItem>& items, CopyCounts& counts) {
  if (items.empty()) return Done{};
  if (const Status status = make_families(items); !status) return status;
  Result<WriteTxn> txn = store_.write();
  if (!txn) return txn.error();
  for (CopyItem& item : items) {
    if (!drop_due(item, txn->now())) {
      ++counts.gone;
    } else if (!fits_in_store(item)) {
      counts.skip("key or member empty or too long for a store", item.key);
    } else if (keeps_ && holds(*txn, item.key)) {
      ++counts.kept;
    } else {
      if (!keeps_) erase(*txn, item.key);
      put(*txn, item);
      counts.copied(item);
    }
  }
  return txn->commit();
}

bool StoreTarget::holds(const WriteTxn& txn, const std::string& key) const {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (!families_[i]) continue;
    if (i == index_of(CopyType::string)) {
      const Result<bool> found = txn.contains(key, *families_[i]);
      if (found && *found) return true;
    } else {
      Result<Cursor> cursor = txn.cursor({.prefix = member_prefix(key)}, *families_[i]);
      if (cursor && cursor->first()) return true;
    }
  }
  return false;
}

void StoreTarget::erase(WriteTxn& txn, const std::string& key) const {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (!families_[i]) continue;
    if (i == index_of(CopyType::string)) {
      txn.erase(key, *families_[i]);
      continue;
    }
    (void)erase_prefix(txn, member_prefix(key), *families_[i]);  // the transaction keeps an error
  }
}

void StoreTarget::put(WriteTxn& txn, const CopyItem& item) const {
  const Family family = *families_[index_of(item.type)];
  if (item.type == CopyType::string) {
    return txn.put(item.key, item.value, Expiry(item.deadline), family);
  }
  std::string key = member_prefix(item.key);
  const std::size_t prefix = key.size();
  std::uint64_t index = 0;
  for (const CopyMember& member : item.members) {
    key.resize(prefix);
    key += item.type == CopyType::list ? big_endian(index++, kIndexBytes) : member.name;
    txn.put(key, member.value, Expiry(std::min(member.deadline, item.deadline)), family);
  }
}

}  // namespace mayfly
