// SPDX-License-Identifier: Apache-2.0
// RedoLog: the write path of a store. The log is the only history of it; LMDB has a prefix of that.
//
//   put ─► one record ─► memory table            get ─► tables, newest first ─► LMDB snapshot
//   cut ─► [checkpoint, in order, what was due at the cut left out] ─► LMDB
//
// A state is "LMDB at its applied position, then all records from there to the tail". Each process
// follows the log with memory tables of its own, in which one thread applies records at a time.
// docs/store_format.md has the files, and why this is safe.
//
// Locks, in this order: write, checkpoint, sync (all in -shm), follow_mutex_, set_mutex_.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/ref.h"
#include "mayfly/clock.h"
#include "mayfly/internal/background_thread.h"
#include "mayfly/result.h"
#include "mayfly/store_options.h"
#include "mayfly/store_stats.h"
#include "store/lmdb/tree_txn.h"
#include "store/log/checkpoint_turn.h"
#include "store/log/log_file.h"
#include "store/log/record.h"
#include "store/log/session.h"
#include "store/table/expiry_floors.h"
#include "store/table/mem_table.h"
#include "store/table/window.h"

namespace mayfly::internal {

class Environment;
struct Snapshot;

// What was written into LMDB.
struct WriteCounts {
  std::uint64_t entries = 0;
  std::uint64_t unwritten = 0;  // that expired before
  std::uint64_t damaged = 0;    // rows of the indexes of deadlines, passed
};

// What a process has done, since it opened the store.
struct LogCounts {
  std::atomic<std::uint64_t> logged_bytes{0};
  std::atomic<std::uint64_t> tree_bytes{0};  // of pages that LMDB wrote
  std::atomic<std::uint64_t> tree_entries{0};
  std::atomic<std::uint64_t> unwritten{0};  // entries that expired before they reached LMDB
  std::atomic<std::uint64_t> checkpoints{0};
  std::atomic<std::uint64_t> stalls{0};  // of writers that waited for a checkpoint
  std::atomic<std::uint64_t> stalled_ns{0};
  std::atomic<std::uint64_t> log_syncs{0};
  std::atomic<std::uint64_t> purged{0};   // by the thread
  std::atomic<std::uint64_t> damaged{0};  // rows of the indexes of deadlines, passed

  void add(const WriteCounts& written) {
    tree_entries.fetch_add(written.entries, std::memory_order_relaxed);
    unwritten.fetch_add(written.unwritten, std::memory_order_relaxed);
    damaged.fetch_add(written.damaged, std::memory_order_relaxed);
  }
};

// Expired entries that reads have found. Lists are joined without allocations.
struct ExpiredKey {
  Family family;
  std::string key;
  Time deadline{};  // of its row, if a purge has found it
};
using ExpiredKeys = std::list<ExpiredKey>;

class RedoLog {
 public:
  RedoLog(Environment& environment, Session& session, const StoreOptions& options);
  ~RedoLog();

  // Opening, by one that is alone: LMDB made durable, the log scanned, a life record appended.
  Status recover(const TreeState& state, bool may_write);

  // Closing. Alone: everything goes into LMDB, and the log is removed.
  void stop_thread();
  void allow_thread();  // after it was stopped
  void forget_file() { use(nullptr); }
  void close_in_child() {
    if (file_ != nullptr) file_->close_in_child();
  }

  // See LogFile::look_at_limit().
  void look_at_limit() const {
    if (const Ref<LogFile> log_file = file()) log_file->look_at_limit();
  }

  // Whether the log that is in force still has its name. REQUIRES: open_if_needed().
  bool is_named() const;

  Status close(Time now, Millis patience = Session::kLeastWait, Checkpointed* counts = nullptr);
  // REQUIRES: the write lock.
  Status finish(const TreeState& state, Time now, Millis patience, Checkpointed* counts = nullptr);

  // Gives the snapshot its window, up to `tail`. False: the log has moved on, begin again.
  Result<bool> follow(Snapshot& snapshot, Position tail);

  // The end of the last whole record at or behind `tail`. Nobody may go there: see Rule::published.
  Position end_of_file(Position tail) const;

  // Under the write lock ----------------------------------------------------------------------
  //
  // `patience`: how long to wait for a checkpoint of another process, where one is in the way.

  // Whether nothing is left of a writer that died, or of a sync that failed.
  bool is_settled(const TreeState& state) const;
  void mark_unsettled();
  Status settle(Millis patience);

  // Makes sure that this process has the log of that state open.
  Status open_if_needed(const TreeState& state);

  // Whether the next commit must go straight into LMDB: the first one of a store makes no log.
  bool is_direct(const TreeState& state) const;

