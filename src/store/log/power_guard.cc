// SPDX-License-Identifier: Apache-2.0
#include "store/log/power_guard.h"

#include <algorithm>
#include <utility>

#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

std::int64_t ms_of(Time time) { return time.time_since_epoch().count(); }

}  // namespace

PowerGuard::PowerGuard(MDB_env* env, std::string store_path, const Clock& clock,
                       PowerGuardOptions options)
    : env_(env),
      store_path_(std::move(store_path)),
      undo_path_(undo_path_of(store_path_)),
      clock_(clock),
      options_(std::move(options)),
      unsynced_since_ms_(kNeverMs),
      checkpointed_at_ms_(ms_of(clock.now())) {}

PowerGuard::~PowerGuard() {
  sync_thread_.reset();
  drop_pin();
}

bool PowerGuard::must_act() const {
  if (!is_pinned_.load() || is_failing_.load(std::memory_order_relaxed)) return true;
  const MDB_envinfo info = look();
  return info.me_last_pgno >= page_limit_.load(std::memory_order_relaxed) ||
         info.me_last_txnid >= commit_limit_.load(std::memory_order_relaxed);
}

Status PowerGuard::before_write() {
  is_writing_.store(true);
  if (!must_act()) return Done{};
  Status status = prepare_write();
  if (!status) is_writing_.store(false);
  return status;
}

void PowerGuard::after_commit() {
  if (unsynced_since_ms_.load(std::memory_order_relaxed) == kNeverMs) {
    unsynced_since_ms_.store(ms_of(clock_.now()));
    sync_thread_->wake();
  }
  is_writing_.store(false, std::memory_order_release);
}

void PowerGuard::after_abort() {
  if (std::exchange(holds_period_lock_, false)) store_->unlock(kPeriodByte);
  is_writing_.store(false, std::memory_order_release);
}

Status PowerGuard::before_full_write() {
  is_writing_.store(true);
  if (!is_pinned_.load()) {
    Status status = open_store();
    if (status) status = store_->lock(kPeriodByte, UndoFile::Lock::shared);
    Result<bool> is_open = status ? is_period_open() : Result<bool>(status.error());
    if (is_open && !*is_open) {
      holds_period_lock_ = true;
      return Done{};
    }
    if (status) store_->unlock(kPeriodByte);
    if (!is_open) {
      is_writing_.store(false);
      return is_open.error();
    }
  }
  is_writing_.store(false);
  return before_write();
}

Status PowerGuard::after_full_commit() {
  if (holds_period_lock_) {
    after_abort();
    return Done{};
  }
  Result<bool> done = checkpoint(true);
  after_abort();
  if (!done) return done.error();
  return Done{};
}

Status PowerGuard::sync() {
  Status status = open_store();
  if (!status) return status;
  Result<bool> is_open = is_period_open();
  if (!is_open) return is_open.error();
  if (!*is_open) return store_->sync();
  Result<bool> done = checkpoint(false);
  if (!done) return done.error();
  is_failing_ = false;
  return Done{};
}

Status PowerGuard::close(bool is_sole_opener) {
  sync_thread_.reset();
  Status status = sync();
  drop_pin();
  if (status && is_sole_opener) status = mark_whole();
  return status;
}

void PowerGuard::close_in_child() {
  if (store_) store_->close_in_child();
}

// The slow path of a writer: something has to be done before it may write.
Status PowerGuard::prepare_write() {
  for (bool is_pinned = false; !is_pinned;) {
    Result<bool> pinned = is_failing_ ? checkpoint(true) : take_pin();
    if (!pinned) return pinned.error();
    is_pinned = *pinned;
    if (!is_pinned) {
      if (!options_.adopt_map)
        return Error{Code::busy, "cannot write: another process has grown the store"};
      Status adopted = options_.adopt_map();
      if (!adopted) return adopted;
    }
  }
  is_failing_ = false;
  if (!sync_thread_)
    sync_thread_ = std::make_unique<BackgroundThread>(clock_, [this] { return run_once(); });
  return Done{};
}

