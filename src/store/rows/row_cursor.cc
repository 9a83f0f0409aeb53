// SPDX-License-Identifier: Apache-2.0
#include "store/rows/row_cursor.h"

#include <algorithm>

namespace mayfly::internal {

std::string after_all(std::string_view head) {
  std::string next(head);
  while (!next.empty() && next.back() == '\xff') next.pop_back();
  if (!next.empty()) next.back() = static_cast<char>(next.back() + 1);
  return next;
}

Status LongKeys::enter(TableCursor& cursor, std::string_view head) {
  head_ = head;
  rows_.clear();
  at_ = 0;
  active_ = true;
  bool there = cursor.move(MDB_SET_RANGE, head_);
  for (; there && cursor.key().starts_with(head_); there = cursor.move(MDB_NEXT)) {
    Row row{cursor.key(), cursor.key(), cursor.value()};
    if (is_long(row.stored)) {
      const LongValueResult split = split_long_value(row.value);
      if (!split.ok) return damaged_rows();
      row.key = split.parts.key;
      row.value = split.parts.value;
    }
    rows_.push_back(row);
  }
  std::ranges::sort(rows_, {}, &Row::key);
  return cursor.status();
}

bool LongKeys::seek(std::string_view key) {
  const auto found = std::ranges::lower_bound(rows_, key, {}, &Row::key);
  return go(static_cast<std::size_t>(found - rows_.begin()));
}

Status RowCursor::open(MDB_txn* txn, MDB_dbi table, bool walks) {
  walk_.open(0);
  if (walks) {
    const auto stat = table_stat(txn, table);
    if (!stat) return stat.error();
    walk_.open(stat->ms_psize);
  }
  return cursor_.open(txn, table);
}

bool RowCursor::first() {
  leave_group();
  return go(MDB_FIRST);
}

bool RowCursor::last() {
  leave_group();
  return go(MDB_LAST);
}

bool RowCursor::seek(std::string_view key) {
  leave_group();
  walk_.leave();
  const std::string_view head = key.substr(0, kLongPrefixBytes);
  if (!take_row(cursor_.move(head.empty() ? MDB_FIRST : MDB_SET_RANGE, head))) return false;
  if (row_.stored.size() < kLongPrefixBytes) return true;
  if (!enter_group(false)) return false;
  return group_.seek(key) ? take_group_row(true) : after_group();
}

bool RowCursor::enter_group(bool from_behind) {
  const std::string head(row_.stored.substr(0, kLongPrefixBytes));
  group_status_ = group_.enter(cursor_, head);
  if (!group_status_) return false;
  return take_group_row(from_behind ? group_.last() : group_.first());
}

bool RowCursor::next_in_group() { return group_.next() ? take_group_row(true) : after_group(); }

// Copying the group has left the cursor behind it, or at the end of the table.
bool RowCursor::after_group() {
  const std::string next = after_all(group_.head());
  group_.leave();
  return !next.empty() && seek(next);
}

bool RowCursor::prev_in_group() {
  if (group_.prev()) return take_group_row(true);
  if (!cursor_.move(MDB_SET_RANGE, group_.head())) return false;
  group_.leave();
  return go(MDB_PREV);
}

}  // namespace mayfly::internal
