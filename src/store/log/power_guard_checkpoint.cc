// SPDX-License-Identifier: Apache-2.0
// The checkpoint of PowerGuard, which moves the recovery point; its sync thread; and access to its
// files. The rest is in power_guard.cc.

#include <algorithm>
#include <utility>

#include "store/lmdb/lmdb.h"
#include "store/log/power_guard.h"

namespace mayfly::internal {
namespace {

constexpr Millis kRetry{100};  // the least time that the sync thread waits after an error
constexpr int kMetaAttempts = 1000;

}  // namespace

// Moves the recovery point to the present. False if a pin was wanted and the map is too small.
// Between the capture and the confirmation no lock is held that a mini-sync needs.
Result<bool> PowerGuard::checkpoint(bool wants_pin) {
  const std::lock_guard turn(checkpoint_mutex_);
  Result<UndoFileLock> file_turn =
      UndoFileLock::take(*store_, kCheckpointByte, UndoFile::Lock::exclusive);
  if (!file_turn) return file_turn.error();

  is_urgent_ = false;
  checkpointed_at_ms_ = clock_.now().time_since_epoch().count();
  const std::int64_t unsynced_since = unsynced_since_ms_.exchange(kNeverMs);
  Result<std::optional<UndoHeader>> header = capture(wants_pin);
  Status status = header ? Status(Done{}) : Status(header.error());
  if (status && *header) {
    status = sync_store();
    if (status) status = confirm(**header);
  }

  const std::lock_guard guard(mutex_);
  MDB_txn* const reader = std::exchange(next_pin_, nullptr);
  if (!status) {
    mdb_txn_abort(reader);
    std::int64_t expected = kNeverMs;
    unsynced_since_ms_.compare_exchange_strong(expected, unsynced_since);
    return status.error();
  }
  if (reader != nullptr) move_pin(reader);
  return !wants_pin || pin_ != nullptr;
}

// Decides on the next recovery point and tells all processes to save what it needs. Nothing if the
// present one is the last state that was committed. The next pin is a read transaction at that
// point or before, if one is wanted or there is a pin to be replaced.
Result<std::optional<UndoHeader>> PowerGuard::capture(bool wants_pin) {
  Result<LogLock> lock = lock_log();
  if (!lock) return lock.error();
  Result<State> state = read_state();
  if (!state) return state.error();
  UndoControl& control = state->control;

  // A checkpoint that was interrupted after it wrote its header, which may be on disk or not: it
  // is completed, since what has been saved leads back to that point and not to a later one.
  if (control.captured != control.confirmed) {
    Result<std::optional<UndoHeader>> written = log_->header(control.captured);
    if (!written) return written.error();
    if (*written) {
      Status status = write_confirmed(*state, **written);
      if (!status) return status.error();
    }
  }

  mdb_reader_check(env_, nullptr);
  if (wants_pin || pin_ != nullptr) {
    Result<MDB_txn*> begun = begin_read();
    if (!begun) return begun.error();
    next_pin_ = *begun;
  }
  Result<LmdbMeta> meta = read_meta();
  if (!meta) return meta.error();
  const std::uint64_t now = meta->transaction();
  const bool is_done = state->header.is_open && now == state->header.meta.transaction();
  if (is_done && control.captured == control.confirmed) return std::optional<UndoHeader>();

  UndoHeader header = state->header;
  header.generation = control.confirmed + 1;
  if (control.captured == control.confirmed) control.ends[header.generation & 1] = 0;
  header.is_open = true;
  header.start = control.ends[header.generation & 1];
  header.first_sequence = control.next_sequence;
  header.meta = *meta;
  Result<std::string> boot = boot_id_of(options_);
  if (!boot) return boot.error();
  header.boot_id = std::move(*boot);

  next_ = PowerGuardWindow(header.generation, header.start, meta->last_page());
  if (next_pin_ != nullptr && mdb_txn_id(next_pin_) == now) {
    pool_ = 0;
    counted_last_page_ = meta->last_page();
    Status status = for_each_free_list(next_pin_, 0, now, [this](const FreeList& list) {
      for (std::size_t i = 0; i < list.count(); ++i) next_.cover(list[i]);
      pool_ += list.count();
    });
    if (!status) return status.error();
  }
  control.captured = header.generation;
  control.captured_start = header.start;
  control.captured_last_page = meta->last_page();
  Status status = log_->write_control(control);
  if (!status) return status.error();
  return std::optional(std::move(header));
}

// After a failure nobody can know which pages are on disk, and the next sync would succeed without
// having written them. So the recovery point stays, for all processes, until the next boot.
Status PowerGuard::sync_store() {
  Status status = store_->sync();
  if (status) return status;
  Result<LogLock> lock = lock_log();
  if (!lock) return status;
  Result<State> state = read_state();
  if (!state) return status;
  state->control.has_failed = 1;
  Status marked = log_->write_control(state->control);
  return marked ? status : marked;
}

Status PowerGuard::confirm(const UndoHeader& header) {
  Result<LogLock> lock = lock_log();
  if (!lock) return lock.error();
  Result<State> state = read_state();
  if (!state) return state.error();
  return write_confirmed(*state, header);
}

Status PowerGuard::write_confirmed(State& state, const UndoHeader& header) {
  Status status = log_->write_header(header);
  if (status) status = log_->sync();
  if (!status) return status;
  UndoControl& control = state.control;
  control.confirmed = control.captured = header.generation;
  control.saved_upto = std::max(control.saved_upto, header.meta.transaction());
  state.header = header;
  if (next_.is(header.generation, header.start)) current_ = std::exchange(next_, {});
  return log_->write_control(control);
}

// REQUIRES: all is synced, and nobody else has the store open.
Status PowerGuard::mark_whole() {
  Result<bool> has_log = open_log();
  if (!has_log) return has_log.error();
  if (!*has_log) return Done{};
  Result<LogLock> lock = lock_log();
  if (!lock) return lock.error();
  Result<State> state = read_state();
  if (!state) return state.error();
  if (state->header.is_open) {
    UndoHeader header = state->header;
    ++header.generation;
    header.is_open = false;
    Status status = write_confirmed(*state, header);
    if (!status) return status;
  }
  log_.reset();
  return UndoLog::remove(undo_path_);
}

// One call of the sync thread. Returns when the next is due.
Time PowerGuard::run_once() {
  const Time now = clock_.now();
  const auto when = [this](const std::atomic<std::int64_t>& since_ms) {
    const Time since{Millis(since_ms.load())};
    return since == kNever ? kNever : deadline_after(since, options_.interval);
  };
  if (const Time deadline = when(unsynced_since_ms_); deadline != kNever) {
    if (!is_due(deadline, now) && !is_urgent_) return deadline;
    const bool is_synced = checkpoint(false).ok();
    is_failing_ = !is_synced;
    if (!is_synced) return deadline_after(now, std::max(options_.interval, kRetry));
    const Time next = when(unsynced_since_ms_);
    return next != kNever ? next : when(checkpointed_at_ms_);
  }
  if (!is_pinned_) return kNever;
  if (const Time deadline = when(checkpointed_at_ms_); !is_due(deadline, now)) return deadline;
  drop_pin_if_idle();
  return is_pinned_ ? deadline_after(now, std::max(options_.interval, kRetry)) : kNever;
}

Status PowerGuard::open_store() {
  const std::lock_guard guard(mutex_);
  if (store_) return Done{};
  Result<std::optional<UndoFile>> file = UndoFile::open(store_path_);
  if (!file) return file.error();
  if (!*file) return system_error(ENOENT, "open", store_path_);
  store_ = std::move(*file);
  return Done{};
}

// False if there is no undo log yet.
Result<bool> PowerGuard::open_log() {
  const std::lock_guard guard(mutex_);
  if (log_) return true;
  Result<std::optional<UndoLog>> log = UndoLog::open(undo_path_);
  if (!log) return log.error();
  log_ = std::move(*log);
  return log_.has_value();
}

// Whether a power cut would be undone, be it to a point that is not confirmed yet.
Result<bool> PowerGuard::is_period_open() {
  Result<bool> has_log = open_log();
  if (!has_log || !*has_log) return has_log;
  Result<UndoHeader> newest = log_->newest();
  if (!newest) return newest.error();
  return newest->is_open;
}

Result<PowerGuard::LogLock> PowerGuard::lock_log() {
  std::unique_lock mutex(mutex_);
  Result<UndoFileLock> file = UndoFileLock::take(*store_, kLogByte, UndoFile::Lock::exclusive);
  if (!file) return file.error();
  return LogLock{std::move(mutex), std::move(*file)};
}

Result<PowerGuard::State> PowerGuard::read_state() const {
  Result<UndoControl> control = log_->control();
  if (!control) return control.error();
  if (control->has_failed != 0) {
    return Error{Code::io, store_path_ +
                               ": an earlier sync failed, so later writes may be lost "
                               "when the machine stops"};
  }
  Result<std::optional<UndoHeader>> header = log_->header(control->confirmed);
  if (!header) return header.error();
  if (!*header) return Error{Code::corrupt, undo_path_ + ": its header was damaged while in use"};
  return State{*control, std::move(**header)};
}

// The newest meta page. A commit may be under way: transaction t+2 overwrites that of t, so it is
// whole if t+1 has not been committed after it was read.
Result<LmdbMeta> PowerGuard::read_meta() const {
  MDB_stat stat{};
  if (const int code = mdb_env_stat(env_, &stat); code != MDB_SUCCESS) {
    return lmdb_error(code, "look at the store");
  }
  for (int attempt = 0; attempt < kMetaAttempts; ++attempt) {
    LmdbMeta metas[2];
    const auto read = [&](std::uint64_t slot) {
      return store_->read_at(slot * stat.ms_psize, metas[slot].bytes);
    };
    Result<std::size_t> count = read(0);
    if (count) count = read(1);
    if (!count) return count.error();
    const std::uint64_t newer = metas[1].transaction() > metas[0].transaction() ? 1 : 0;
    const std::uint64_t transaction = metas[newer].transaction();
    count = read(newer);
    if (count) count = read(1 - newer);
    if (!count) return count.error();
    const LmdbMeta& meta = metas[newer];
    if (meta.transaction() != transaction || metas[1 - newer].transaction() > transaction) continue;
    if (meta.is_valid() && meta.page_size() == stat.ms_psize) return meta;
    return Error{Code::corrupt, store_path_ + ": its meta page is not one of LMDB 0.9"};
  }
  return Error{Code::busy, store_path_ + ": the file changes too fast to be read (try again)"};
}

// Null if another process has grown the map beyond ours.
Result<MDB_txn*> PowerGuard::begin_read() const {
  MDB_txn* reader = nullptr;
  const int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader);
  if (code == MDB_MAP_RESIZED) return static_cast<MDB_txn*>(nullptr);
  if (code != MDB_SUCCESS) return lmdb_error(code, "begin a read transaction");
  return reader;
}

