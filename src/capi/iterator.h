// SPDX-License-Identifier: Apache-2.0
// KVIterator: a cursor that survives what a Cursor does not.
//
// A cursor of a transaction may not be used after a write, and not after its end. So an iterator
// notices both, by a count of writes and by losing its cursor, and goes on with a new cursor from
// the key that it stood on, of which it then has a copy. One that is outside of transactions has a
// snapshot of its own, in which nothing changes, and copies nothing.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "capi/handles.h"
#include "mayfly/cursor.h"

struct KVIterator {
  KVStore* kv;
  mayfly::Family family;
  std::string family_name;
  std::string prefix;
  bool reverse;

  std::optional<mayfly::Cursor> cursor{};
  mayfly::OpenTxn* txn = nullptr;  // that the cursor belongs to
  std::uint64_t writes = 0;        // of `txn`, when the cursor was made

  bool valid = false;
  bool copied = false;  // whether the entry is here, and not at the cursor
  std::string key_copy{};
  std::string value_copy{};
  mayfly::Time deadline_copy = mayfly::kNever;

  std::string_view key() const { return copied ? std::string_view(key_copy) : cursor->key(); }
  std::string_view value() const { return copied ? std::string_view(value_copy) : cursor->value(); }
  mayfly::Time deadline() const { return copied ? deadline_copy : cursor->deadline(); }

  // Makes the entry independent of the cursor. REQUIRES: valid.
  void copy();

  // What the cursor met and had expired is removed now, if nobody else is writing.
  void drop_cursor();
};

namespace mayfly {

// The transaction is about to end: its iterators keep their entry and lose their cursor.
void detach_iterators(OpenTxn& txn);

}  // namespace mayfly
