// SPDX-License-Identifier: Apache-2.0
// TreeTxn: a write transaction of LMDB, with what it changes of the catalog, and with the place in
// the redo log up to which LMDB has everything. A commit is durable when it returns.
//
// Its owner has the checkpoint lock, and ends it on the thread that began it.

#pragma once

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "store/lmdb/inside.h"
#include "store/lmdb/lmdb.h"
#include "store/log/log_file.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {

class Environment;

inline constexpr std::string_view kStateKey = "log";  // in the main table

// What LMDB says of the redo log: a row of the main table, written with the data it speaks of.
struct TreeState {
  UniqueId store;
  UniqueId log;      // none: there is no log
  LogPlace applied;  // all records before it are in the tables

  bool operator==(const TreeState&) const = default;
  std::string encode() const;
  static std::optional<TreeState> decode(std::string_view bytes);
};

// The tables of a family.
struct FamilyTables {
  MDB_dbi data = 0;
  MDB_dbi keys = 0;  // 0: the family never had a deadline
  MDB_dbi deadlines = 0;
};

// A table that a transaction has made; others see it when that is committed.
struct NewTable {
  std::uint32_t number;
  MDB_dbi handle;
};

class TreeTxn {
 public:
  static Result<std::unique_ptr<TreeTxn>> begin(Environment& environment);

  // In a copy of a store that only this program has open.
  static Result<std::unique_ptr<TreeTxn>> begin_in_copy(MDB_env* copy);
  ~TreeTxn();  // undoes what was not committed

  TreeTxn(const TreeTxn&) = delete;
  TreeTxn& operator=(const TreeTxn&) = delete;

  MDB_txn* lmdb() const { return txn_.get(); }
  const Catalog& catalog() const { return changed_ ? *changed_ : catalog_->catalog(); }
  Catalog& change_catalog();

  const TreeState& state() const { return state_; }
  void set_state(const TreeState& state) { state_ = state; }

  // The tables of a family; makes the index tables if they are needed and not there.
  Result<FamilyTables> tables(const FamilyRecord& record);
  Result<FamilyTables> tables_with_deadlines(Family family);

  // By how many pages it has made the trees grow.
  std::int64_t growth() const { return tree_pages() - pages_before_; }

  Status commit();

 private:
  TreeTxn(Environment* environment, OwnTxn txn, CatalogRef catalog);

  Result<MDB_dbi> table(std::uint32_t number);
  std::int64_t tree_pages() const;

  Environment* const environment_;  // null: a copy
  Inside inside_;                   // it
  OwnTxn txn_;
  CatalogRef catalog_;
  TreeState state_;
  std::int64_t pages_before_ = 0;
  std::optional<Catalog> changed_;
  std::vector<NewTable> new_tables_;
  std::unique_lock<std::mutex> tables_lock_;
};

}  // namespace mayfly::internal
