// SPDX-License-Identifier: Apache-2.0
// How a transaction reads: its own changes and the tables first, then LMDB: there the data, and
// only in a family that has deadlines, the deadline.

#include "store/txn/expiry_walk.h"
#include "store/txn/txn.h"

namespace mayfly::internal {

Result<Time> Txn::tree_deadline(FamilyView& view, std::string_view stored) {
  if (!view.has_ttl) return kNever;
  const auto row = get_row(lmdb(), view.tables.keys, stored);
  if (!row) return row.error();
  if (!*row) return kNever;
  if ((*row)->size() != kDeadlineBytes) return damaged_rows();
  return decode_deadline(**row);
}

Result<std::optional<StoredEntry>> Txn::look_in_tree(FamilyView& view, std::string_view key,
                                                     Need need) {
  const StoredKey stored(key, catalog().hash_seed());
  const auto row = get_row(lmdb(), view.tables.data, stored.bytes());
  if (!row) return row.error();
  if (!*row) return std::optional<StoredEntry>();
  StoredEntry entry{**row};
  if (stored.long_form()) {
    const LongValueResult split = split_long_value(entry.value);
    if (!split.ok) return damaged_rows();
    // Another key with the same hash.
    if (split.parts.key != key) return std::optional<StoredEntry>();
    entry.value = split.parts.value;
  }
  if (!view.has_ttl || (need == Need::value && !view.has_expired)) return std::optional(entry);
  const auto deadline = tree_deadline(view, stored.bytes());
  if (!deadline) return deadline.error();
  entry.deadline = *deadline;
  return std::optional(entry);
}

Result<std::optional<StoredEntry>> Txn::look(FamilyView& view, std::string_view key, Need need) {
  if (!window_.is_blank()) {
    const InTables seen = window_.find(view.id, key);
    if (seen.state == InTables::State::absent) return std::optional<StoredEntry>();
    if (seen.state == InTables::State::there) {
      if (seen.value != nullptr) {
        return std::optional(StoredEntry{seen.value->value(), seen.deadline});
      }
      auto below = look_in_tree(view, key, Need::value);
      if (!below) return below;
      if (!*below) return damaged_rows();
      (*below)->deadline = seen.deadline;
      return below;
    }
  }
  return look_in_tree(view, key, need);
}

Result<std::optional<StoredEntry>> Txn::find(FamilyView& view, std::string_view key, Need need) {
  auto entry = look(view, key, need);
  if (!entry || !*entry || (*entry)->deadline == kNever) return entry;
  if (!is_due((*entry)->deadline, now())) return entry;
  record_expired(view.family, key);
  return std::optional<StoredEntry>();
}

// Nothing changes in a snapshot. One that writes is the newest, so its tables have nothing behind
// it.
CountChange Txn::counted_in_tables(FamilyView& view) const {
  if (writes_) return window_.count(view.id);
  if (!view.counted) view.counted = window_.count(view.id);
  return *view.counted;
}

Result<std::uint64_t> Txn::count_stored(FamilyView& view) {
  const auto data = table_stat(lmdb(), view.tables.data);
  if (!data) return data.error();
  return data->ms_entries + static_cast<std::uint64_t>(counted_in_tables(view).entries);
}

// What is due is walked over; the rest is known without looking.
Result<FamilyCounts> Txn::count(FamilyView& view) {
  FamilyCounts counts;
  const auto stored = count_stored(view);
  if (!stored) return stored.error();
  const CountChange change = counted_in_tables(view);
  counts.stored = *stored;
  std::uint64_t with_ttl = static_cast<std::uint64_t>(change.with_deadline);
  if (view.has_ttl) {
    const auto keys = table_stat(lmdb(), view.tables.keys);
    if (!keys) return keys.error();
    with_ttl += keys->ms_entries;
  }
  if (with_ttl != 0) {
    ExpiryWalk walk(*this, view, deadline_after(now(), Millis(1)));
    for (walk.seek(Time::min()); walk.valid(); walk.next()) ++counts.expired;
    if (!walk.status()) return walk.status().error();
  }
  counts.with_ttl = with_ttl - counts.expired;
  counts.live = counts.stored - counts.expired;
  return counts;
}

}  // namespace mayfly::internal
