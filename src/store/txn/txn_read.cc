// SPDX-License-Identifier: Apache-2.0
// How a transaction reads: the data first, then, only in a family that has deadlines, the deadline.

#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly::internal {

Result<Time> Txn::deadline_of(FamilyView& view, std::string_view stored) {
  if (!view.has_ttl) return kNever;
  const auto row = get_row(lmdb_, view.keys, stored);
  if (!row) return row.error();
  if (!*row) return kNever;
  if ((*row)->size() != kDeadlineBytes) return damaged_rows();
  return decode_deadline(**row);
}

Result<std::optional<StoredEntry>> Txn::find(FamilyView& view, const StoredKey& key, Need need) {
  const auto row = get_row(lmdb_, view.data, key.bytes());
  if (!row) return row.error();
  if (!*row) return std::optional<StoredEntry>();
  StoredEntry entry{**row};
  if (key.long_form()) {
    const LongValueResult split = split_long_value(entry.value);
    if (!split.ok) return damaged_rows();
    // Another key with the same hash.
    if (split.parts.key != key.key()) return std::optional<StoredEntry>();
    entry.value = split.parts.value;
  }
  if (!view.has_ttl || (need == Need::value && !view.has_expired)) return std::optional(entry);
  const auto deadline = deadline_of(view, key.bytes());
  if (!deadline) return deadline.error();
  entry.deadline = *deadline;
  if (entry.deadline != kNever && is_due(entry.deadline, now())) {
    record_expired(view.family, key.bytes());
    return std::optional<StoredEntry>();
  }
  return std::optional(entry);
}

// The expiry index has what is due at its front; the rest is known without looking.
Result<FamilyCounts> Txn::count(FamilyView& view) {
  FamilyCounts counts;
  const auto data = table_stat(lmdb_, view.data);
  if (!data) return data.error();
  counts.stored = data->ms_entries;
  if (view.has_ttl) {
    const auto keys = table_stat(lmdb_, view.keys);
    if (!keys) return keys.error();
    TableCursor cursor;
    if (const Status opened = cursor.open(lmdb_, view.deadlines); !opened) return opened.error();
    bool there = cursor.move(MDB_FIRST);
    for (; there && is_due(decode_deadline(cursor.key()), now()); there = cursor.move(MDB_NEXT)) {
      ++counts.expired;
    }
    if (!cursor.status()) return cursor.status().error();
    counts.with_ttl = keys->ms_entries - counts.expired;
  }
  counts.live = counts.stored - counts.expired;
  return counts;
}

}  // namespace mayfly::internal
