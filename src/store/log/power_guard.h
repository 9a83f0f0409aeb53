// SPDX-License-Identifier: Apache-2.0
// PowerGuard: what makes LMDB without syncs safe against power cuts. The level `normal`.
//
// LMDB never changes a page in place; it writes a new one and takes the place of the old one later,
// when no reader needs it. Without syncs that is safe if the process dies, because the page cache
// lives on, but not if the machine does: pages reach the disk in any order. So:
//
//   transactions   ----R=======================J-----------------now
//                      |  what these freed is  |  what these freed
//                      |  in the undo log,     |  is not reused: each
//                      |  durably              |  writer holds a pin
//                      recovery point: all its pages, and a copy of its meta page, are on disk
//
//   pin         a read transaction at J or before. LMDB reuses what transaction t freed only if no
//               reader is at t or before.
//   mini-sync   begins a read transaction at `now`, appends the pages that (J, now] freed, and that
//               belong to R, to the undo log, syncs that, and moves J and the pin to `now`. It
//               happens when LMDB runs out of old pages. The pages in between R and `now`, which
//               are most, are then reused, and need never reach the disk.
//   checkpoint  captures the newest meta page R', syncs the store, and writes R' into the other
//               header of the undo log, durably. Writers go on meanwhile: what they save from the
//               capture on leads back to both R and R'. See undo_log.h for the files.
//   recovery    after a reboot puts the first saved image of each page back, then the meta page.
//
// Why R can always be restored. A page of R changes only if LMDB reuses it, so some transaction
// t > R freed it, and no reader was at t or before; each writer has a pin at J or before, hence
// t < J; hence the page was listed by a mini-sync, which saved it while it was still untouched, or
// had been saved before. A page saved twice since R was untouched the first time. All that matters
// was durable before J moved, and the pin moved after J. A writer whose process died takes its pin
// along, but cannot write any more; the next one takes a pin, by a mini-sync, before it writes.
//
// The first transaction after R needs no pin: LMDB itself keeps the last committed state whole.
//
// Opening a period (the first write at `normal`) excludes writers at `full`, which hold a lock
// while they write. Once it is open they follow the protocol too: see before_full_write.
//
// Several processes share all this through the undo file. Locks are bytes of the store's file,
// taken in this order: period, checkpoint, log.
//
// Threads: the functions for writers are called by the holder of the store's write lock; sync() by
// any thread, at any time.

#pragma once

#include <lmdb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/internal/background_thread.h"
#include "mayfly/result.h"
#include "store/log/undo_log.h"

namespace mayfly::internal {

// Bytes of the store's file that serve as locks; far beyond any page.
inline constexpr std::uint64_t kPeriodByte = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kCheckpointByte = kPeriodByte + 1;
inline constexpr std::uint64_t kLogByte = kPeriodByte + 2;

inline constexpr std::int64_t kNeverMs = kNever.time_since_epoch().count();

struct PowerGuardOptions {
  // How far the file may grow before superseded pages are saved so that they can be reused. Less
  // means a smaller file and more syncs.
  std::uint64_t growth_bytes = 16 << 20;

  // How long the undo log may become before a checkpoint is made early.
  std::uint64_t undo_bytes = 256 << 20;

  // The age that unsynced writes may reach: what a power cut may cost, less the time it takes to
  // sync them.
  Millis interval{1000};

  // Names this boot of the machine; empty: ask the kernel. For tests.
  std::string boot_id;

  // Called, with no lock of the guard held, when another process has grown the map: it must adopt
  // the size, by mdb_env_set_mapsize(env, 0). If absent, before_write fails with Code::busy.
  std::function<Status()> adopt_map;
};

// Which pages still have to be saved so that one recovery point can be restored.
class PowerGuardWindow {
 public:
  // A window of no generation, which needs nothing.
  PowerGuardWindow() = default;

  // `start` tells captures of the same generation apart.
  PowerGuardWindow(std::uint64_t generation, std::uint64_t start, std::uint64_t last_page)
      : generation_(generation), start_(start), is_covered_(last_page + 1) {}

  bool is(std::uint64_t generation, std::uint64_t start) const {
    return generation_ == generation && start_ == start;
  }

  bool needs(std::uint64_t page) const { return page < is_covered_.size() && !is_covered_[page]; }

  // The page has been saved, or is not part of the recovery point.
  void cover(std::uint64_t page) {
    if (page < is_covered_.size()) is_covered_[page] = true;
  }

 private:
  std::uint64_t generation_ = 0;
  std::uint64_t start_ = 0;
  std::vector<bool> is_covered_;
};

std::string undo_path_of(const std::string& store_path);

// What the options say, or else the kernel.
Result<std::string> boot_id_of(const PowerGuardOptions& options);

class PowerGuard {
 public:
  // Undoes a power cut, if there was one. To be called before mdb_env_open, as the only process
  // that has the store open or can open it. Code::corrupt if the undo log is damaged; the store is
  // then left as it is.
  static Status recover(const std::string& store_path, const PowerGuardOptions& options);

