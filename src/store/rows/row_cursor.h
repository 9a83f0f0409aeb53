// SPDX-License-Identifier: Apache-2.0
// RowCursor: iterates over a data table in the exact order of keys, long keys too, expired or not.

#pragma once

#include <lmdb.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "store/lmdb/lmdb.h"
#include "store/rows/leaf_walk.h"
#include "store/rows/stored_key.h"

namespace mayfly::internal {

// A row of a data table.
struct Row {
  std::string_view key;     // as the user knows it
  std::string_view stored;  // as it is in the tables
  std::string_view value;
};

// The least string that is greater than all that begin with `head`; empty if there is none.
std::string after_all(std::string_view head);

// The rows that share the first 487 bytes of their key, in the order of their keys.
//
// A long key is stored by its first 487 bytes and a hash (stored_key.h). Rows that agree in these
// bytes are neighbours in the table, but in the order of hashes. When a cursor reaches such rows it
// copies them here, sorts them, and iterates over the copy. Usually that is one row. Views point
// into the file.
class LongKeys {
 public:
  bool active() const { return active_; }
  void leave() { active_ = false; }

  // Takes all rows that begin with `head`, of 487 bytes.
  Status enter(TableCursor& cursor, std::string_view head);

  // Each goes to a row, and returns whether there is one.
  bool first() { return go(0); }
  bool last() { return go(rows_.size() - 1); }
  bool next() { return go(at_ + 1); }
  bool prev() { return at_ != 0 && go(at_ - 1); }
  bool seek(std::string_view key);

  const Row& row() const { return rows_[at_]; }
  std::string_view head() const { return head_; }

 private:
  bool go(std::size_t at) {
    if (at < rows_.size()) at_ = at;
    return at < rows_.size();
  }

  bool active_ = false;
  std::string head_;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
};

class RowCursor {
 public:
  // `walks` is whether pages may be read without LMDB: in a read transaction.
  Status open(MDB_txn* txn, MDB_dbi table, bool walks);
  void close() {
    leave_group();
    walk_.leave();
    cursor_.close();
  }

  // Each moves, and returns whether there is a row. If not, status() is an error or the end of the
  // table was reached.
  bool first();
  bool last();
  bool seek(std::string_view key);  // the least key that is not less
  bool next() { return move(MDB_NEXT); }
  bool prev() { return move(MDB_PREV); }
  bool move(MDB_cursor_op step) {  // MDB_NEXT or MDB_PREV
    if (group_.active()) return step == MDB_NEXT ? next_in_group() : prev_in_group();
    return go(step);
  }

  // As move(), if only key and value are needed: these are set instead of row(), unless the key is
  // a long one. Most rows of a scan are found here, without LMDB.
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
  const Status& status() const { return group_status_ ? cursor_.status() : group_status_; }

 private:
  bool go(MDB_cursor_op op) {
    // LMDB's cursor has to be on the row that the walk has reached.
    if (walk_.lags() && !cursor_.move(MDB_SET, walk_.key())) return false;
    walk_.leave();
    return take_row(cursor_.move(op)) &&
           (row_.stored.size() < kLongPrefixBytes || enter_group(op == MDB_PREV || op == MDB_LAST));
  }

  bool take_row(bool there) {
    if (there) row_ = {cursor_.key(), cursor_.key(), cursor_.value()};
    return there;
  }
  bool take_group_row(bool there) {
    if (there) row_ = group_.row();
    return there;
  }
  void leave_group() {
    group_.leave();
    group_status_ = Done{};
  }
  bool enter_group(bool from_behind);
  bool next_in_group();
  bool prev_in_group();
  bool after_group();

  TableCursor cursor_;
  Row row_;
  LeafWalk walk_;
  LongKeys group_;
  Status group_status_ = Done{};
};

}  // namespace mayfly::internal
