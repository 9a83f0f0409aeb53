// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of a log: recovery, what a dead writer left, a new log, the last
// checkpoint.

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "store/lmdb/environment.h"
#include "store/log/redo_log.h"

namespace mayfly::internal {

// The same for kill and power cut: no flag tells which it was.
Status RedoLog::recover(const TreeState& state, bool may_write) {
  if (may_write && rule_on(Rule::open_sync)) {
    if (Status synced = environment_.sync_tree(); !synced) return synced;
  }
  words().tail = words().durable = words().synced = state.applied.position;
  words().chain = state.applied.chain;
  if (state.log.is_none()) {
    if (may_write) ::unlink(path_.c_str());  // of another life: never replayed
    return Done{};
  }
  if (Status opened = open_file(state); !opened) return opened;
  reset_tables(state.applied);
  const Ref<LogFile> log_file = file();
  if (may_write) log_file->take_access_of(environment_.descriptor());
  LogReader reader(*log_file, state.applied);
  while (const auto record = reader.next()) {
    if (!apply(*record)) return damaged_log();
  }
  followed_ = followed_place_.position;
  words().tail = followed_place_.position;
  words().chain = followed_place_.chain;
  words().log = state.log.word();
  if (!may_write) {
    words().busy = SharedWords::kNoLife;
    words().durable = words().synced = 0;
    return Done{};
  }
  if (Status found = find_segment(reader, state.applied); !found) return found;
  return append_life();
}

// The segment in which the log goes on. None if LMDB is ahead of every record: its commit was
// durable, and the header of the segment was not (that of the next may be). Then one begins there.
Status RedoLog::find_segment(const LogReader& reader, const LogPlace& applied) {
  const auto segment = reader.segment();
  words().segment = static_cast<std::uint32_t>(segment.value_or(0));
  if (segment) return Done{};
  if (!file()->segment(0) && !file()->segment(1)) return damaged_log();
  return file()->begin_segment(0, applied);
}

// A record that a recovery has dropped must not come back after the next power cut: the life record
// changes the chain, and is synced before anybody writes.
Status RedoLog::append_life() {
  if (!rule_on(Rule::life)) return Done{};
  const Millis patience = std::max(options_.busy_timeout, Session::kLeastWait);
  if (Status room = make_room(kRecordHeaderBytes + sizeof(UniqueId), patience); !room) {
    return room;
  }
  writer_.begin(RecordType::life, Time{});
  writer_.add_bytes(UniqueId::random().view());
  if (Status appended = append(); !appended) return appended;
  const Status synced = rule_on(Rule::life_sync) ? file()->sync() : Status(Done{});
  if (synced) words().synced = words().tail.load();
  if (!synced) words().failed = 1;
  return synced;
}

bool RedoLog::is_settled(const TreeState& state) const {
  if (!rule_on(Rule::settle)) return true;
  return words().busy.load(std::memory_order_acquire) == SharedWords::kIdle &&
         words().failed.load(std::memory_order_relaxed) == 0 &&
         state.applied.position <= words().tail.load(std::memory_order_relaxed) &&
         !state.store.is_none() &&
         (state.log.is_none() || words().log.load(std::memory_order_relaxed) == state.log.word());
}

void RedoLog::mark_unsettled() {
  if (words().busy.load() == SharedWords::kIdle) words().busy = SharedWords::kWriting;
}

Status RedoLog::settle(Millis patience) {
  const auto turn = CheckpointTurn::take(*this, patience);
  if (!turn) return turn.error();
  Status settled = environment_.sync_tree();
  if (settled) {
    auto snapshot = environment_.begin_internal_read();
    settled = snapshot ? Status(Done{}) : Status(snapshot.error());
    const TreeState state = snapshot ? (*snapshot)->state : TreeState();
    if (snapshot) snapshot->reset();
    if (settled) settled = state.store.is_none() ? environment_.upgrade() : settle_log(state);
  }
  if (settled && words().failed.load() != 0) settled = heal();
  if (settled) words().busy = SharedWords::kIdle;
  return settled;
}

Status RedoLog::settle_log(const TreeState& state) {
  const std::uint32_t busy = words().busy.load();
  if (busy == SharedWords::kNoLife || state.applied.position > words().durable.load()) {
    words().durable = state.applied.position;
  }
  if (state.log.is_none()) {
    words().tail = state.applied.position;
    words().chain = state.applied.chain;
    return Done{};
  }
  if (Status opened = open_if_needed(state); !opened) return opened;
  if (words().log.load() != state.log.word()) {  // made and named, but not put in force
    put_in_force(state);
    return Done{};
  }
  if (state.applied.position > words().tail.load()) {
    return append_barrier(state.applied, new_tables(state.applied.position));
  }
  if (Status adopted = adopt_records(state); !adopted || busy != SharedWords::kNoLife) {
    return adopted;
  }
  auto snapshot = environment_.begin_internal_read();  // the tables follow
  if (!snapshot) return snapshot.error();
  snapshot->reset();
  return append_life();
}

// Every whole record is a commit, as in a recovery. One may have died between two words, so neither
// is believed.
Status RedoLog::adopt_records(const TreeState& state) {
  const Ref<LogFile> log_file = file();
  LogReader reader(*log_file, state.applied);
  while (const auto record = reader.next()) {
    if (record->type == RecordType::barrier) return damaged_log();
  }
  if (reader.place().position < words().tail.load()) return damaged_log();
  if (Status found = find_segment(reader, state.applied); !found) return found;
  words().chain = reader.place().chain;
  words().tail = reader.place().position;
  return Done{};
}

// A direct commit is in LMDB; its place in the log is made. If the chain is the later one already,
// the record was written by one that died.
Status RedoLog::append_barrier(const LogPlace& behind, Ref<const TableSet> ready) {
  const LogPlace end = tail();
  if (end.chain != behind.chain) {
    writer_.begin(RecordType::barrier, Time{});
    const std::string_view record = writer_.finish(end.position, end.chain);
    if (writer_.chain() != behind.chain || end.position + record.size() != behind.position) {
      return damaged_log();
    }
    const int segment = static_cast<int>(words().segment.load());
    if (Status written = file()->append(segment, end.position, record); !written) return written;
  }
  {
    const std::scoped_lock lock(follow_mutex_);
    reset_tables(behind, std::move(ready));
  }
  words().chain = behind.chain;
  words().tail = behind.position;
  words().durable = behind.position;
  return Done{};
}

void RedoLog::put_in_force(const TreeState& state) {
  words().chain = state.applied.chain;
  words().segment = 0;
  words().durable = words().synced = state.applied.position;
  words().tail = state.applied.position;
  words().log = state.log.word();
}

// LMDB names the log after it is whole and has its name, so a log that LMDB names was there.
Status RedoLog::make_log(Millis patience) {
  const auto turn = CheckpointTurn::take(*this, patience);
  return turn ? name_log() : Status(turn.error());
}

Status RedoLog::name_log() {
  auto tree = TreeTxn::begin(environment_);
  if (!tree) return tree.error();
  TreeState state = (*tree)->state();
  state.log = UniqueId::random();
  state.applied.chain = first_chain(state.log);
  if (!rule_on(Rule::lmdb_first)) {
    (*tree)->set_state(state);
    if (Status committed = (*tree)->commit(); !committed) return committed;
    tree = TreeTxn::begin(environment_);
  }
  const std::uint64_t segment_bytes = LogFile::allowed_segment_bytes(options_.log_segment_bytes);
  if (segment_bytes == 0) {
    return Error{Code::full, "cannot make the log " + path_ +
                                 ": the limit on the size of files is too low (raise RLIMIT_FSIZE, "
                                 "which 'ulimit -f' shows)"};
  }
  if (Status there = environment_.check_files(true); !there) return there;
  auto file = LogFile::make_new(path_, {.store = state.store,
                                        .log = state.log,
                                        .segment_bytes = segment_bytes,
                                        .first = state.applied.position,
                                        .like = environment_.descriptor()});
  if (!file) return file.error();
  Status named = environment_.check_files(true);  // that took a moment
  if (named) named = (*file)->take_name();
  if (!named) return named;
  if (rule_on(Rule::dir_sync)) {
    if (Status synced = sync_directory_of(path_); !synced) return synced;
  }
  Ref<const TableSet> ready = new_tables(state.applied.position);
  Busy busy(words());
  (*tree)->set_state(state);
  // If it fails, LMDB may name the log all the same: whoever writes next looks.
  if (Status committed = (*tree)->commit(); !committed) return committed;
  {
    const std::scoped_lock lock(follow_mutex_);
    use(std::move(*file));
    reset_tables(state.applied, std::move(ready));
  }
  put_in_force(state);
  busy.done();
  return Done{};
}

// After a sync that failed, nothing in the log is believed to be on disk. All of it goes into LMDB,
// and the next commit makes a new log.
Status RedoLog::heal() {
  if (Status applied = apply_all(false); !applied) return applied;
  if (Status removed = remove_file(); !removed) return removed;
  words().failed = 0;
  return Done{};
}

// LMDB has all of the log. If the files have lost their names, another store may have them now.
Status RedoLog::remove_file() {
  if (Status there = environment_.check_files(true); !there) return there;
  const Ref<LogFile> log_file = file();
  if (log_file != nullptr && log_file->is_named()) ::unlink(path_.c_str());
  forget_file();
  return Done{};
}

// The disk is full. If enough has been erased, LMDB has room for the whole log: then the log is
// removed, which frees its blocks, and a new log is made. That is not tried again without new
// erasures.
Status RedoLog::replace_full_log(Millis patience) {
  const Position end = tail().position;
  if (std::exchange(full_at_, end) == end) {
    return Error{Code::full, "the disk is full"};
  }
  {
    const auto turn = CheckpointTurn::take(*this, patience);
    if (!turn) return turn.error();
    if (Status applied = apply_all(false); !applied) return applied;
    if (Status removed = remove_file(); !removed) return removed;
  }
  return make_log(patience);
}

// Everything goes into LMDB, which then names no log, and the log is removed. REQUIRES: alone.
Status RedoLog::finish(const TreeState& state, Time now, Millis patience, Checkpointed* counts) {
  if (state.log.is_none()) return Done{};
  const auto cut = append_cut(state, now);
  if (!cut && cut.error().code != Code::full) return cut.error();
  const auto turn = CheckpointTurn::take(*this, patience);
  if (!turn) return turn.error();
  if (!rule_on(Rule::unlink_last)) ::unlink(path_.c_str());
  Status done = apply_all(false, counts);
  return done ? remove_file() : done;
}

Status RedoLog::close(Time now, Millis patience, Checkpointed* counts) {
  const Working working(*this);
  auto turn = environment_.begin_write(patience, true);
  if (!turn) return turn.error();
  const TreeState state = turn->snapshot->state;
  environment_.drop_snapshot(*turn->snapshot);
  return finish(state, now, turn->patience(), counts);
}

}  // namespace mayfly::internal