  // Whether LMDB's map can take what the log has and so many bytes more. If not, a checkpoint may
  // make room.
  bool fits_tree(std::uint64_t bytes) const;
  Result<bool> make_tree_room(std::uint64_t bytes, Millis patience);

  // Of the log that there is, or of the next one.
  std::uint64_t segment_bytes() const {
    const std::uint64_t known = segment_bytes_.load(std::memory_order_relaxed);
    const bool has_log = words().log.load(std::memory_order_relaxed) != 0 && known != 0;
    return has_log ? known : options_.log_segment_bytes;
  }

  // Whether a transaction of so many bytes fits into a record.
  bool takes(std::size_t bytes) const { return bytes <= segment_bytes() / 4; }

  // Appends the changes, and returns the end of the record. `state` is that of the snapshot.
  Result<Position> commit(const TreeState& state, const MemTable& own, Time now, Millis patience);

  // Commits straight into LMDB. begin_direct() takes the checkpoint lock, and applies everything;
  // end_direct() gives it back.
  Result<std::unique_ptr<TreeTxn>> begin_direct(const TreeState& state, Millis patience);
  Status commit_direct(TreeTxn& tree);
  void end_direct() { unlock_checkpoint(); }

  // By anyone ---------------------------------------------------------------------------------

  // After a commit, without the write lock: waits for the disk if the level asks for it.
  Status finish_commit(Position end, Time now, Durability durability);
  Status sync();

  // Applies everything up to now to LMDB, durably; what is due at `now` is left out.
  Result<Checkpointed> checkpoint(Time now, CheckpointMode mode, Millis patience);

  // Where the deadlines of a family begin, for a snapshot with that tail (table/expiry_floors.h).
  // raise_floor() takes the result of a walk in such a snapshot. If `is_purged`, it found entries
  // before the floor, all of which this process has erased or changed since.
  ExpiryFloor floor_of(std::uint32_t family, Position tail) const {
    return floors_.find(family, tail);
  }
  void raise_floor(std::uint32_t family, const ExpiryFloor& floor, Position tail,
                   bool is_purged = false) noexcept;

  // Keys of expired entries, for the next commits to remove. Neither allocates.
  void note_expired(ExpiredKeys& keys) noexcept;
  ExpiredKeys take_noted(std::size_t most) noexcept;
  bool has_noted() const { return has_noted_.load(std::memory_order_relaxed); }

  // Tables for the changes of write transactions, of which there is one at a time.
  std::unique_ptr<MemTable> take_own_table();
  void give_own_table(std::unique_ptr<MemTable> table);

  // The same window, made anew of what is in the log. Code::corrupt if the log ends too early.
  Result<Window> replay(const TreeState& state, const Window& window);

  // Whether LMDB has got more since: then the log before it may be gone.
  bool is_applied_beyond(const TreeState& state) const {
    return words().durable.load() > state.applied.position;
  }

  // The thread that had the checkpoint lock has ended.
  void forget_checkpoint_owner() { checkpoint_thread_ = std::thread::id(); }

  // Whether a checkpoint of this process may have the write lock, or will have it soon; another
  // one, if a checkpoint asks.
  bool is_working(bool asks_itself) const {
    return working_.load(std::memory_order_relaxed) > (asks_itself ? 1 : 0);
  }

  // While one is there, is_working().
  class Working {
   public:
    explicit Working(RedoLog& log) : working_(log.working_) { working_.fetch_add(1); }
    ~Working() { working_.fetch_sub(1); }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    std::atomic<int>& working_;
  };

  // Whether the tables of a snapshot are those that are in use.
  bool is_current(const Snapshot& snapshot) const;

  // Whether this thread has the checkpoint lock.
  bool has_checkpoint_turn() const {
    return checkpoint_thread_.load() == std::this_thread::get_id();
  }

  LogCounts& counts() { return counts_; }
  std::uint64_t position() const { return tail().position; }
  std::uint64_t pending_bytes() const;  // in the log, not in LMDB
  std::uint64_t table_bytes() const;    // memory of the tables
  std::uint64_t file_bytes() const;     // of the log, on disk
  const std::string& path() const { return path_; }

 private:
  friend class LogTestAccess;
  friend class CheckpointTurn;

  SharedWords& words() const { return session_.words(); }
  LogPlace tail() const;

  // Tables; under follow_mutex_. What has to follow a step that cannot be undone is made ready
  // before, and does not allocate.
  static Ref<const TableSet> new_tables(Position begin);
  void reset_tables(const LogPlace& place) { reset_tables(place, new_tables(place.position)); }
  void reset_tables(const LogPlace& place, Ref<const TableSet> ready) noexcept;
  void publish(Ref<const TableSet> set) noexcept;
  Ref<const TableSet> make_ready(const RecordView& record);
  bool apply(const RecordView& record) { return apply(record, make_ready(record)); }
  bool apply(const RecordView& record, Ref<const TableSet> ready) noexcept;
  void drop_applied(Position applied);
  Status open_file(const TreeState& state);
  Result<bool> follow_slowly(Snapshot& snapshot, Position tail);

