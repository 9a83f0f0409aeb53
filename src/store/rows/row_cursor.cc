// SPDX-License-Identifier: Apache-2.0
#include "store/rows/row_cursor.h"

#include <string>

namespace mayfly {

std::string after_all(std::string_view head) {
  std::string next(head);
  while (!next.empty() && next.back() == '\xff') next.pop_back();
  if (!next.empty()) next.back() = static_cast<char>(next.back() + 1);
  return next;
}

void RowCursor::close() {
  if (cursor_ != nullptr) ::mdb_cursor_close(cursor_);
  cursor_ = nullptr;
}

int RowCursor::open(MDB_txn* txn, MDB_dbi table, bool walks) {
  MDB_stat stat{};
  const int code = walks ? ::mdb_stat(txn, table, &stat) : 0;
  if (code != 0) return code;
  walk_.open(stat.ms_psize);
  return ::mdb_cursor_open(txn, table, &cursor_);
}

// Puts LMDB's cursor on the row that the walk has got to.
bool RowCursor::catch_up() {
  MDB_val key = to_val(walk_.key());
  MDB_val value{};
  code_ = ::mdb_cursor_get(cursor_, &key, &value, MDB_SET);
  return code_ == 0;
}

bool RowCursor::first() {
  group_.leave();
  return go(MDB_FIRST);
}

bool RowCursor::last() {
  group_.leave();
  return go(MDB_LAST);
}

bool RowCursor::seek(std::string_view key) {
  group_.leave();
  walk_.leave();
  const std::string_view head = key.substr(0, kLongPrefixBytes);
  MDB_val name = to_val(head);
  MDB_val value{};
  code_ = head.empty() ? ::mdb_cursor_get(cursor_, &name, &value, MDB_FIRST)
                       : ::mdb_cursor_get(cursor_, &name, &value, MDB_SET_RANGE);
  if (code_ != 0) return false;
  row_ = {to_view(name), to_view(name), to_view(value)};
  if (row_.stored.size() < kLongPrefixBytes) return true;
  if (!enter_group(false)) return false;
  return group_.seek(key) ? take(true) : after_group();
}

bool RowCursor::enter_group(bool from_behind) {
  const std::string head(row_.stored.substr(0, kLongPrefixBytes));
  code_ = group_.enter(cursor_, head);
  if (code_ != 0) return false;
  return take(from_behind ? group_.last() : group_.first());
}

bool RowCursor::take(bool there) {
  if (there) row_ = group_.row();
  return there;
}

bool RowCursor::next_in_group() { return group_.next() ? take(true) : after_group(); }

// Gathering the group has left the cursor behind it, or at the end of the table.
bool RowCursor::after_group() {
  const std::string next = after_all(group_.head());
  group_.leave();
  code_ = MDB_NOTFOUND;
  return !next.empty() && seek(next);
}

bool RowCursor::prev_in_group() {
  if (group_.prev()) return take(true);
  MDB_val head = to_val(group_.head());
  MDB_val value{};
  code_ = ::mdb_cursor_get(cursor_, &head, &value, MDB_SET_RANGE);
  if (code_ != 0) return false;
  group_.leave();
  return go(MDB_PREV);
}

}  // namespace mayfly
