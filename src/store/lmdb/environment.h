// SPDX-License-Identifier: Apache-2.0
// Environment: one file of a store, as one process has it open.
//
// LMDB allows a process to open a file only once, so all handles on it share one of these (see
// acquire_environment). It hands out LMDB transactions together with the catalog of their snapshot,
// keeps the handles of tables, and makes writers take turns, across processes too.
//
// Threads: all of it may be called by any thread. Readers take no lock but a short one for the pool
// of idle transactions. A write transaction is ended by the thread that began it, because LMDB's
// lock belongs to that thread.
//
// Forks: in a child, the parent's environment refuses everything, and is never destroyed.

#pragma once

#include <lmdb.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "mayfly/store_options.h"
#include "mayfly/store_stats.h"
#include "store/lmdb/lmdb.h"
#include "store/lmdb/session.h"
#include "store/log/power_guard.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {

inline constexpr std::size_t kTablesMax = 3 * kFamiliesMax + 1;  // numbered from 1

// A snapshot for reading. Idle ones are kept, since making one costs much more than renewing one.
struct Snapshot {
  MDB_txn* txn = nullptr;
  CatalogRef catalog{};
};

// A table that the present write transaction has made; others see it when that is committed.
struct NewTable {
  std::uint32_t number;
  MDB_dbi handle;
};

class Environment {
 public:
  // `path` is absolute. A file that is empty or absent is made into a store in one transaction.
  static Result<std::unique_ptr<Environment>> open(const std::string& path,
                                                   const StoreOptions& options);
  ~Environment();

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Ends it as the destructor does, and tells whether all is on disk.
  Status close();

  // Whether this is the parent's, in the child of a fork.
  bool is_foreign() const noexcept { return mark_.is_foreign(); }

  // Gives up the child's copies of files that have locks, so that these end with the parent.
  void close_in_child();

  Result<std::unique_ptr<Snapshot>> begin_read();
  void end_read(std::unique_ptr<Snapshot> snapshot);

  // Takes the write lock. The catalog that it gives is the latest.
  Result<MDB_txn*> begin_write(Millis busy_timeout, Durability durability, CatalogRef& catalog);

  // Whether this thread began the write transaction that is open, and may end it.
  bool may_end_write() const { return write_.thread.load() == std::this_thread::get_id(); }

  // Ends the write transaction, on the thread that began it. `changed` is null if the catalog is
  // as before. If it fails, nothing was written.
  Status commit_write(MDB_txn* txn, Durability durability, const Catalog* changed,
                      const std::vector<NewTable>& tables);
  void abort_write(MDB_txn* txn, Durability durability);

  // For another thread than the one that began it: nothing will be written. The lock is given back
  // when that thread begins to write again, or ends.
  void leave_write();

  // How many pages a write transaction could take when it began: the rest of the map, and, if asked
  // for `exactly`, the free pages that no reader needs.
  std::uint64_t room(MDB_txn* txn, bool exactly) const;

  std::vector<StoreReader> readers() const;
  MDB_envinfo info() const;
  std::uint64_t page_bytes() const;

  // What transactions that put have to leave of it, so that there is room to remove something: LMDB
  // changes no page in place, and what a transaction frees, only the next but one can take.
  std::uint64_t reserved_pages() const { return reserved_pages_; }

  // The handle of a table that some committed catalog names.
  MDB_dbi table(std::uint32_t number) const {
    return tables_[number].load(std::memory_order_acquire);
  }

  // Makes a table within a write transaction, which must hold lock_tables() until it has ended.
  Result<NewTable> make_table(MDB_txn* txn, std::uint32_t number);
  std::unique_lock<std::mutex> lock_tables() { return std::unique_lock(tables_mutex_); }

  Status sync();
  Status compact();
  Status copy_to(const std::string& path);

  // No family may get a lesser number than this, so that one whose creation was rolled back is not
  // taken for a later one. Changed under the write lock.
  std::atomic<std::uint32_t>& next_family_id() { return next_family_id_; }

  MDB_env* lmdb() const { return env_; }
  const std::string& path() const { return path_; }
  bool writable() const { return session_ != nullptr && writable_; }

 private:
  Environment(std::string path, const StoreOptions& options);

  Status open_file();
  Status recover_file();
  Status start_lmdb();
  Status make_store();
  Error empty_error() const;
  Status load();
  unsigned flags() const;
  PowerGuardOptions power_options();

  void enter();
  void leave() { active_.fetch_sub(1); }
  Durability level(Durability asked) const;
  Status lock_write(Millis busy_timeout);
  Status prepare_write(Durability durability);
  void end_write(bool committed, Durability durability);
  void finish_write(bool committed, Durability durability);
  bool is_short_of_room(MDB_txn* txn) const;
  std::uint64_t oldest_reader(MDB_txn* txn) const;
  bool roll_on(MDB_txn* txn, const CatalogRef& catalog);

  Status match_catalog(Snapshot& snapshot, bool& restart);
  Status open_tables(const Catalog& catalog);
  CatalogRef current_catalog();
  void publish(const CatalogRef& catalog);
  Status adopt_larger_map();
  std::unique_ptr<Snapshot> take_snapshot();
  bool drop_pool();  // whether there was something in it
  bool free_readers();
  void trim_pool(std::vector<std::unique_ptr<Snapshot>>& surplus);
  Status replace_file(const std::string& with);

  const ProcessMark mark_;
  const std::string path_;
  const StoreOptions options_;
  bool writable_ = true;
  std::unique_ptr<Session> session_;  // null: read-only, where no file can be made
  SteadyClock sync_clock_;
  std::unique_ptr<PowerGuard> guard_;
  MDB_env* env_ = nullptr;
  std::uint64_t reserved_pages_ = 0;
  bool no_sync_ = false;  // LMDB's flag as it stands; under the write lock
  bool guarded_ = false;  // whether this process has written at `normal`; under the write lock

  std::atomic<std::uint32_t> next_family_id_{1};

  // The write transaction of this process. Its thread holds the write lock while one is open, or
  // was left by another thread; if the thread has ended, the kernel has freed the lock.
  struct Write {
    enum class State { none, open, left };
    std::atomic<State> state{State::none};
    std::atomic<std::thread::id> thread{};
    MDB_txn* txn = nullptr;
    Durability durability{};
  };
  Write write_;

  // How many transactions are at work, and whether new ones have to wait for gate_.
  std::atomic<int> active_{0};
  std::atomic<bool> closed_{false};
  std::mutex gate_;

  std::array<std::atomic<MDB_dbi>, kTablesMax + 1> tables_{};  // 0: not open in this process
  std::mutex tables_mutex_;  // held while tables are opened, as LMDB demands

  std::mutex mutex_;
  CatalogRef catalog_;                           // the latest known; guarded by mutex_
  std::vector<std::unique_ptr<Snapshot>> pool_;  // idle; guarded by mutex_
};

// The environment of the file at `path`, which is opened, or made, if no handle of this process has
// it yet. Each success is followed by one release_environment(). Code::busy if another process, or
// a thread of this one, does not finish opening it within options.busy_timeout (or
// Session::kLeastWait, if that is longer).
Result<Environment*> acquire_environment(const std::string& path, const StoreOptions& options);

// Closes the environment when its last handle is gone, and returns whether that succeeded.
Status release_environment(Environment* environment);

}  // namespace mayfly::internal
