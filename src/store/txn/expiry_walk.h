// SPDX-License-Identifier: Apache-2.0
// ExpiryWalk: the entries of a family that have a deadline, in the order of deadlines: those of
// LMDB's expiry index of which the tables say nothing, merged with those of the tables. Expired
// entries are shown, too.
//
//   for (walk.seek(from); walk.valid(); walk.next()) use(walk.deadline(), walk.key());
//   if (!walk.status()) ...

#pragma once

#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "store/lmdb/lmdb.h"
#include "store/lmdb/tree_txn.h"
#include "store/table/window_cursor.h"

namespace mayfly::internal {

class Txn;
struct FamilyView;

// The rows of LMDB's expiry index whose keys the window does not know.
class TreeDeadlines {
 public:
  TreeDeadlines(MDB_txn* txn, const FamilyTables& tables, Window window, std::uint32_t family);

  void seek(Time from);
  void next() { settle(cursor_.move(MDB_NEXT)); }

  bool valid() const { return valid_; }
  Time deadline() const { return deadline_; }
  std::string_view key() const { return key_; }  // as the user knows it; valid until it moves
  const Status& status() const { return status_; }

 private:
  void settle(bool there);
  bool read_key(std::string_view stored);

  MDB_txn* const txn_;
  const FamilyTables tables_;
  const Window window_;
  const std::uint32_t family_;
  TableCursor cursor_;
  bool valid_ = false;
  Time deadline_{};
  std::string_view key_;
  Status status_ = Done{};
};

class ExpiryWalk {
 public:
  ExpiryWalk(const Txn& txn, const FamilyView& view);

  void seek(Time from);
  void next();

  bool valid() const { return tree_.valid() || tables_.valid(); }
  Time deadline() const { return is_in_tree_ ? tree_.deadline() : tables_.deadline(); }
  std::string_view key() const { return is_in_tree_ ? tree_.key() : tables_.key(); }
  const Status& status() const { return tree_.status(); }

 private:
  void choose();

  TreeDeadlines tree_;
  WindowDeadlines tables_;
  bool is_in_tree_ = false;
};

}  // namespace mayfly::internal
