// SPDX-License-Identifier: Apache-2.0
// How the log gets into LMDB: cuts, checkpoints, commits that go there directly, and the thread
// that does the work in the background.

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/environment.h"
#include "store/log/redo_log.h"
#include "store/rows/tree_writer.h"
#include "store/table/window_cursor.h"

namespace mayfly::internal {
namespace {

constexpr Millis kTryAgain{100};

// Who does not wait for other transactions waits a moment for a checkpoint.
Millis wait_of(Millis patience) {
  return patience > Millis::zero() ? patience : Session::kLeastWait;
}

// Whether LMDB has an entry of a key that the tables say is absent: the oldest version tells of it.
bool is_in_tree(const Window& window, const Version& newest) {
  const Version* oldest = &newest;
  if (window.tables() != nullptr) {
    for (const TableEntry& entry : window.tables()->tables) {
      const Version* const found = entry.table->find(newest.family, newest.key(), window.tail());
      if (found == nullptr || found->position < window.applied()) continue;
      oldest = found;
      break;
    }
  }
  const auto counts = [&](const Version* version) {
    return version != nullptr && (window.own() != nullptr || version->position >= window.applied());
  };
  while (counts(oldest->older)) oldest = oldest->older;
  return oldest->was_there;
}

Status write_family(TreeTxn& tree, Family family, WindowKeys& keys, const Window& window,
                    WriteCounts& counts) {
  TreeWriter writer(tree, family);
  Status status = Done{};
  for (bool on = keys.first(); on && status; on = keys.next()) {
    const InTables& what = keys.what();
    const bool is_unsaid = !rule_on(Rule::cut) && is_due(what.deadline, SystemClock().now());
    if (what.state == InTables::State::absent || is_unsaid) {
      if (is_in_tree(window, *what.newest)) {
        status = writer.erase(keys.key());
      } else if (what.newest->kind != OperationKind::erase) {
        ++counts.unwritten;
      }
      continue;
    }
    ++counts.entries;
    status = what.value != nullptr ? writer.put(keys.key(), what.value->value(), what.deadline)
                                   : writer.set_deadline(keys.key(), what.deadline);
  }
  if (status) status = writer.finish();
  counts.damaged += writer.damaged();
  return status;
}

}  // namespace

Status write_to_tree(TreeTxn& tree, const Window& window, WriteCounts& counts) {
  for (const Family family : tree.catalog().families()) {
    WindowKeys keys(window, Catalog::id_of(family));
    if (keys.empty()) continue;
    if (Status done = write_family(tree, family, keys, window, counts); !done) return done;
  }
  return Done{};
}

// Of a checkpoint that died, LMDB may show more than is durable. An empty transaction of LMDB syncs
// nothing, so that is made durable first.
Status RedoLog::trust_tree(const TreeState& state) {
  if (state.applied.position <= words().durable.load()) return Done{};
  if (rule_on(Rule::ckpt_resync)) {
    if (Status synced = environment_.sync_tree(); !synced) return synced;
  }
  words().durable = state.applied.position;
  return Done{};
}

// A transaction that erases needs no room behind it.
Status RedoLog::leave_room(const TreeTxn& tree) const {
  const std::int64_t growth = tree.growth();
  if (environment_.leaves_disk(growth) || growth <= 0) return Done{};
  return system_error(ENOSPC, "commit");
}

Status RedoLog::apply_to_tree(const Window& window, const TreeState& state) {
  auto tree = TreeTxn::begin(environment_);
  if (!tree) return tree.error();
  WriteCounts written;
  if (Status done = write_to_tree(**tree, window, written); !done) return done;
  test_step("applied");
  (*tree)->set_state(state);
  if (Status fits = leave_room(**tree); !fits) return fits;
  const std::uint64_t before = environment_.info().me_last_pgno;
  const std::uint64_t id = ::mdb_txn_id((*tree)->lmdb());
  if (Status committed = (*tree)->commit(); !committed) return committed;
  words().durable = std::max(words().durable.load(), state.applied.position);
  counts_.checkpoints.fetch_add(1, std::memory_order_relaxed);
  counts_.add(written);
  counts_.tree_bytes.fetch_add(environment_.written_bytes(id, before), std::memory_order_relaxed);
  return Done{};
}

// Transactions between what LMDB has and the tail, and those of them before `end`.
Checkpointed RedoLog::count_pending(const TreeState& state, Position end, Position tail) const {
  Checkpointed counts;
  const Ref<LogFile> log_file = file();
  if (log_file == nullptr || log_file->id() != state.log) return counts;
  LogReader reader(*log_file, state.applied);
  while (reader.place().position < tail) {
    const auto record = reader.next();
    if (!record) break;
    if (record->type != RecordType::transaction) continue;
    ++counts.pending;
    if (record->end() <= end) ++counts.applied;
  }
  return counts;
}

// Up to the last cut that everybody can see.
Status RedoLog::apply_cut(Checkpointed* counts) {
  auto snapshot = environment_.begin_internal_read();
  if (!snapshot) return snapshot.error();
  TreeState state = (*snapshot)->state;
  Window window = (*snapshot)->window;
  snapshot->reset();
  if (Status trusted = trust_tree(state); !trusted || window.empty()) return trusted;
  if (counts != nullptr) *counts = count_pending(state, state.applied.position, window.tail());
  const auto& tables = window.tables()->tables;
  const auto last = std::find_if(tables.rbegin(), tables.rend(), [&](const TableEntry& entry) {
    return entry.cut && entry.cut->position < window.tail();
  });
  if (last == tables.rend() || last->cut->end.position <= state.applied.position) return Done{};
  if (counts != nullptr) *counts = count_pending(state, last->cut->end.position, window.tail());
  window.move_to(state.applied.position, last->cut->end.position);
  state.applied = last->cut->end;
  return apply_to_tree(window, state);
}

// REQUIRES: the write lock, too: no cut may be made meanwhile. Nothing is left out but what cuts
// before the tail have dropped.
Status RedoLog::apply_all(bool names_log, Checkpointed* counts) {
  auto snapshot = environment_.begin_internal_read();
  if (!snapshot) return snapshot.error();
  TreeState state = (*snapshot)->state;
  const Window window = (*snapshot)->window;
  snapshot->reset();
  if (Status trusted = trust_tree(state); !trusted) return trusted;
  const LogPlace end = tail();
  if (counts != nullptr) *counts = count_pending(state, end.position, end.position);
  if (names_log && state.applied == end) return Done{};
  state.applied = end;
  if (!names_log) state.log = UniqueId();
  Ref<const TableSet> ready = new_tables(end.position);
  if (Status applied = apply_to_tree(window, state); !applied) return applied;
  const std::scoped_lock lock(follow_mutex_);
  reset_tables(end, std::move(ready));
  if (!names_log) words().log = 0;
  return Done{};
}

// A writer has filled both segments.
Status RedoLog::wait_for_segment(Position needed, Millis patience) {
  const std::int64_t start = monotonic_ns();
  auto turn = CheckpointTurn::take(*this, patience);
  if (!turn) return turn.error();
  Status applied = Done{};
  if (words().durable.load() < needed) applied = apply_all(true);
  turn->end();
  counts_.stalls.fetch_add(1, std::memory_order_relaxed);
  counts_.stalled_ns.fetch_add(static_cast<std::uint64_t>(monotonic_ns() - start),
                               std::memory_order_relaxed);
  return applied;
}

// A cut erases what is due at its moment and has its newest version behind the last cut, or behind
// what LMDB has. False: there is nothing to cut.
Result<bool> RedoLog::append_cut(const TreeState& state, Time moment) {
  Position since = state.applied.position;
  {
    const std::scoped_lock lock(set_mutex_);
    const TableEntry& active = set_->tables.back();
    if (active.table->empty() || followed_.load() <= since) return false;
    since = std::max(since, active.begin);
  }
  if (!rule_on(Rule::own_now)) moment = SystemClock().now();
  if (!rule_on(Rule::cut)) moment = Time::min();
  writer_.begin(RecordType::cut, moment);
  writer_.add_position(since);
  if (const Status room = make_room(writer_.bytes(), std::nullopt); !room) return room.error();
  if (const Status appended = append(); !appended) return appended.error();
  return true;
}

Status RedoLog::cut(Time moment, Millis patience) {
  const Working working(*this);
  auto turn = environment_.begin_write(patience, true);
  if (!turn) return turn.error();
  if (turn->snapshot->state.log.is_none()) return Done{};
  const auto made = append_cut(turn->snapshot->state, moment);
  return made ? Status(Done{}) : Status(made.error());
}

// Where there is no room for a cut, everything is applied under the write lock. A passive
// checkpoint does without the locks that it does not get.
Status RedoLog::apply_pending(Time now, bool is_passive, Millis patience, Checkpointed& counts) {
  const auto must_stop = [&](const Status& status) {
    return !status && !(is_passive && status.error().code == Code::busy);
  };
  Status ready = rule_on(Rule::locked) ? cut(now, patience) : Status(Done{});
  std::optional<Working> working;
  std::optional<WriteTurn> writing;
  if (!ready && ready.error().code == Code::full) {
    working.emplace(*this);
    auto turn = environment_.begin_write(patience, true);
    ready = turn ? Status(Done{}) : turn.error();
    if (turn) writing.emplace(std::move(*turn));
    if (writing) environment_.drop_snapshot(*writing->snapshot);
  }
  if (must_stop(ready)) return ready;
  test_step("checkpoint");
  const auto turn = CheckpointTurn::take(*this, is_passive ? Millis::zero() : wait_of(patience));
  if (!turn) return is_passive && turn.error().code == Code::busy ? Status(Done{}) : turn.error();
  const bool is_cut = !writing && rule_on(Rule::locked);
  return is_cut ? apply_cut(&counts) : apply_all(true, &counts);
}

bool RedoLog::fits_tree(std::uint64_t bytes) const {
  return environment_.takes_all(bytes + pending_bytes());
}

// Pages that a transaction has freed can be taken by the next but one, so an empty one may help.
Result<bool> RedoLog::make_tree_room(std::uint64_t bytes, Millis patience) {
  (void)environment_.adopt_larger_map();
  if (fits_tree(bytes)) return true;
  const auto turn = CheckpointTurn::take(*this, patience);
  if (!turn) return turn.error();
  Status done = words().log.load() == 0 ? Status(Done{}) : apply_all(true);
  if (done && !fits_tree(bytes) && environment_.last_freed_much()) {
    auto tree = TreeTxn::begin(environment_);
    done = tree ? (*tree)->commit() : Status(tree.error());
  }
  if (!done) return done.error();
  return fits_tree(bytes);
}

Result<Checkpointed> RedoLog::checkpoint(Time now, CheckpointMode mode, Millis patience) {
  Checkpointed counts;
  const Status done = mode == CheckpointMode::truncate
                          ? close(now, patience, &counts)
                          : apply_pending(now, mode == CheckpointMode::passive, patience, counts);
  if (!done) return done.error();
  return counts;
}

// --- Direct commits

Result<std::unique_ptr<TreeTxn>> RedoLog::begin_direct(const TreeState& state, Millis patience) {
  auto turn = CheckpointTurn::take(*this, patience);
  if (!turn) return turn.error();
  if (!state.log.is_none()) {
    if (const Status applied = apply_all(true); !applied) return applied.error();
    const Status room = make_room(kRecordHeaderBytes, std::nullopt);
    if (!room) return room.error();
  }
  auto tree = TreeTxn::begin(environment_);
  if (tree) turn->keep();
  return tree;
}

// LMDB is told of the place behind a barrier record, which is written when LMDB is durable. If that
// fails, whoever writes next makes up for it.
Status RedoLog::commit_direct(TreeTxn& tree) {
  if (!environment_.leaves_reserve(tree.growth())) return write_error(MDB_MAP_FULL);
  if (Status fits = leave_room(tree); !fits) return fits;
  TreeState state = tree.state();
  if (state.log.is_none()) {
    Status committed = tree.commit();
    if (committed) words().commits = 1;
    return committed;
  }
  const LogPlace end = tail();
  writer_.begin(RecordType::barrier, Time{});
  state.applied.position = end.position + writer_.finish(end.position, end.chain).size();
  state.applied.chain = writer_.chain();
  tree.set_state(state);
  Ref<const TableSet> ready = new_tables(state.applied.position);
  // If one of the two fails, whoever writes next looks what LMDB has.
  Busy busy(words());
  Status committed = tree.commit();
  if (!committed) return committed;
  if (append_barrier(state.applied, std::move(ready))) busy.done();
  words().commits = 1;
  return committed;
}

// --- The thread

// While it is being stopped, its work waits for allow_thread().
bool RedoLog::wake_thread() noexcept {
  const std::scoped_lock lock(thread_mutex_);
  if (is_stopping_) return true;
  if (thread_ != nullptr) {
    thread_->wake();
    return true;
  }
  try {
    thread_ = std::make_unique<BackgroundThread>(thread_clock_, [this] { return work(); });
  } catch (const std::exception&) {  // no memory, or too many threads
    return false;
  }
  return true;
}

void RedoLog::stop_thread() {
  std::unique_ptr<BackgroundThread> ended;
  {
    const std::scoped_lock lock(thread_mutex_);
    is_stopping_ = true;
    ended = std::move(thread_);
  }
  ended.reset();  // waits for it
  wanted_ = kNotWanted;
  sync_at_ = kNever;
  if (!unsynced_.exchange(false)) return;
  try {
    (void)sync_log(words().tail.load());
  } catch (const std::bad_alloc&) {  // the reply would have been dropped as well
  }
}

void RedoLog::allow_thread() {
  {
    const std::scoped_lock lock(thread_mutex_);
    is_stopping_ = false;
  }
  if (unsynced_.load() || wanted_.load() != kNotWanted) (void)wake_thread();
}

// The thread itself is about to make one.
void RedoLog::request_checkpoint(Time moment) {
  if (worker_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  if (wanted_.exchange(moment.time_since_epoch().count()) != kNotWanted) return;
  if (!wake_thread()) wanted_ = kNotWanted;  // the next writer without room makes one
}

// Syncs the log some time after the first commit that nobody has synced, and makes checkpoints.
// What fails is tried again with the next commit, or by whoever needs the room.
Time RedoLog::work() noexcept {
  test_step("thread");
  const std::int64_t wanted = wanted_.exchange(kNotWanted);
  try {
    return work_once(wanted);
  } catch (const std::bad_alloc&) {
    wanted_ = wanted;
    return thread_clock_.now() + kTryAgain;
  }
}

Time RedoLog::work_once(std::int64_t wanted) {
  if (wanted != kNotWanted) {
    const Time moment{Millis(wanted)};
    worker_ = std::this_thread::get_id();
    (void)purge_tree(moment);
    // Erasing took a while: what fell due until the last commit need not be written either.
    const std::int64_t last = last_moment_.load(std::memory_order_relaxed);
    Status done = cut(last == kNotWanted ? moment : Time(Millis(last)), Session::kLeastWait);
    if (done) {
      const auto turn = CheckpointTurn::take(*this, Session::kLeastWait);
      done = turn ? apply_cut() : Status(turn.error());
    }
    if (!done && done.error().code == Code::busy) {
      wanted_ = wanted;
      return thread_clock_.now() + kTryAgain;
    }
  }
  const Time now = thread_clock_.now();
  if (!unsynced_.load()) return kNever;
  if (sync_at_ == kNever) sync_at_ = now + options_.sync_interval;
  if (now < sync_at_) return sync_at_;
  sync_at_ = kNever;
  unsynced_ = false;
  (void)sync_log(followed_.load());
  return kNever;
}

}  // namespace mayfly::internal
