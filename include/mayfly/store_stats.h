// SPDX-License-Identifier: Apache-2.0
// What a store tells about itself: counts, statistics, and the findings of a check.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

// Exact, and of one moment. Cost: what is expired but present has to be walked; the rest is known.
struct FamilyCounts {
  std::uint64_t live = 0;      // entries that a reader can see
  std::uint64_t with_ttl = 0;  // live entries that have a deadline
  std::uint64_t expired = 0;   // expired entries that have not been removed yet
  std::uint64_t stored = 0;    // live + expired
};

// What a purge did, whether or not it got to the end.
struct Purged {
  std::uint64_t removed = 0;  // entries removed, and committed unless in a caller's transaction
  bool done = true;           // false: a limit stopped it, or an error did; there may be more
  Status status = Done{};     // why it could not go on
};

struct PurgeLimits {
  std::uint64_t entries = UINT64_MAX;
  Millis time = Millis::max();
};

// What a checkpoint waits for.
enum class CheckpointMode {
  passive,   // nobody: it does what can be done now. If a writer is at work, the last commits stay
  full,      // the writer: all that was committed before gets into the tree
  truncate,  // as full; others write when nothing is pending any more, and the log file is removed
};

// Transactions in the log that were not in the tree.
struct Checkpointed {
  std::uint64_t pending = 0;  // before
  std::uint64_t applied = 0;  // of these, now in the tree
};

// A reader of an old snapshot; the pages of the snapshot cannot be reused until it ends.
struct StoreReader {
  std::int64_t process = 0;
  std::uint64_t snapshot = 0;  // the number of the transaction it sees
  std::uint64_t behind = 0;    // its age: how many commits have been made since
};

struct StoreStats {
  // Counted by this handle since it was opened or reset. Rollbacks are not subtracted.
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;    // that found something
  std::uint64_t erases = 0;  // that found something
  std::uint64_t cursors = 0;
  std::uint64_t commits = 0;
  std::uint64_t syncs = 0;           // by sync()
  std::uint64_t errors = 0;          // calls of the store that failed
  std::uint64_t bytes_read = 0;      // of values
  std::uint64_t bytes_written = 0;   // of keys and values
  std::uint64_t expired_lazily = 0;  // removed because a read or a cursor found them
  std::uint64_t purged = 0;          // removed by a purge

  // Of the log and the checkpoints, by this process since it opened the store.
  std::uint64_t logged_bytes = 0;       // appended to the log
  std::uint64_t tree_bytes = 0;         // of pages written to the tree, about
  std::uint64_t tree_entries = 0;       // entries written to the tree
  std::uint64_t expired_unwritten = 0;  // entries that expired before they were written to the tree
  std::uint64_t expired_removed = 0;    // entries of the tree that checkpoints removed
  std::uint64_t checkpoints = 0;
  std::uint64_t stalls = 0;      // commits that waited for a checkpoint, since the log was full
  std::uint64_t stalled_ms = 0;  // how long, together
  std::uint64_t log_syncs = 0;
  // Damaged rows of the indexes of deadlines, each time that a checkpoint met one and left it.
  std::uint64_t damaged_rows = 0;  // check() names them

  // Of the log, now.
  std::uint64_t log_position = 0;   // bytes of records ever, of all processes; it never falls
  std::uint64_t log_bytes = 0;      // of its file, on disk
  std::uint64_t pending_bytes = 0;  // in the log, not in the tree
  std::uint64_t table_bytes = 0;    // memory that this process needs for them

  // Of the file, now.
  std::uint64_t page_bytes = 0;
  std::uint64_t pages = 0;       // in the file
  std::uint64_t free_pages = 0;  // of these, to be reused
  std::uint64_t file_bytes = 0;
  std::uint64_t map_bytes = 0;
  std::uint64_t last_transaction = 0;
  std::vector<StoreReader> readers;
};

// What check() found wrong. Empty: nothing.
struct CheckReport {
  std::vector<std::string> problems;
  std::uint64_t pages = 0;    // looked at
  std::uint64_t entries = 0;  // looked at

  bool ok() const { return problems.empty(); }
};

}  // namespace mayfly
