// SPDX-License-Identifier: Apache-2.0
// DeadlineCursor: the deadlines of the rows that another cursor iterates over.
//
// The key index has the same order as the data, so the two are read side by side: where most keys
// have a deadline, finding the next one is a step instead of a search.

#pragma once

#include <lmdb.h>

#include <string_view>

#include "mayfly/time.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {

class DeadlineCursor {
 public:
  Status open(MDB_txn* txn, MDB_dbi keys) { return cursor_.open(txn, keys); }
  void close() { cursor_.close(); }
  bool is_open() const { return cursor_.is_open(); }

  // To be called when the other cursor jumps.
  void forget() { where_ = Where::unknown; }

  // The deadline of the row with this stored key, kNever if it has none. `step` is the direction of
  // the other cursor, MDB_NEXT or MDB_PREV; rows come one after the other in that direction. If it
  // fails, failed() is true, and status() is the error.
  Time find(std::string_view stored, MDB_cursor_op step);
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }

 private:
  enum class Where { unknown, on_row, at_end, at_start };

  void move(MDB_cursor_op op, std::string_view to, Where beyond);
  void approach(std::string_view stored, MDB_cursor_op step);

  TableCursor cursor_;
  Where where_ = Where::unknown;
  Status status_ = Done{};
};

}  // namespace mayfly::internal
