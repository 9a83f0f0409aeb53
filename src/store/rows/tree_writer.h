// SPDX-License-Identifier: Apache-2.0
// TreeWriter: writes the entries of one family into its tables in LMDB. Each call leaves `data` and
// `keys` as they are to be; finish() brings `deadlines` up to date, in the order of time.
//
//   data        key -> value
//   keys        key -> deadline                     made with the first deadline of a family
//   deadlines   [deadline][key] -> nothing          "
//
// Invariant: a key has a row in `keys` if and only if it has one, with the same deadline, in
// `deadlines`, and then it has one in `data`.
//
// Keys should come in order: neighbours go to the same page one after the other.

#pragma once

#include <lmdb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "store/lmdb/lmdb.h"
#include "store/lmdb/tree_txn.h"
#include "store/rows/stored_key.h"

namespace mayfly::internal {

class TreeWriter {
 public:
  TreeWriter(TreeTxn& tree, Family family) : tree_(tree), family_(family) {}

  Status put(std::string_view key, std::string_view value, Time deadline);
  Status set_deadline(std::string_view key, Time deadline);  // of an entry that is there
  Status erase(std::string_view key);                        // that may be there
  Status finish();

  // Removes everything.
  Status clear();

  std::uint64_t bytes() const { return bytes_; }      // of keys and values that were put
  std::uint64_t damaged() const { return damaged_; }  // rows of the indexes that it met

 private:
  // A row of `deadlines` to be added or removed.
  struct Filing {
    Time deadline;
    std::uint32_t offset;
    std::uint16_t size;
    bool adds;
  };

  Status open(bool with_deadlines);
  Status change_deadline(std::string_view stored, Time deadline);
  Status put_value(const StoredKey& key, std::string_view value);
  Status check_owner(const StoredKey& key);
  void file(std::string_view stored, Time deadline, bool adds);
  std::string_view stored_of(const Filing& filing) const {
    return std::string_view(names_).substr(filing.offset, filing.size);
  }

  TreeTxn& tree_;
  const Family family_;
  bool is_open_ = false;
  FamilyTables tables_;
  TableCursor data_;
  TableCursor keys_;
  std::vector<Filing> filings_;
  std::string names_;
  std::uint64_t bytes_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace mayfly::internal
