// SPDX-License-Identifier: Apache-2.0
// What expires when: the expiry index, read in its own order.

#include <algorithm>

#include "mayfly/store_txn.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

// The key that a user knows, of one that is stored as `stored`.
int full_key(Txn& txn, FamilyView& view, std::string_view stored, std::string& key) {
  key = stored;
  if (!is_long(stored)) return 0;
  MDB_val name = to_val(stored);
  MDB_val value{};
  const int code = ::mdb_get(txn.lmdb(), view.data, &name, &value);
  if (code != 0) return code;
  const LongValueResult split = split_long_value(to_view(value));
  if (!split.ok) return MDB_CORRUPTED;
  key = split.parts.key;
  return 0;
}

// Calls `use(deadline, stored key)` for the rows from `from` on, until it returns false.
template <class Use>
int walk(Txn& txn, FamilyView& view, Time from, Use use) {
  MDB_cursor* cursor = nullptr;
  int code = ::mdb_cursor_open(txn.lmdb(), view.deadlines, &cursor);
  if (code != 0) return code;
  const DeadlineBytes start = encode_deadline(from);
  MDB_val key = to_val(start.view());
  MDB_val value{};
  code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  while (code == 0) {
    const std::string_view row = to_view(key);
    if (!use(decode_deadline(row), row.substr(kDeadlineBytes))) break;
    code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  ::mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND ? 0 : code;
}

}  // namespace

Result<std::vector<Expiring>> ReadTxn::expiring(Time from, Time to, std::size_t limit,
                                                Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  std::vector<Expiring> result;
  if (!view->has_ttl || limit == 0) return result;
  const Time after_now = deadline_after(now(), Millis(1));  // what is due has gone already
  int failed = 0;
  const int code =
      walk(*txn_, *view, std::max(from, after_now), [&](Time deadline, std::string_view stored) {
        if (deadline >= to || result.size() >= limit) return false;
        std::string key;
        failed = full_key(*txn_, *view, stored, key);
        if (failed == 0) result.push_back({std::move(key), deadline});
        return failed == 0;
      });
  if (code != 0 || failed != 0) return lmdb_error(code != 0 ? code : failed, "read deadlines");
  return result;
}

Result<Time> ReadTxn::next_deadline(Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  Time earliest = kNever;
  if (!view->has_ttl) return earliest;
  const int code = walk(*txn_, *view, Time(Millis(0)), [&](Time deadline, std::string_view) {
    earliest = deadline;
    return false;
  });
  if (code != 0) return lmdb_error(code, "read deadlines");
  return earliest;
}

}  // namespace mayfly