  // Records; under the write lock.
  Status make_log(Millis patience);
  Status name_log();
  // `patience`: none, and it does not wait for a segment. `moment`: of a transaction; with the next
  // segment, the thread is asked for a checkpoint. `kept`: room that is left to erasures.
  Status make_room(std::size_t bytes, std::optional<Millis> patience,
                   std::optional<Time> moment = {}, std::uint64_t kept = 0);
  std::uint64_t kept_for_erasures() const;
  Status replace_full_log(Millis patience);
  Status append();
  Status append_life();
  Status append_barrier(const LogPlace& behind, Ref<const TableSet> ready);
  Result<bool> append_cut(const TreeState& state, Time moment);
  void put_in_force(const TreeState& state);
  Status adopt_records(const TreeState& state);
  Status settle_log(const TreeState& state);
  Status find_segment(const LogReader& reader, const LogPlace& applied);
  Status heal();
  Status remove_file();

  // Checkpoints; under the checkpoint lock.
  Status trust_tree(const TreeState& state);
  Status leave_room(const TreeTxn& tree) const;
  Status apply_to_tree(const Window& window, const TreeState& state);
  Status apply_cut(Checkpointed* counts = nullptr);
  Status apply_all(bool names_log, Checkpointed* counts = nullptr);  // and the write lock
  Checkpointed count_pending(const TreeState& state, Position end, Position tail) const;
  Status wait_for_segment(Position needed, Millis patience);

  Status sync_log(Position end);
  Status sync_shared(Position end);
  Status sync_file();
  Ref<LogFile> file() const {
    const std::scoped_lock lock(file_mutex_);
    return file_;
  }
  void use(Ref<LogFile> file);

  Time work() noexcept;  // of the thread
  Time work_once(std::int64_t wanted);
  bool wake_thread() noexcept;  // whether there is one
  void request_checkpoint(Time moment);
  Status lock_checkpoint(Millis patience);
  void unlock_checkpoint() noexcept;
  Status purge_tree(Time moment);
  Status purge_batch(std::span<const ExpiredKey>& keys, Time moment);
  Status cut(Time moment, Millis patience);
  Status apply_pending(Time now, bool is_passive, Millis patience, Checkpointed& counts);

  Environment& environment_;
  Session& session_;
  const StoreOptions options_;
  const std::string path_;
  LogCounts counts_;
  RecordWriter writer_;            // under the write lock
  Position full_at_ = UINT64_MAX;  // the same: the tail when LMDB had no room for the log

  mutable std::mutex file_mutex_;
  Ref<LogFile> file_;                            // guarded by file_mutex_
  std::atomic<std::uint64_t> segment_bytes_{0};  // of the file; 0: no file

  std::mutex follow_mutex_;  // one applies at a time
  LogPlace followed_place_;

  mutable std::mutex set_mutex_;
  Ref<const TableSet> set_;                   // guarded by set_mutex_
  std::atomic<std::uint64_t> set_number_{1};  // counts the sets
  std::atomic<Position> followed_{0};

  ExpiryFloors floors_;  // changed under follow_mutex_

  std::unique_ptr<MemTable> spare_;  // under the write lock

  std::mutex noted_mutex_;
  ExpiredKeys noted_;
  std::atomic<bool> has_noted_{false};

  static constexpr std::int64_t kNotWanted = INT64_MIN;
  SteadyClock thread_clock_;
  std::atomic<bool> unsynced_{false};                  // there are commits for the thread to sync
  std::atomic<std::int64_t> last_moment_{kNotWanted};  // of the commits of this process
  std::atomic<std::int64_t> wanted_{kNotWanted};       // a checkpoint, with this moment
  std::atomic<int> working_{0};
  std::atomic<std::thread::id> worker_{};
  Time sync_at_ = kNever;                             // of the thread
  std::atomic<std::thread::id> checkpoint_thread_{};  // of this process, that has the lock
  std::mutex sync_mutex_;
  std::condition_variable sync_ended_;
  bool is_syncing_ = false;  // guarded by sync_mutex_
  std::mutex thread_mutex_;
  bool is_stopping_ = false;                  // guarded by thread_mutex_
  std::unique_ptr<BackgroundThread> thread_;  // made with the first record
};

// Writes what a window has into LMDB, family by family, in order.
Status write_to_tree(TreeTxn& tree, const Window& window, WriteCounts& counts);

Error damaged_log();

}  // namespace mayfly::internal
