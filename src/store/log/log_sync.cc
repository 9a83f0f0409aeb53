// SPDX-License-Identifier: Apache-2.0
// How the log gets to the disk: what a commit waits for, and the sync that commits share.

#include <algorithm>
#include <utility>

#include "store/lmdb/environment.h"
#include "store/log/redo_log.h"
#include "store/log/test_hooks.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kPendingLeast = std::uint64_t{4} << 20;

}  // namespace

// A commit in the log must not fail any more for lack of memory: if no thread could be made, the
// log is synced here.
Status RedoLog::finish_commit(Position end, Time now, Durability durability) {
  last_moment_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  const std::uint64_t pending = end - std::min(end, words().durable.load());
  const std::uint64_t members = std::max(1u, words().members.load(std::memory_order_relaxed));
  if (pending > std::max(kPendingLeast, 2 * segment_bytes() / members)) {
    request_checkpoint(now);
  }
  if (durability == Durability::full && rule_on(Rule::ack_after)) return sync_log(end);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the thread clears it, then reads the tail
  if (durability == Durability::normal && !unsynced_.load(std::memory_order_relaxed)) {
    if (!unsynced_.exchange(true) && !wake_thread()) {
      unsynced_ = false;
      return sync_log(end);
    }
  }
  return Done{};
}

// Commits share a sync. One thread of the process syncs at a time; those who wait meanwhile go on
// together when it is done: if each waited for the shared lock, one whose commit is on disk would
// wait for the next sync, too.
Status RedoLog::sync_log(Position end) {
  const auto is_synced = [&] { return words().synced.load(std::memory_order_acquire) >= end; };
  if (is_synced()) return Done{};
  std::unique_lock lock(sync_mutex_);
  sync_ended_.wait(lock, [&] { return !is_syncing_ || is_synced(); });
  if (is_synced()) return Done{};
  struct Syncing {
    RedoLog& log;
    std::unique_lock<std::mutex>& lock;
    Syncing(RedoLog& its_log, std::unique_lock<std::mutex>& its_lock)
        : log(its_log), lock(its_lock) {
      log.is_syncing_ = true;
      lock.unlock();
    }
    ~Syncing() {
      lock.lock();
      log.is_syncing_ = false;
      lock.unlock();
      log.sync_ended_.notify_all();
    }
  };
  const Syncing syncing(*this, lock);
  return sync_shared(end);
}

// Other processes may have synced meanwhile. The lock only saves syncs: a process stopped while it
// has the lock is not waited for.
Status RedoLog::sync_shared(Position end) {
  struct SyncTurn {
    Session& session;
    bool has_lock;
    ~SyncTurn() {
      if (has_lock) session.unlock(SharedLock::sync);
    }
  };
  const Millis patience = std::max(options_.busy_timeout, Session::kLeastWait);
  const SyncTurn turn{session_, session_.lock(SharedLock::sync, patience).ok()};
  if (words().failed.load() != 0) {
    return Error{Code::io,
                 "the log could not be synced: whether the last commits survive a power cut is "
                 "unknown (the next write makes a new log)"};
  }
  if (words().synced.load(std::memory_order_acquire) >= end) return Done{};
  return sync_file();
}

// What lies before the beginning of the log that is in force is in LMDB, durably.
Status RedoLog::sync_file() {
  const std::uint64_t log = words().log.load();
  Position covered = words().tail.load(std::memory_order_acquire);
  if (log == 0) return Done{};
  Ref<LogFile> present = file();
  if (present == nullptr || present->id().word() != log) {  // another process has made the log
    auto opened = LogFile::open(path_, true);
    if (words().log.load() != log) return Done{};
    if (!opened) return opened.error();
    if ((*opened)->id().word() != log) return gone_error("sync " + environment_.path(), path_);
    present = std::move(*opened);
  }
  counts_.log_syncs.fetch_add(1, std::memory_order_relaxed);
  const Status synced = present->sync();
  if (words().log.load() != log) return Done{};
  if (!synced) words().failed.store(1);
  if (!rule_on(Rule::sync_before)) covered = words().tail.load();
  for (Position known = words().synced.load(); synced && known < covered;) {
    if (words().synced.compare_exchange_weak(known, covered)) break;
  }
  return synced;
}

// The LMDB of a direct commit may be visible before it is durable.
Status RedoLog::sync() {
  auto snapshot = environment_.begin_read();
  if (!snapshot) return snapshot.error();
  const Position applied = (*snapshot)->state.applied.position;
  const Position end = std::max(applied, (*snapshot)->window.tail());
  const bool has_log = !(*snapshot)->state.log.is_none();
  snapshot->reset();
  if (applied > words().durable.load() && rule_on(Rule::sync_lmdb)) {
    if (Status synced = environment_.sync_tree(); !synced) return synced;
  }
  return has_log ? sync_log(end) : Status(Done{});
}

Position RedoLog::end_of_file(Position end) const {
  const Ref<LogFile> log_file = file();
  if (log_file == nullptr || end != tail().position) return end;
  LogReader reader(*log_file, tail());
  while (reader.next()) continue;
  return reader.place().position;
}

// --- The checkpoint lock

Status RedoLog::lock_checkpoint(Millis patience) {
  Status locked = session_.lock(SharedLock::checkpoint, patience);
  while (!locked && patience > Millis::zero() && checkpoint_thread_.load() != std::thread::id()) {
    locked = session_.lock(SharedLock::checkpoint, patience);
  }
  if (!locked) return locked;
  checkpoint_thread_ = std::this_thread::get_id();
  environment_.refresh_tree();
  return Done{};
}

void RedoLog::unlock_checkpoint() noexcept {
  checkpoint_thread_ = std::thread::id();
  session_.unlock(SharedLock::checkpoint);
}

Result<CheckpointTurn> CheckpointTurn::take(RedoLog& log, Millis patience) {
  if (Status locked = log.lock_checkpoint(patience); !locked) return locked.error();
  return CheckpointTurn(log);
}

void CheckpointTurn::end() noexcept {
  if (log_ != nullptr) std::exchange(log_, nullptr)->unlock_checkpoint();
}

bool RedoLog::is_current(const Snapshot& snapshot) const {
  return snapshot.tables == set_number_.load(std::memory_order_relaxed);
}

// The file of an earlier log is closed by the last thread that reads it.
void RedoLog::use(Ref<LogFile> file) {
  const std::scoped_lock lock(file_mutex_);
  segment_bytes_ = file == nullptr ? 0 : file->segment_bytes();
  std::swap(file_, file);
}

bool RedoLog::is_named() const {
  const Ref<LogFile> log_file = file();
  const auto is_in_force = [&] { return log_file->id().word() == words().log.load(); };
  return log_file == nullptr || !is_in_force() || log_file->is_named() || !is_in_force();
}

}  // namespace mayfly::internal