// A mini-sync during a checkpoint goes beyond what that has captured. If its reader lived on, the
// file would grow by all that is written until the store is synced. REQUIRES: mutex_ is held.
void PowerGuard::move_pin(MDB_txn* reader) {
  if (MDB_txn* const old = std::exchange(pin_, reader); old != nullptr) mdb_txn_abort(old);
  if (MDB_txn* const old = std::exchange(next_pin_, nullptr); old != nullptr) mdb_txn_abort(old);
  is_pinned_ = true;

  // What was free at the last count, and what the file has grown by since, is there to be reused:
  // each commit frees about as many pages as it takes. The next mini-sync is due shortly before
  // they run out; or, if they are few or it is not known how fast they go, when the file grows.
  const MDB_envinfo info = look();
  MDB_stat stat{};
  mdb_env_stat(env_, &stat);
  if (counted_last_page_ != 0) pool_ += info.me_last_pgno - counted_last_page_;
  counted_last_page_ = info.me_last_pgno;
  const std::uint64_t growth = std::max<std::uint64_t>(options_.growth_bytes / stat.ms_psize, 8);
  const bool is_filled = pool_ >= growth;
  page_limit_ = info.me_last_pgno + std::max(growth / 8, is_filled ? 0 : growth - pool_);
  const bool is_known = is_filled && pages_per_commit_ > 0;
  const double commits = is_known ? 0.875 * static_cast<double>(pool_) / pages_per_commit_ : 1e15;
  commit_limit_ =
      mdb_txn_id(reader) + std::max<std::uint64_t>(static_cast<std::uint64_t>(commits), 1);
}

void PowerGuard::drop_pin() {
  const std::lock_guard guard(mutex_);
  is_pinned_ = false;
  if (MDB_txn* const old = std::exchange(pin_, nullptr); old != nullptr) mdb_txn_abort(old);
}

void PowerGuard::drop_pin_if_idle() {
  const std::lock_guard guard(mutex_);
  is_pinned_ = false;
  if (is_writing_) {
    is_pinned_ = pin_ != nullptr;
  } else if (MDB_txn* const old = std::exchange(pin_, nullptr); old != nullptr) {
    mdb_txn_abort(old);
  }
}

MDB_envinfo PowerGuard::look() const {
  MDB_envinfo info{};
  mdb_env_info(env_, &info);
  return info;
}

}  // namespace mayfly::internal
