// SPDX-License-Identifier: Apache-2.0
#include "store/rows/long_keys.h"

#include <algorithm>

#include "store/lmdb/lmdb.h"
#include "store/rows/stored_key.h"

namespace mayfly {

int LongKeys::enter(MDB_cursor* cursor, std::string_view head) {
  head_ = head;
  rows_.clear();
  at_ = 0;
  active_ = true;
  MDB_val key = to_val(head_);
  MDB_val value{};
  int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  while (code == 0 && to_view(key).starts_with(head_)) {
    Row row{to_view(key), to_view(key), to_view(value)};
    if (is_long(row.stored)) {
      const LongValueResult split = split_long_value(row.value);
      if (!split.ok) return MDB_CORRUPTED;
      row.key = split.parts.key;
      row.value = split.parts.value;
    }
    rows_.push_back(row);
    code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  if (code != 0 && code != MDB_NOTFOUND) return code;
  std::ranges::sort(rows_, {}, &Row::key);
  return rows_.empty() ? MDB_NOTFOUND : 0;
}

bool LongKeys::seek(std::string_view key) {
  const auto found = std::ranges::lower_bound(rows_, key, {}, &Row::key);
  return go(static_cast<std::size_t>(found - rows_.begin()));
}

}  // namespace mayfly
