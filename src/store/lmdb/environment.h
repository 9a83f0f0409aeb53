// SPDX-License-Identifier: Apache-2.0
// Environment: one file of a store, as one process has it open.
//
// LMDB allows a process to open a file only once, so all handles on it share one of these (see
// acquire_environment). It hands out snapshots, each with its catalog and its window of the redo
// log, keeps the handles of tables, and makes writers take turns, across processes too.
//
// Threads: all of it may be called by any thread. Readers take no lock but a short one for the pool
// of idle transactions. A write transaction is ended by the thread that began it, because the write
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
#include "store/lmdb/store_files.h"
#include "store/lmdb/tree_txn.h"
#include "store/lmdb/turns.h"
#include "store/log/redo_log.h"
#include "store/log/session.h"
#include "store/table/window.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {

inline constexpr std::size_t kTablesMax = 3 * kFamiliesMax + 1;  // numbered from 1

// A snapshot for reading. Idle ones are kept, since making one costs much more than renewing one.
struct Snapshot {
  MDB_txn* txn = nullptr;
  std::uint64_t id = 0;  // of the LMDB transaction that it sees
  CatalogRef catalog{};
  TreeState state{};
  Window window{};
  std::uint64_t tables = 0;  // which set of tables the window has
  bool is_sound = false;     // its last transaction of LMDB began well
  bool is_internal = false;  // of a writer or a checkpoint
};

class Environment {
 public:
  // `path` is absolute. A file that is empty or absent is made into a store in one transaction.
  static Result<std::unique_ptr<Environment>> open(const std::string& path,
                                                   const StoreOptions& options);
  ~Environment();

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Ends it as the destructor does, and tells whether all is on disk. What is due at `now` need not
  // be written to LMDB.
  Status close(Time now);

  // Which file it is, whatever has its name now.
  FileId id() const;
  int descriptor() const;

  // Whether this is the parent's, in the child of a fork.
  bool is_foreign() const noexcept { return mark_.is_foreign(); }

  // Gives up the child's copies of files that have locks, so that these end with the parent.
  void close_in_child();

  Result<ReadTurn> begin_read();

  // The same for writers and checkpoints, which work also when there are too many readers.
  Result<ReadTurn> begin_internal_read();

  // Takes the write lock; the snapshot is the latest state.
  Result<WriteTurn> begin_write(Millis busy_timeout, bool for_checkpoint = false);

  // Whether this thread began the write transaction that is open, and may end it.
  bool may_end_write() const { return write_.thread.load() == std::this_thread::get_id(); }

  std::vector<StoreReader> readers() const;
  MDB_envinfo info() const;
  std::uint64_t page_bytes() const;

  // Whether the map has room for a checkpoint of so many bytes of the log, by a careful estimate.
  bool takes_all(std::uint64_t bytes) const;

  // Whether the map has room to remove something if the trees grow by so many pages.
  bool leaves_reserve(std::int64_t growth) const;

  // The same for the disk. It takes the room, as far as the file system can do that, so that a
  // transaction that erases finds some when the disk is full.
  bool leaves_disk(std::int64_t growth) const;
  bool last_freed_much() const;  // whether the last transaction has freed much

  // The handle of a table that some committed catalog names.
  MDB_dbi table(std::uint32_t number) const {
    return tables_[number].load(std::memory_order_acquire);
  }
  std::unique_lock<std::mutex> lock_tables() { return std::unique_lock(tables_mutex_); }

  // A TreeTxn was committed as LMDB's transaction `id`; `changed` is empty if the catalog is as
  // before.
  void on_tree_commit(std::uint64_t id, const CatalogRef& changed,
                      const std::vector<NewTable>& tables) noexcept;

  // Gives up what a snapshot sees, though not the snapshot.
  static void drop_snapshot(Snapshot& snapshot);

  // Idle snapshots give up their tables.
  void release_tables();

  // About how many bytes of pages LMDB wrote for a transaction; `last_page` was the last before.
  std::uint64_t written_bytes(std::uint64_t id, std::uint64_t last_page) const;

  // Brings a store of format 1 to the present one. REQUIRES: the checkpoint lock, or alone.
  Status upgrade();

  // Has LMDB show what a process has committed that died right then: it does so when somebody
  // begins to write. REQUIRES: the checkpoint lock, without which nobody writes to LMDB.
  void refresh_tree();

  // Makes what LMDB shows durable.
  Status sync_tree();

  // Whether the files still have their names. It looks `now`, or if it has not looked for a second.
  // Before a file is removed or replaced by its name, `now`. REQUIRES: the write lock, or alone.
  Status check_files(bool now = false);

  Status sync();
  Status compact(Time now);
  Status copy_to(const std::string& path);

  // No family may get a lesser number than this, so that one whose creation was rolled back is not
  // taken for a later one. Changed under the write lock.
  std::atomic<std::uint32_t>& next_family_id() { return next_family_id_; }

  MDB_env* lmdb() const { return env_; }
  RedoLog& log() { return *log_; }
  const std::string& path() const { return path_; }
  bool writable() const { return !is_detached_ && writable_; }

  // A handle writes, though the first one may have been for reading.
  void add_writer() { has_writer_ = true; }

