// SPDX-License-Identifier: Apache-2.0
// What is inside a Store (a share in an environment, the clock, the options and the counts) and
// inside a Cursor (the rows, their deadlines, the prefix, and the transaction it reads in).

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/cursor.h"
#include "mayfly/store.h"
#include "store/lmdb/environment.h"
#include "store/rows/deadline_cursor.h"
#include "store/rows/row_cursor.h"
#include "store/table/window_cursor.h"
#include "store/txn/txn.h"

namespace mayfly {

using internal::Count;
using internal::Environment;
using internal::FamilyView;
using internal::Need;
using internal::StoredEntry;
using internal::Txn;

class Store::State {
 public:
  // It has no environment yet: open() gets it one, when all memory is there to give it back.
  State(const Clock& clock, StoreOptions options, std::filesystem::path path);
  ~State();

  Status open(const std::string& file);
  Status open_temporary();
  Status close();

  Txn::Owner owner() { return {*environment, clock, options, tally}; }

  Environment* environment = nullptr;  // null once it is closed
  const Clock& clock;
  const StoreOptions options;
  const std::filesystem::path path;
  std::vector<std::string> temporary_files;  // none, if the store has a path
  internal::SharedTally tally;
};

// Two cursors side by side: over the rows of LMDB, and over the keys of which the tables tell
// something. Where both have a key, the tables count. While it stands on a key, each stands on that
// key or beyond it, in the direction of the last move.
class Cursor::State {
 public:
  // `own` is the transaction itself, if it belongs to the cursor.
  static Result<Cursor> open(Txn& txn, std::unique_ptr<Txn> own, CursorOptions options,
                             Family family);
  ~State();

  bool first(Cursor& cursor);
  bool last(Cursor& cursor);
  bool move(Cursor& cursor, MDB_cursor_op step) {
    if (takes_all_ && !txn_.is_foreign()) [[likely]] {
      turn(step);
      if (rows_.move_to(step, cursor.key_, cursor.value_)) return true;
      return nowhere(cursor, rows_.status());
    }
    return move_on(cursor, step);
  }
  bool seek(Cursor& cursor, std::string_view key);
  bool seek_before(Cursor& cursor, std::string_view key);
  Time deadline(const Cursor& cursor);
  Status status() const;

 private:
  State(Txn& txn, std::unique_ptr<Txn> own, std::string prefix, Family family);

  Status open_tables();
  bool restart(Cursor& cursor);
  bool place(Cursor& cursor, std::string_view key, MDB_cursor_op step);
  void place_before(std::string_view key);
  bool move_on(Cursor& cursor, MDB_cursor_op step);
  // Goes on, from where the two cursors are, to an entry that the user may see, and shows it.
  bool show_live(Cursor& cursor, MDB_cursor_op step);
  bool nowhere(Cursor& cursor, const Status& why = Done{});
  void choose(MDB_cursor_op step);
  void pass(MDB_cursor_op step);
  Result<bool> read_entry(std::string_view& value);

  // Deadlines are read in the direction of the rows, so a turn makes their position useless.
  void turn(MDB_cursor_op step) {
    if (step != step_) deadlines_.forget();
    step_ = step;
  }
  Time find_deadline(std::string_view stored);

  Txn& txn_;
  std::unique_ptr<Txn> own_;
  const std::string prefix_;
  const Family family_;
  FamilyView* view_ = nullptr;
  std::uint64_t changes_ = 0;  // of the transaction, when the cursors were opened
  internal::RowCursor rows_;
  internal::WindowKeys keys_;
  internal::DeadlineCursor deadlines_;
  bool row_on_ = false;            // whether rows_ is on a row
  bool has_row_ = false;           // whether the entry is that of rows_,
  bool has_key_ = false;           // or that of keys_, or both: then that of keys_ counts
  MDB_cursor_op step_ = MDB_NEXT;  // its direction
  bool hides_ = false;             // something in LMDB is due, so each row must be checked
  bool takes_all_ = false;         // each row of LMDB is shown, and there is nothing else
  Status status_ = Done{};
};

inline Error closed_error() { return {Code::invalid, "the store is closed"}; }

}  // namespace mayfly
