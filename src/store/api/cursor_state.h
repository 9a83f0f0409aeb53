// SPDX-License-Identifier: Apache-2.0
// What is inside a Cursor: the rows, their deadlines, the prefix, and the transaction it walks.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mayfly/cursor.h"
#include "store/rows/deadline_cursor.h"
#include "store/rows/row_cursor.h"
#include "store/txn/txn.h"

namespace mayfly {

class Cursor::State {
 public:
  // `own` is the transaction itself, if it belongs to the cursor; then the expired entries that
  // were met are removed when the cursor is destroyed.
  static Result<Cursor> open(Txn& txn, std::unique_ptr<Txn> own, CursorOptions options,
                             Family family);
  ~State();

  bool first(Cursor& cursor);
  bool last(Cursor& cursor);
  bool move(Cursor& cursor, MDB_cursor_op step) {
    turn(step);
    if (takes_all_ && !txn_.is_foreign()) [[likely]] {
      if (rows_.move_to(step, cursor.key_, cursor.value_)) return true;
      return nowhere(cursor, rows_.code());
    }
    return settle(cursor, rows_.move(step), step);
  }
  bool seek(Cursor& cursor, std::string_view key);
  bool seek_before(Cursor& cursor, std::string_view key);
  Time deadline(const Cursor& cursor);
  Status status() const;

 private:
  State(Txn& txn, std::unique_ptr<Txn> own, std::string prefix, Family family);

  bool start_anew(Cursor& cursor);
  bool settle(Cursor& cursor, bool there, MDB_cursor_op step);
  bool nowhere(Cursor& cursor, int code);
  // Deadlines are found by going the same way, so a turn makes where they stand of no use.
  void turn(MDB_cursor_op step) {
    if (step != step_) deadlines_.forget();
    step_ = step;
  }
  int find_deadline(std::string_view stored, Time& deadline);
  void show(Cursor& cursor) {
    cursor.valid_ = true;
    cursor.key_ = rows_.row().key;
    cursor.value_ = rows_.row().value;
  }

  Txn& txn_;
  std::unique_ptr<Txn> own_;
  const std::string prefix_;
  const Family family_;
  RowCursor rows_;
  DeadlineCursor deadlines_;
  MDB_cursor_op step_ = MDB_NEXT;  // where it is going
  bool hides_ = false;             // something in the family is due, so each row must be asked
  bool takes_all_ = false;         // nothing is due, and there is no prefix: each row is shown
  int code_ = 0;
};

// Removes expired entries that were met, in one transaction, if nobody else is writing.
void evict(const Txn::Owner& owner, const std::vector<Met>& met);

}  // namespace mayfly
