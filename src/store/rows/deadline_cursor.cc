// SPDX-License-Identifier: Apache-2.0
#include "store/rows/deadline_cursor.h"

#include "store/rows/stored_key.h"

namespace mayfly::internal {

Status DeadlineCursor::move(MDB_cursor_op op, std::string_view to, Where beyond) {
  const bool there = cursor_.move(op, to);
  where_ = there ? Where::on_row : beyond;
  if (!there) return cursor_.status();
  if (cursor_.value().size() != kDeadlineBytes) return damaged_rows();
  return Done{};
}

// Goes to the row, or beyond it if it is not there. One step is tried first; where deadlines are
// rare, it may take a search.
Status DeadlineCursor::approach(std::string_view stored, MDB_cursor_op step) {
  const bool forward = step == MDB_NEXT;
  const Where beyond = forward ? Where::at_end : Where::at_start;
  if (where_ == beyond) return Done{};
  const auto short_of = [&] { return forward ? cursor_.key() < stored : cursor_.key() > stored; };
  if (where_ == Where::on_row) {
    if (!short_of()) return Done{};
    if (Status moved = move(step, {}, beyond); !moved) return moved;
    if (where_ == beyond || !short_of()) return Done{};
  }
  if (Status moved = move(MDB_SET_RANGE, stored, Where::at_end); !moved) return moved;
  if (forward || (where_ == Where::on_row && cursor_.key() == stored)) return Done{};
  return where_ == Where::on_row ? move(MDB_PREV, {}, beyond) : move(MDB_LAST, {}, beyond);
}

Result<Time> DeadlineCursor::find(std::string_view stored, MDB_cursor_op step) {
  if (const Status there = approach(stored, step); !there) return there.error();
  const bool found = where_ == Where::on_row && cursor_.key() == stored;
  return found ? decode_deadline(cursor_.value()) : kNever;
}

}  // namespace mayfly::internal
