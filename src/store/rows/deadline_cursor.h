// SPDX-License-Identifier: Apache-2.0
// DeadlineCursor: the deadlines of the rows that another cursor walks.
//
// The key index has the same order as the data, so the two are walked side by side: where most keys
// have a deadline, finding the next one is a step instead of a search.

#pragma once

#include <lmdb.h>

#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

class DeadlineCursor {
 public:
  DeadlineCursor() = default;
  ~DeadlineCursor() { close(); }
  DeadlineCursor(const DeadlineCursor&) = delete;
  DeadlineCursor& operator=(const DeadlineCursor&) = delete;

  int open(MDB_txn* txn, MDB_dbi keys);
  void close();
  bool is_open() const { return cursor_ != nullptr; }

  // To be called when the other cursor jumps.
  void forget() { where_ = Where::unknown; }

  // The deadline of the row with this stored key, kNever if it has none. `step` is where the other
  // cursor is going, MDB_NEXT or MDB_PREV; rows come one after the other that way. Returns LMDB's
  // code.
  int find(std::string_view stored, MDB_cursor_op step, Time& deadline);

 private:
  enum class Where { unknown, on_row, at_end, at_start };

  int move(MDB_cursor_op op, std::string_view to, Where beyond);
  int approach(std::string_view stored, MDB_cursor_op step);

  MDB_cursor* cursor_ = nullptr;
  Where where_ = Where::unknown;
  std::string_view key_;       // where it stands, if it is on a row
  std::string_view deadline_;  // what stands there
};

}  // namespace mayfly
