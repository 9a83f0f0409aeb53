// SPDX-License-Identifier: Apache-2.0
#include "store/rows/deadline_cursor.h"

#include "store/rows/stored_key.h"

namespace mayfly::internal {

void DeadlineCursor::move(MDB_cursor_op op, std::string_view to, Where beyond) {
  const bool there = cursor_.move(op, to);
  where_ = there ? Where::on_row : beyond;
  if (!there) status_ = cursor_.status();
  if (there && cursor_.value().size() != kDeadlineBytes) status_ = damaged_rows();
}

// Goes to the row, or beyond it if it is not there. One step is tried first; where deadlines are
// rare, it may take a search.
void DeadlineCursor::approach(std::string_view stored, MDB_cursor_op step) {
  const bool forward = step == MDB_NEXT;
  const Where beyond = forward ? Where::at_end : Where::at_start;
  if (where_ == beyond) return;
  const auto short_of = [&] { return forward ? cursor_.key() < stored : cursor_.key() > stored; };
  if (where_ == Where::on_row) {
    if (!short_of()) return;
    move(step, {}, beyond);
    if (failed() || where_ == beyond || !short_of()) return;
  }
  move(MDB_SET_RANGE, stored, Where::at_end);
  if (failed() || forward || (where_ == Where::on_row && cursor_.key() == stored)) return;
  move(where_ == Where::on_row ? MDB_PREV : MDB_LAST, {}, beyond);
}

Time DeadlineCursor::find(std::string_view stored, MDB_cursor_op step) {
  approach(stored, step);
  const bool found = where_ == Where::on_row && !failed() && cursor_.key() == stored;
  return found ? decode_deadline(cursor_.value()) : kNever;
}

}  // namespace mayfly::internal