// False if the map must be grown first.
Result<bool> PowerGuard::take_pin() {
  Status status = open_store();
  if (!status) return status.error();
  bool is_open = false;
  std::uint64_t log_bytes = 0;
  if (Result<bool> has_log = open_log(); !has_log) {
    return has_log.error();
  } else if (*has_log) {
    Result<LogLock> lock = lock_log();
    if (!lock) return lock.error();
    Result<State> state = read_state();
    if (!state) return state.error();
    is_open = state->header.is_open;
    log_bytes = state->control.ends[state->control.captured & 1];
  }
  if (!is_open) return open_period();
  if (log_bytes > 2 * options_.undo_bytes) return checkpoint(true);
  if (log_bytes > options_.undo_bytes && sync_thread_ && !is_urgent_.exchange(true))
    sync_thread_->wake();
  return mini_sync();
}

Result<bool> PowerGuard::open_period() {
  Result<UndoFileLock> lock = UndoFileLock::take(*store_, kPeriodByte, UndoFile::Lock::exclusive);
  if (!lock) return lock.error();
  Result<bool> has_log = open_log();
  if (!has_log) return has_log.error();
  if (!*has_log) {
    Result<std::string> boot = boot_id_of(options_);
    if (!boot) return boot.error();
    Result<UndoLog> log = UndoLog::create(undo_path_, *boot);
    if (!log) return log.error();
    const std::lock_guard guard(mutex_);
    if (!log_) log_ = std::move(*log);  // sync() may have found it already
  }
  return checkpoint(true);
}

Result<bool> PowerGuard::mini_sync() {
  Result<LogLock> lock = lock_log();
  if (!lock) return lock.error();
  Result<State> state = read_state();
  if (!state) return state.error();
  mdb_reader_check(env_, nullptr);
  Result<MDB_txn*> reader = begin_read();
  if (!reader) return reader.error();
  if (*reader == nullptr) return pin_ != nullptr;
  const std::uint64_t now = mdb_txn_id(*reader);
  if (now > state->control.saved_upto) {
    Status saved = save_freed(*state, *reader, now);
    if (!saved) {
      mdb_txn_abort(*reader);
      return saved.error();
    }
  }
  move_pin(*reader);
  return true;
}

// Saves what the transactions after saved_upto freed, as far as a recovery point needs it.
Status PowerGuard::save_freed(State& state, MDB_txn* reader, std::uint64_t upto) {
  UndoControl& control = state.control;
  const UndoHeader& header = state.header;
  if (next_.is(header.generation, header.start)) current_ = std::exchange(next_, {});  // by others
  if (!current_.is(header.generation, header.start)) {
    current_ = PowerGuardWindow(header.generation, header.start, header.meta.last_page());
  }
  if (control.captured == control.confirmed) {
    next_ = {};
  } else if (!next_.is(control.captured, control.captured_start)) {
    next_ = PowerGuardWindow(control.captured, control.captured_start, control.captured_last_page);
  }

  std::vector<std::uint64_t> pages;
  std::uint64_t listed = 0;
  Status status =
      for_each_free_list(reader, control.saved_upto + 1, upto, [&](const FreeList& list) {
        listed += list.count();
        for (std::size_t i = 0; i < list.count(); ++i) {
          if (current_.needs(list[i]) || next_.needs(list[i])) pages.push_back(list[i]);
        }
      });
  if (!status) return status;
  pages_per_commit_ = static_cast<double>(listed) / static_cast<double>(upto - control.saved_upto);
  std::ranges::sort(pages);
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  if (!pages.empty()) {
    status = log_->append(control, header.salt, pages, *store_, header.meta.page_size());
    if (status) status = log_->sync();
    if (!status) return status;
  }

  control.saved_upto = upto;
  status = log_->write_control(control);
  if (!status) return status;
  for (const std::uint64_t page : pages) {
    current_.cover(page);
    next_.cover(page);
  }
  return Done{};
}

}  // namespace mayfly::internal
