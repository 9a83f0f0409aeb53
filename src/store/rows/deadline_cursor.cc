// SPDX-License-Identifier: Apache-2.0
#include "store/rows/deadline_cursor.h"

#include "store/lmdb/lmdb.h"
#include "store/rows/stored_key.h"

namespace mayfly {

void DeadlineCursor::close() {
  if (cursor_ != nullptr) ::mdb_cursor_close(cursor_);
  cursor_ = nullptr;
}

int DeadlineCursor::open(MDB_txn* txn, MDB_dbi keys) {
  return ::mdb_cursor_open(txn, keys, &cursor_);
}

int DeadlineCursor::move(MDB_cursor_op op, std::string_view to, Where beyond) {
  MDB_val key = to_val(to);
  MDB_val value{};
  const int code = ::mdb_cursor_get(cursor_, &key, &value, op);
  where_ = code == 0 ? Where::on_row : beyond;
  if (code == MDB_NOTFOUND) return 0;
  if (code != 0) return code;
  if (value.mv_size != kDeadlineBytes) return MDB_CORRUPTED;
  key_ = to_view(key);
  deadline_ = to_view(value);
  return 0;
}

// Goes to the row, or beyond it if it is not there. One step is tried first; where deadlines are
// rare, it may take a search.
int DeadlineCursor::approach(std::string_view stored, MDB_cursor_op step) {
  const bool forward = step == MDB_NEXT;
  const Where beyond = forward ? Where::at_end : Where::at_start;
  if (where_ == beyond) return 0;
  const auto short_of = [&] { return forward ? key_ < stored : key_ > stored; };
  if (where_ == Where::on_row) {
    if (!short_of()) return 0;
    if (const int code = move(step, {}, beyond); code != 0) return code;
    if (where_ == beyond || !short_of()) return 0;
  }
  if (const int code = move(MDB_SET_RANGE, stored, Where::at_end); code != 0) return code;
  if (forward || (where_ == Where::on_row && key_ == stored)) return 0;
  return where_ == Where::on_row ? move(MDB_PREV, {}, beyond) : move(MDB_LAST, {}, beyond);
}

int DeadlineCursor::find(std::string_view stored, MDB_cursor_op step, Time& deadline) {
  deadline = kNever;
  if (const int code = approach(stored, step); code != 0) return code;
  if (where_ == Where::on_row && key_ == stored) deadline = decode_deadline(deadline_);
  return 0;
}

}  // namespace mayfly
