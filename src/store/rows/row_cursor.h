// SPDX-License-Identifier: Apache-2.0
// RowCursor: walks a data table in the exact order of keys, long ones too, expired or not.

#pragma once

#include <lmdb.h>

#include <string>
#include <string_view>

#include "store/lmdb/lmdb.h"
#include "store/rows/leaf_walk.h"
#include "store/rows/long_keys.h"
#include "store/rows/stored_key.h"

namespace mayfly {

// The least string that is greater than all that begin with `head`; empty if there is none.
std::string after_all(std::string_view head);

class RowCursor {
 public:
  RowCursor() = default;
  ~RowCursor() { close(); }
  RowCursor(const RowCursor&) = delete;
  RowCursor& operator=(const RowCursor&) = delete;

  // `walks` is whether pages may be read without LMDB: in a read transaction.
  int open(MDB_txn* txn, MDB_dbi table, bool walks);
  void close();

  // Each moves, and returns whether there is a row. If not, code() tells whether that is the end
  // (MDB_NOTFOUND) or a failure.
  bool first();
  bool last();
  bool seek(std::string_view key);  // the least that is not less
  bool next() { return move(MDB_NEXT); }
  bool prev() { return move(MDB_PREV); }
  bool move(MDB_cursor_op step) {  // MDB_NEXT or MDB_PREV
    if (group_.active()) return step == MDB_NEXT ? next_in_group() : prev_in_group();
    return go(step);
  }

  // As move(), for whoever wants key and value only: these go there and not into row(), unless the
  // key is a long one. Most rows of a scan are found here, without LMDB.
  bool move_to(MDB_cursor_op step, std::string_view& key, std::string_view& value) {
    if (step == MDB_NEXT && walk_.next(kLongPrefixBytes, key, value)) [[likely]]
      return true;
    if (!move(step)) return false;
    if (!group_.active()) walk_.enter(row_.stored);
    key = row_.key;
    value = row_.value;
    return true;
  }

  const Row& row() const { return row_; }
  int code() const { return code_; }

 private:
  bool go(MDB_cursor_op op) {
    MDB_val key{};
    MDB_val value{};
    if (walk_.lags() && !catch_up()) return false;
    walk_.leave();
    code_ = ::mdb_cursor_get(cursor_, &key, &value, op);
    if (code_ != 0) return false;
    row_ = {to_view(key), to_view(key), to_view(value)};
    return key.mv_size < kLongPrefixBytes || enter_group(op == MDB_PREV || op == MDB_LAST);
  }

  bool catch_up();
  bool enter_group(bool from_behind);
  bool next_in_group();
  bool prev_in_group();
  bool take(bool there);
  bool after_group();

  MDB_cursor* cursor_ = nullptr;
  Row row_;
  int code_ = 0;
  LeafWalk walk_;
  LongKeys group_;
};

}  // namespace mayfly