  // While one is inside (see Inside), the file is not exchanged and its map is not moved.
  void enter();
  void leave() { active_.fetch_sub(1); }

  // Takes over the size of the map that another process has given the file. `entered` times the
  // caller has entered; it has no transaction of LMDB.
  Status adopt_larger_map(int entered = 1);

 private:
  Environment(std::string path, const StoreOptions& options);

  // While one exists, no thread can get inside.
  class Shut {
   public:
    explicit Shut(Environment& environment)
        : lock_(environment.gate_), closed_(environment.closed_) {
      closed_.store(true);
    }
    ~Shut() { closed_.store(false); }
    Shut(const Shut&) = delete;
    Shut& operator=(const Shut&) = delete;

   private:
    const std::scoped_lock<std::mutex> lock_;
    std::atomic<bool>& closed_;
  };

  Status open_file();
  // How turns end.
  friend struct EndRead;
  friend class WriteTurn;
  void end_read(std::unique_ptr<Snapshot> snapshot) noexcept;
  void unlock_write(std::unique_ptr<TreeTxn> tree) noexcept;
  void leave_write(std::unique_ptr<TreeTxn> tree) noexcept;

  Status undo_version_1();
  void note_files();
  Status check_company();
  std::string find_lost() const;
  Status reserve_snapshots();
  void reserve_pools();
  Status start_lmdb();
  std::uint64_t allowed_map_bytes(std::uint64_t known) const;
  Status start_again();
  Status make_store();
  Error empty_error() const;
  Error read_only_error() const;
  Status load(bool is_alone);
  unsigned flags() const;

  std::uint64_t map_pages() const;
  std::uint64_t free_pages() const;
  std::uint64_t reserved_pages() const;

  Status lock_write(Millis busy_timeout, bool for_checkpoint, bool& owner_died);
  Status renew(Snapshot& snapshot);
  Status renew_lmdb(Snapshot& snapshot);
  Status match_catalog(Snapshot& snapshot, bool& restart);
  Status match_state(Snapshot& snapshot);
  Status open_tables(const Catalog& catalog);
  CatalogRef current_catalog();
  void publish(const CatalogRef& catalog);
  std::unique_ptr<Snapshot> take_snapshot(bool is_internal);
  Result<ReadTurn> begin_snapshot(bool is_internal);
  bool drop_pool();  // whether there was something in it
  bool free_readers();
  std::unique_ptr<Snapshot> take_surplus();
  Status replace_file(const std::string& with);
  void stop_lmdb();

  const ProcessMark mark_;
  const std::string path_;
  const StoreOptions options_;
  bool writable_ = true;
  std::atomic<bool> has_writer_;
  bool is_detached_ = false;  // read-only, where no file can be made
  std::unique_ptr<Session> session_;
  std::unique_ptr<RedoLog> log_;
  MDB_env* env_ = nullptr;
  std::uint64_t limit_at_start_ = UINT64_MAX;  // on the size of files

  std::atomic<std::uint32_t> next_family_id_{1};

  // The write transaction of this process. Its thread holds the write lock while one is open, or
  // was left by another thread; if the thread has ended, the kernel has freed the lock.
  struct Write {
    enum class State { none, open, left };
    std::atomic<State> state{State::none};
    std::atomic<std::thread::id> thread{};
    std::unique_ptr<TreeTxn> tree;  // of one that was left
  };
  Write write_;

  // Under the write lock, or by one that is alone.
  std::int64_t look_at_ = 0;  // when to look at the files again
  std::int64_t look_at_limit_ = 0;
  std::string lost_;  // a file that was removed or replaced: nothing is written any more

  // How many transactions are at work, and whether new ones have to wait for gate_.
  std::atomic<int> active_{0};
  std::atomic<bool> closed_{false};
  std::mutex gate_;

  std::array<std::atomic<MDB_dbi>, kTablesMax + 1> tables_{};  // 0: not open in this process
  std::mutex tables_mutex_;  // held while tables are opened, as LMDB demands

  mutable std::mutex mutex_;
  FileId file_id_;                                        // guarded by mutex_
  FileId lock_id_;                                        // of -lock; the same
  CatalogRef catalog_;                                    // the latest known; guarded by mutex_
  std::vector<std::unique_ptr<Snapshot>> pool_;           // idle; guarded by mutex_
  std::vector<std::unique_ptr<Snapshot>> internal_pool_;  // the same
};

// A file of an open store is not there any more.
Error gone_error(const std::string& doing, const std::string& path);

// Whether another process has a store open that was at `path`, by the files beside it. REQUIRES:
// this process has none of them open.
bool is_used_elsewhere(const std::string& path);

// The environment of the file at `path`, which is opened, or made, if no handle of this process has
// it yet. Each success is followed by one release_environment(). Code::busy if another process, or
// a thread of this one, does not finish opening it within options.busy_timeout (or
// Session::kLeastWait, if that is longer).
Result<Environment*> acquire_environment(const std::string& path, const StoreOptions& options);

// Closes the environment when its last handle is gone, and returns whether that succeeded.
Status release_environment(Environment* environment, Time now);

}  // namespace mayfly::internal
