// SPDX-License-Identifier: Apache-2.0
#include "cli/import/export_from_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/import/import_layout.h"
#include "resp/glob.h"
#include "tools/byte_text.h"

namespace mayfly {
namespace {

// The least text that is greater than all that begin with `prefix`.
// REQUIRES: not all of its bytes are 255; it begins with a length that fits into memory.
std::string after_all_of(std::string prefix) {
  while (prefix.back() == '\xFF') prefix.pop_back();
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

void settle_deadline(CopyItem& item) {
  if (item.members.empty()) return;
  const Time first = item.members.front().deadline;
  const auto is_same = [&](const CopyMember& member) { return member.deadline == first; };
  if (!std::ranges::all_of(item.members, is_same)) return;
  item.deadline = first;
  for (CopyMember& member : item.members) member.deadline = kNever;
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
                 fmt::format("{} has no column family '{}', nor '{}.hash'; 'mayfly "
                             "cf list' shows those that it has",
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

// Only whole keys: what was read of the last one is left to the next time, unless it is all.
void StoreSource::read_members(Cursor& cursor, std::vector<CopyItem>& items, CopyCounts& counts) {
  const CopyType type = static_cast<CopyType>(type_);
  std::uint64_t entries = 0;
  std::string prefix;  // of the key that is being read; empty: none
  bool is_wanted = false;
  for (bool on = true; on; on = cursor.next()) {
    const std::optional<MemberKey> place = split_member_key(cursor.key());
    const bool is_whole = place && (type != CopyType::list || place->member.size() == kIndexBytes);
    if (!is_whole) {
      counts.skip(fmt::format("entries of the family {} that no import has made",
                              family_name(choice_.family, type)),
                  std::string(cursor.key()));
      next_.assign(cursor.key()).push_back('\0');
      ++counts.seen;
      continue;
    }
    if (prefix.empty() || !cursor.key().starts_with(prefix)) {
      if (is_enough(entries)) break;
      prefix = member_prefix(place->key);
      next_ = after_all_of(prefix);
      is_wanted = matches(place->key);
      if (is_wanted) {
        items.emplace_back().key = place->key;
        items.back().type = type;
      }
    }
    ++entries;
    ++counts.seen;
    if (!is_wanted) continue;
    CopyMember& member = items.back().members.emplace_back();
    if (type != CopyType::list) member.name = place->member;
    member.value = cursor.value();
    member.deadline = cursor.deadline();
    bytes_ += place->member.size() + member.value.size();
  }
  for (CopyItem& item : items) settle_deadline(item);
}

std::string StoreSource::place() const { return fmt::format("{} {}", type_, hex(next_)); }

Status StoreSource::go_to(std::string_view place) {
  const auto [end, failure] = std::from_chars(place.data(), place.data() + place.size(), type_);
  const Result<std::string> next =
      from_hex(end == place.data() + place.size() ? "" : std::string_view(end + 1));
  if (failure != std::errc() || !next || type_ >= families_.size() || !families_[type_]) {
    return Error{Code::corrupt, fmt::format("the state file has no place of a store: '{}'", place)};
  }
  next_ = *next;
  return Done{};
}

}  // namespace mayfly
