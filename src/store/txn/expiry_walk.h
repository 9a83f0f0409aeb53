// SPDX-License-Identifier: Apache-2.0
// ExpiryWalk: the entries of a family that have a deadline, in the order of deadlines: those of
// LMDB's expiry index of which the tables say nothing, merged with those of the tables. Expired
// entries are shown, too.
//
//   for (walk.seek(from); walk.valid(); walk.next()) use(walk.deadline(), walk.key());
//   if (!walk.status()) ...
//
// Cost: O(log n) plus the rows that are passed: rows of LMDB and of the tables whose entry has been
// erased or has got another deadline since. A walk from the front begins at the floor of the family
// (table/expiry_floors.h), and raises it if it has passed some, so the next one does not pass them
// again; remember_front() does that for other walks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "store/lmdb/lmdb.h"
#include "store/lmdb/tree_txn.h"
#include "store/table/expiry_floors.h"
#include "store/table/window_cursor.h"

namespace mayfly::internal {

class Txn;
struct FamilyView;

// The rows of LMDB's expiry index: seek() and next() go to those whose keys the window does not
// know, place() and step() to each.
class TreeDeadlines {
 public:
  // `passes_damage`: a damaged row does not end the walk.
  TreeDeadlines(MDB_txn* txn, const FamilyTables& tables, Window window, std::uint32_t family,
                bool passes_damage = false);

  void seek(const ExpiryFloor& from);
  void next();

  void place(const ExpiryFloor& from);
  void step() { load(cursor_.move(MDB_NEXT)); }
  bool is_there() const;  // the window has no change of it

  bool valid() const { return valid_; }
  Time deadline() const { return deadline_; }
  std::string_view key() const { return key_; }  // as the user knows it; valid until it moves
  const Status& status() const { return status_; }
  std::uint64_t damaged() const { return damaged_; }  // rows that it has passed

 private:
  void load(bool there);
  void settle();
  Result<bool> read_row();

  MDB_txn* const txn_;
  const FamilyTables tables_;
  const Window window_;
  const std::uint32_t family_;
  const bool passes_damage_;
  TableCursor cursor_;
  bool valid_ = false;
  Time deadline_{};
  std::string_view key_;
  std::uint64_t damaged_ = 0;
  Status status_ = Done{};
};

class ExpiryWalk {
 public:
  // Entries from the deadline `end` on are not shown, and not looked at either.
  ExpiryWalk(Txn& txn, FamilyView& view, Time end = kNever);

  void seek(Time from) { seek(ExpiryFloor{from}); }
  void seek(const ExpiryFloor& from);
  void next();

  bool valid() const { return valid_; }
  Time deadline() const { return is_in_tree_ ? tree_.deadline() : tables_.deadline(); }
  std::string_view key() const { return is_in_tree_ ? tree_.key() : tables_.key(); }
  const Status& status() const { return tree_.status(); }

  // Before which the walk has passed or shown everything.
  ExpiryFloor place();

  // To be called at the end of a walk that did not begin at the front. If it has passed many rows,
  // and nothing lies before them, the next walk does not pass them again.
  void remember_front();

  // How many rows it has passed since seek() without showing them.
  std::size_t passed() const { return passed_; }

 private:
  bool choose();
  void step();
  void settle();

  Txn& txn_;
  FamilyView& view_;
  const Time end_;
  TreeDeadlines tree_;
  WindowDeadlines tables_;
  bool is_in_tree_ = false;
  bool valid_ = false;
  std::size_t passed_ = 0;
};

}  // namespace mayfly::internal