  // Whether recover() has something to undo. For a store that can only be read.
  static Result<bool> needs_recovery(const std::string& store_path,
                                     const PowerGuardOptions& options);

  // `env` is open, with MDB_NOTLS | MDB_NOSUBDIR and without MDB_WRITEMAP; it and `clock` must
  // outlive the guard. The undo log, store_path + "-undo", is made when it is first needed.
  PowerGuard(MDB_env* env, std::string store_path, const Clock& clock, PowerGuardOptions options);

  // Does not sync.
  ~PowerGuard();

  PowerGuard(const PowerGuard&) = delete;
  PowerGuard& operator=(const PowerGuard&) = delete;

  // Before mdb_txn_begin of a write that does not sync. Each that succeeds is followed by
  // after_commit or after_abort, and then only by the next. After an error nothing may be written.
  // Costs no system call, unless there is something to do.
  Status before_write();

  // After a commit: from now on its age counts.
  void after_commit();

  // After an abort, or a commit that failed, at either level.
  void after_abort();

  // The same for a write that LMDB syncs. It costs two locks and a look at the undo log, which is
  // rarely there; while a period is open, a checkpoint as well, since recovery must not undo it.
  // A write without any promise (the level `off`) must not spoil a period either: it is preceded
  // by before_full_write, and followed by after_abort even if it is committed.
  Status before_full_write();
  Status after_full_commit();

  // Returns when all that has been committed so far is on disk.
  Status sync();

  // Syncs, and lets go of everything. If nobody else has the store open or can open it, it is
  // marked as whole and the undo log removed. No writer may come after it.
  Status close(bool is_sole_opener);

  // In the child of a fork: gives up the file whose locks the parent holds. Nothing else may be
  // called afterwards, not even the destructor.
  void close_in_child();

  // Keeps the guard, whose sync thread works in the background, from using the environment: for
  // mdb_env_set_mapsize. The pin does not mind a new map.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }

 private:
  // What the undo log says, read under its lock.
  struct State {
    UndoControl control;
    UndoHeader header;  // of the confirmed generation
  };
  // Holds mutex_ and the lock on the undo log.
  struct LogLock {
    std::unique_lock<std::mutex> mutex;
    UndoFileLock file;
  };

  bool must_act() const;
  Status prepare_write();
  Result<bool> take_pin();
  Result<bool> open_period();
  Result<bool> mini_sync();
  Result<bool> checkpoint(bool wants_pin);
  Result<std::optional<UndoHeader>> capture(bool wants_pin);
  Status confirm(const UndoHeader& header);
  Status write_confirmed(State& state, const UndoHeader& header);
  Status sync_store();
  Status save_freed(State& state, MDB_txn* reader, std::uint64_t upto);
  Result<bool> is_period_open();
  Status mark_whole();

  Status open_store();
  Result<bool> open_log();
  Result<LogLock> lock_log();
  Result<State> read_state() const;
  Result<LmdbMeta> read_meta() const;
  Result<MDB_txn*> begin_read() const;
  void move_pin(MDB_txn* reader);
  void drop_pin();
  void drop_pin_if_idle();
  MDB_envinfo look() const;
  Time run_once();

  MDB_env* const env_;
  const std::string store_path_;
  const std::string undo_path_;
  const Clock& clock_;
  const PowerGuardOptions options_;

  // Held during a whole checkpoint, before mutex_.
  std::mutex checkpoint_mutex_;

  // Guards what follows, and every use of env_ but that of writers.
  std::mutex mutex_;
  std::optional<UndoFile> store_;  // stays where it is once it is open
  std::optional<UndoLog> log_;
  MDB_txn* pin_ = nullptr;
  MDB_txn* next_pin_ = nullptr;          // of a checkpoint under way, unless the pin is beyond it
  PowerGuardWindow current_;             // of the confirmed generation
  PowerGuardWindow next_;                // of the captured one
  std::uint64_t pool_ = 0;               // how many pages are free, about
  std::uint64_t counted_last_page_ = 0;  // the last page when they were counted
  double pages_per_commit_ = 0;          // how many are freed; 0: not known yet

  // Of the writer, which holds the store's write lock.
  bool holds_period_lock_ = false;

  // Shared by the writer and the sync thread without a lock. The writer says that it is writing,
  // then looks for the pin; the sync thread takes the pin away, then looks for a writer.
  std::atomic<bool> is_writing_{false};
  std::atomic<bool> is_pinned_{false};
  std::atomic<bool> is_failing_{false};           // the last attempt of the sync thread failed
  std::atomic<bool> is_urgent_{false};            // the undo log is long
  std::atomic<std::uint64_t> page_limit_{0};      // when the file ends here a writer must act,
  std::atomic<std::uint64_t> commit_limit_{0};    // or when so many were committed
  std::atomic<std::int64_t> unsynced_since_ms_;   // kNever: all is synced
  std::atomic<std::int64_t> checkpointed_at_ms_;  // when the last one began

  std::unique_ptr<BackgroundThread> sync_thread_;
};

}  // namespace mayfly::internal
