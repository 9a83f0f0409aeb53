// SPDX-License-Identifier: Apache-2.0
// LongKeys: the rows that share the first 487 bytes of their key, in the order of their keys.
//
// A long key is stored by its first 487 bytes and a hash (stored_key.h). Rows that agree in these
// bytes stand together in the table, but in the order of hashes. When a cursor comes to such rows
// it takes them all here, sorts them, and walks them here. Usually that is one row. Views point
// into the file.

#pragma once

#include <lmdb.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

// A row of a data table.
struct Row {
  std::string_view key;     // as its user knows it
  std::string_view stored;  // as the tables do
  std::string_view value;
};

class LongKeys {
 public:
  bool active() const { return active_; }
  void leave() { active_ = false; }

  // Takes all rows that begin with `head`, of 487 bytes. Returns LMDB's code.
  int enter(MDB_cursor* cursor, std::string_view head);

  // Each goes to a row, and returns whether there is one.
  bool first() { return go(0); }
  bool last() { return go(rows_.size() - 1); }
  bool next() { return go(at_ + 1); }
  bool prev() { return at_ != 0 && go(at_ - 1); }
  bool seek(std::string_view key);

  const Row& row() const { return rows_[at_]; }
  std::string_view head() const { return head_; }

 private:
  bool go(std::size_t at) {
    if (at < rows_.size()) at_ = at;
    return at < rows_.size();
  }

  bool active_ = false;
  std::string head_;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
};

}  // namespace mayfly
