// SPDX-License-Identifier: Apache-2.0
// What is inside a Store (a share in an environment, the clock, the options and the counts) and
// inside a Cursor (the rows, their deadlines, the prefix, and the transaction it reads in).

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "mayfly/cursor.h"
#include "mayfly/store.h"
#include "store/lmdb/environment.h"
#include "store/rows/deadline_cursor.h"
#include "store/rows/row_cursor.h"
#include "store/txn/txn.h"

namespace mayfly {

using internal::Count;
using internal::Environment;
using internal::ExpiredKey;
using internal::FamilyView;
using internal::Need;
using internal::StoredEntry;
using internal::StoredKey;
using internal::Txn;

class Store::State {
 public:
  State(Environment& environment, const Clock& clock, StoreOptions options,
        std::filesystem::path path, bool temporary);
  ~State();

  Status close();

  Txn::Owner owner() { return {*environment, clock, options, tally}; }

  Environment* environment;  // null once it is closed
  const Clock& clock;
  const StoreOptions options;
  const std::filesystem::path path;
  const bool temporary;
  internal::SharedTally tally;
};

class Cursor::State {
 public:
  // `own` is the transaction itself, if it belongs to the cursor; then the expired entries that it
  // has found are removed when the cursor is destroyed.
  static Result<Cursor> open(Txn& txn, std::unique_ptr<Txn> own, CursorOptions options,
                             Family family);
  ~State();

  bool first(Cursor& cursor);
  bool last(Cursor& cursor);
  bool move(Cursor& cursor, MDB_cursor_op step) {
    turn(step);
    if (takes_all_ && !txn_.is_foreign()) [[likely]] {
      if (rows_.move_to(step, cursor.key_, cursor.value_)) return true;
      return nowhere(cursor, rows_.status());
    }
    return show_live(cursor, rows_.move(step), step);
  }
  bool seek(Cursor& cursor, std::string_view key);
  bool seek_before(Cursor& cursor, std::string_view key);
  Time deadline(const Cursor& cursor);
  Status status() const;

 private:
  State(Txn& txn, std::unique_ptr<Txn> own, std::string prefix, Family family);

  bool restart(Cursor& cursor);
  // Goes on, from a row if there is one, to a row that the user may see, and shows it.
  bool show_live(Cursor& cursor, bool there, MDB_cursor_op step);
  bool nowhere(Cursor& cursor, const Status& why = Done{});
  // Deadlines are read in the direction of the rows, so a turn makes their position useless.
  void turn(MDB_cursor_op step) {
    if (step != step_) deadlines_.forget();
    step_ = step;
  }
  Time find_deadline(std::string_view stored);
  void show(Cursor& cursor) {
    cursor.valid_ = true;
    cursor.key_ = rows_.row().key;
    cursor.value_ = rows_.row().value;
  }

  Txn& txn_;
  std::unique_ptr<Txn> own_;
  const std::string prefix_;
  const Family family_;
  internal::RowCursor rows_;
  internal::DeadlineCursor deadlines_;
  MDB_cursor_op step_ = MDB_NEXT;  // its direction
  bool hides_ = false;             // something in the family is due, so each row must be checked
  bool takes_all_ = false;         // nothing is due, and there is no prefix: each row is shown
  Status status_ = Done{};
};

// Removes expired entries that reads have found, in one transaction, if nobody else is writing.
void evict(const Txn::Owner& owner, const std::vector<ExpiredKey>& keys);

inline Error closed_error() { return {Code::invalid, "the store is closed"}; }

}  // namespace mayfly
