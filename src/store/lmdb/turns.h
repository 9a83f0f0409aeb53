// SPDX-License-Identifier: Apache-2.0
// What a transaction has of the environment until it ends. Each of these gives it back when it is
// destroyed: also if an exception, which memory that has run out is, leaves the owner. None of them
// allocates then.

#pragma once

#include <memory>
#include <utility>

#include "mayfly/time.h"
#include "store/lmdb/inside.h"
#include "store/lmdb/tree_txn.h"
#include "store/table/mem_table.h"

namespace mayfly::internal {

class Environment;
struct Snapshot;

// A snapshot, with a place inside the environment.
struct EndRead {
  Environment* environment = nullptr;
  void operator()(Snapshot* snapshot) const noexcept;
};
using ReadTurn = std::unique_ptr<Snapshot, EndRead>;

// The write lock, with the snapshot of the latest state, the table of the transaction's changes
// and, once it writes directly into LMDB, the transaction there, for which it also has the
// checkpoint lock.
class WriteTurn {
 public:
  WriteTurn() = default;

  // REQUIRES: this thread has just taken the write lock.
  WriteTurn(Environment& environment, Millis patience)
      : environment_(&environment), patience_(patience) {}
  WriteTurn(WriteTurn&& other) noexcept { *this = std::move(other); }
  WriteTurn& operator=(WriteTurn&& other) noexcept;
  ~WriteTurn() { end(); }

  // On another thread than the one that took it, nothing will be written; the lock is given back
  // when that thread begins to write again, or ends.
  void end() noexcept;

  // How long its owner waits for a checkpoint of another process.
  Millis patience() const { return patience_; }

  ReadTurn snapshot;
  std::unique_ptr<MemTable> own;
  std::unique_ptr<TreeTxn> tree;

 private:
  Environment* environment_ = nullptr;
  Millis patience_{};
};

}  // namespace mayfly::internal
