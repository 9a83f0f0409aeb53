// SPDX-License-Identifier: Apache-2.0
// How a transaction reads: the data first, then, only in a family that has deadlines, the deadline.

#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {

int Txn::deadline_row(FamilyView& view, std::string_view stored, Time& deadline) {
  deadline = kNever;
  if (!view.has_ttl) return 0;
  MDB_val key = to_val(stored);
  MDB_val value{};
  const int code = ::mdb_get(lmdb_, view.keys, &key, &value);
  if (code == MDB_NOTFOUND) return 0;
  if (code != 0) return code;
  if (value.mv_size != kDeadlineBytes) return MDB_CORRUPTED;
  deadline = decode_deadline(to_view(value));
  return 0;
}

int Txn::find(FamilyView& view, const StoredKey& key, Found& found, Want want) {
  MDB_val name = to_val(key.bytes());
  MDB_val value{};
  int code = ::mdb_get(lmdb_, view.data, &name, &value);
  if (code != 0) return code;
  found.value = to_view(value);
  if (key.long_form()) {
    const LongValueResult split = split_long_value(found.value);
    if (!split.ok) return MDB_CORRUPTED;
    if (split.parts.key != key.key()) return MDB_NOTFOUND;  // another key with the same hash
    found.value = split.parts.value;
  }
  if (!view.has_ttl || (want == Want::value && !view.has_expired)) return 0;
  code = deadline_row(view, key.bytes(), found.deadline);
  if (code != 0) return code;
  if (found.deadline != kNever && is_due(found.deadline, now())) {
    note(view.family, key.bytes());
    return MDB_NOTFOUND;
  }
  return 0;
}

// The expiry index has what is due at its front; the rest is known without looking.
int Txn::count(FamilyView& view, FamilyCounts& counts) {
  MDB_stat stat{};
  int code = ::mdb_stat(lmdb_, view.data, &stat);
  if (code != 0) return code;
  counts = {};
  counts.stored = stat.ms_entries;
  if (view.has_ttl) {
    code = ::mdb_stat(lmdb_, view.keys, &stat);
    if (code != 0) return code;
    counts.with_ttl = stat.ms_entries;
    MDB_cursor* cursor = nullptr;
    code = ::mdb_cursor_open(lmdb_, view.deadlines, &cursor);
    if (code != 0) return code;
    MDB_val key{};
    MDB_val value{};
    code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (code == 0 && is_due(decode_deadline(to_view(key)), now())) {
      ++counts.expired;
      code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND) return code;
  }
  counts.with_ttl -= counts.expired;
  counts.live = counts.stored - counts.expired;
  return 0;
}

}  // namespace mayfly
