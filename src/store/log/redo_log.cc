// SPDX-License-Identifier: Apache-2.0
// Following and committing. Opening, settling and closing are in log_recovery.cc, checkpoints in
// log_checkpoint.cc, expired entries in log_purge.cc.

#include "store/log/redo_log.h"

#include <algorithm>
#include <random>
#include <utility>

#include "store/lmdb/environment.h"

namespace mayfly::internal {
namespace {

// Transactions leave some room of a segment and of the disk to lives, cuts and barriers: so who
// opens a store with two full segments need not make a checkpoint first.
constexpr std::uint64_t kReserve = 512;

// What transactions that put leave, besides, to those that only erase: a store that has filled its
// disk can be emptied. Of a small segment it is a part.
constexpr std::uint64_t kKeptForErasures = std::uint64_t{64} << 10;
constexpr std::uint64_t kKeptShare = 8;

std::uint64_t table_seed() {
  static const std::uint64_t seed = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return seed;
}

// The operation that a version of a transaction's own table stands for, if it is the newest of its
// key: it tells of the entry that was there before the transaction.
bool to_operation(const MemTable& own, const Version& version, Operation& operation) {
  if (own.find(version.family, version.key(), UINT64_MAX) != &version) return false;
  const Version* oldest = &version;
  const Version* put = nullptr;
  for (const Version* each = &version; each != nullptr; each = each->older) {
    oldest = each;
    if (put == nullptr && each->kind == OperationKind::put) put = each;
  }
  if (version.kind == OperationKind::erase && !oldest->was_there) return false;
  operation = {version.family,
               version.kind,
               oldest->was_there,
               oldest->had_deadline,
               version.deadline,
               version.key(),
               {}};
  if (version.kind == OperationKind::erase || put == nullptr) return true;
  operation.kind = OperationKind::put;
  operation.value = put->value();
  return true;
}

// `floors`: of the store, if the table is.
bool add_operations(MemTable& table, const RecordView& record, ExpiryFloors* floors = nullptr) {
  std::string_view body = record.body;
  Operation operation;
  while (take_operation(body, operation)) {
    if (floors != nullptr) floors->lower(operation.family, operation.deadline);
    table.add(operation, record.position);
  }
  return body.empty();
}

// A cut ends the last table, and begins the next.
void freeze(TableSet& set, const RecordView& cut) {
  TableEntry& frozen = set.tables.back();
  frozen.cut = Cut{cut.position, cut_range(cut), cut.moment, {cut.end(), cut.chain}};
  const std::size_t expected = frozen.table->keys();
  set.tables.push_back({make_ref<MemTable>(table_seed(), expected), cut.end()});
}

}  // namespace

RedoLog::RedoLog(Environment& environment, Session& session, const StoreOptions& options)
    : environment_(environment),
      session_(session),
      options_(options),
      path_(environment.path() + "-wal") {
  reset_tables({});
}

RedoLog::~RedoLog() = default;

LogPlace RedoLog::tail() const {
  return {words().tail.load(std::memory_order_acquire),
          words().chain.load(std::memory_order_relaxed)};
}

// --- Tables

// The set that was in use is freed after the mutex.
void RedoLog::publish(Ref<const TableSet> set) noexcept {
  const std::scoped_lock lock(set_mutex_);
  std::swap(set_, set);
  set_number_.fetch_add(1, std::memory_order_release);
}

Ref<const TableSet> RedoLog::new_tables(Position begin) {
  auto set = make_ref<TableSet>();
  set->tables.push_back({make_ref<MemTable>(table_seed()), begin});
  return set;
}

void RedoLog::reset_tables(const LogPlace& place, Ref<const TableSet> ready) noexcept {
  publish(std::move(ready));
  floors_.clear();
  followed_place_ = place;
  followed_.store(place.position, std::memory_order_release);
}

// What LMDB has is freed, as soon as no snapshot needs it.
void RedoLog::drop_applied(Position applied) {
  const auto is_applied = [applied](const TableEntry& entry) {
    return entry.cut && entry.cut->end.position <= applied;
  };
  if (!is_applied(set_->tables.front())) return;
  auto set = make_ref<TableSet>();
  std::ranges::remove_copy_if(set_->tables, std::back_inserter(set->tables), is_applied);
  if (!rule_on(Rule::refcount)) set_->tables.front().table->clear();
  publish(std::move(set));
  environment_.release_tables();
}

// Makes room for the operations, or the set of tables behind a cut. (The count is in the chain, but
// a forged chain may claim any.)
Ref<const TableSet> RedoLog::make_ready(const RecordView& record) {
  if (record.type == RecordType::transaction) {
    const std::size_t most = record.body.size() / kOperationBytes;
    set_->tables.back().table->reserve(std::min<std::size_t>(record.operations, most),
                                       record.body.size());
  }
  if (record.type != RecordType::cut) return nullptr;
  auto set = make_ref<TableSet>(*set_);
  freeze(*set, record);
  return set;
}

// False: the record makes no sense here, or is that of a commit which LMDB is to have already.
bool RedoLog::apply(const RecordView& record, Ref<const TableSet> ready) noexcept {
  if (record.type == RecordType::transaction) {
    if (!add_operations(*set_->tables.back().table, record, &floors_)) return false;
  } else if (record.type == RecordType::cut) {
    publish(std::move(ready));
  } else if (record.type != RecordType::life && rule_on(Rule::order)) {
    return false;
  }
  followed_place_ = {record.end(), record.chain};
  return true;
}

Result<Window> RedoLog::replay(const TreeState& state, const Window& window) {
  if (window.empty()) return window;
  const Ref<LogFile> log_file = file();
  auto set = make_ref<TableSet>();
  set->tables.push_back({make_ref<MemTable>(table_seed()), state.applied.position});
  LogReader reader(*log_file, state.applied);
  bool fits = log_file->id() == state.log;
  while (fits && reader.place().position < window.tail()) {
    const auto record = reader.next();
    fits = record.has_value();
    if (fits && record->type == RecordType::transaction) {
      fits = add_operations(*set->tables.back().table, *record);
    } else if (fits && record->type == RecordType::cut) {
      freeze(*set, *record);
    }
  }
  if (fits) return Window(std::move(set), state.applied.position, window.tail());
  return Error{Code::corrupt, "it ends at position " + std::to_string(reader.place().position) +
                                  ", before its tail at " + std::to_string(window.tail())};
}

Status RedoLog::open_file(const TreeState& state) {
  auto file = LogFile::open(path_, environment_.writable());
  const bool is_missing = !file && file.error().code == Code::not_found;
  if (!file && !is_missing) return file.error();
  const bool is_other = !is_missing && rule_on(Rule::log_id) &&
                        ((*file)->id() != state.log || (*file)->store() != state.store);
  if (is_missing || is_other) {
    return Error{Code::corrupt, "cannot open " + environment_.path() + ": its log " + path_ +
                                    (is_missing ? " is missing" : " is that of another store") +
                                    " (put the right one back; it has the last changes)"};
  }
  use(std::move(*file));
  return Done{};
}

// Another process may have made the log that LMDB names, and applied all of it.
Status RedoLog::open_if_needed(const TreeState& state) {
  const auto has_it = [&] {
    const Ref<LogFile> log_file = file();
    return log_file != nullptr && log_file->id() == state.log;
  };
  if (state.log.is_none() || has_it()) return Done{};
  const std::scoped_lock lock(follow_mutex_);
  if (has_it()) return Done{};
  if (Status opened = open_file(state); !opened) return opened;
  reset_tables(state.applied);
  return Done{};
}

Result<bool> RedoLog::follow(Snapshot& snapshot, Position tail) {
  const Position applied = snapshot.state.applied.position;
  Window& window = snapshot.window;
  if (snapshot.state.log.is_none() || tail <= applied) {
    if (window.tables() != nullptr) window = Window();
    window.move_to(applied, applied);
    snapshot.tables = 0;
    return true;
  }
  if (snapshot.tables == set_number_.load(std::memory_order_acquire) &&
      followed_.load(std::memory_order_acquire) >= tail &&
      window.tables()->tables.front().begin <= applied) {
    window.move_to(applied, tail);
    return true;
  }
  return follow_slowly(snapshot, tail);
}

// A segment may be reused while it is read; its header then names another place. What was read
// before the header changed is what was written there.
Result<bool> RedoLog::follow_slowly(Snapshot& snapshot, Position tail) {
  const std::scoped_lock lock(follow_mutex_);
  const LogPlace& applied = snapshot.state.applied;
  Ref<LogFile> log_file = file();
  if (log_file == nullptr || log_file->id() != snapshot.state.log) {
    if (const Status opened = open_file(snapshot.state); !opened) return opened.error();
    reset_tables(applied);
    log_file = file();
  }
  if (followed_place_.position < applied.position) {
    if (rule_on(Rule::window)) reset_tables(applied);
    followed_place_ = applied;
  }
  if (set_->tables.front().begin > applied.position) return false;
  if (followed_place_.position < tail) {
    const auto first = log_file->segment(0);
    const auto second = log_file->segment(1);
    LogReader reader(*log_file, followed_place_);
    while (followed_place_.position < tail) {
      const auto record = reader.next();
      if (!record && !rule_on(Rule::revalidate)) followed_place_ = this->tail();
      if (!record || !apply(*record)) break;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (rule_on(Rule::revalidate) &&
        (log_file->segment(0) != first || log_file->segment(1) != second)) {
      reset_tables(applied);
      return false;
    }
    followed_.store(followed_place_.position, std::memory_order_release);
    if (followed_place_.position < tail) return false;
  }
  drop_applied(applied.position);
  snapshot.window = Window(set_, applied.position, tail);
  snapshot.tables = set_number_.load(std::memory_order_relaxed);
  return true;
}

// --- Commits

bool RedoLog::is_direct(const TreeState& state) const {
  return state.log.is_none() && words().commits.load(std::memory_order_relaxed) == 0;
}

Result<Position> RedoLog::commit(const TreeState& state, const MemTable& own, Time now,
                                 Millis patience) {
  writer_.begin(RecordType::transaction, now);
  Operation operation;
  bool only_erases = true;
  own.each([&](const Version& version) {
    if (!to_operation(own, version, operation)) return;
    writer_.add(operation);
    only_erases = only_erases && operation.kind == OperationKind::erase;
  });
  if (writer_.operations() == 0) return words().tail.load();
  if (state.log.is_none()) {
    if (const Status made = make_log(patience); !made) return made.error();
  }
  if (writer_.operations() > 1) look_at_limit();  // the transaction may have been open for long
  const auto make_room_here = [&] {
    return make_room(writer_.bytes(), patience, now, only_erases ? 0 : kept_for_erasures());
  };
  Status room = make_room_here();
  if (!room && room.error().code == Code::full && replace_full_log(patience)) {
    room = make_room_here();
  }
  if (!room) return room.error();
  if (const Status appended = append(); !appended) return appended.error();
  return words().tail.load(std::memory_order_relaxed);
}

std::uint64_t RedoLog::kept_for_erasures() const {
  return std::min(kKeptForErasures, segment_bytes() / kKeptShare);
}

// Writes the record, makes it part of the tables, and publishes the new tail. All memory is
// allocated before: a record in the log is committed.
Status RedoLog::append() {
  const LogPlace end = tail();
  const std::string_view bytes = writer_.finish(end.position, end.chain);
  const auto record = read_record(bytes, end.position, end.chain);
  const std::scoped_lock lock(follow_mutex_);
  if (followed_place_ != end) reset_tables(end);  // all of it is in LMDB
  Ref<const TableSet> ready = make_ready(*record);
  Busy busy(words());
  const int segment = static_cast<int>(words().segment.load(std::memory_order_relaxed));
  const Ref<LogFile> log_file = file();
  if (Status written = log_file->append(segment, end.position, bytes); !written) {
    if (log_file->is_spoiled()) words().failed.store(1);
    busy.done();
    return written;
  }
  apply(*record, std::move(ready));
  followed_.store(followed_place_.position, std::memory_order_release);
  words().chain.store(writer_.chain(), std::memory_order_relaxed);
  words().tail.store(end.position + bytes.size(), std::memory_order_release);
  busy.done();
  counts_.logged_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
  return Done{};
}

// Goes on in the other segment if the present one is full. All records there must be in LMDB,
// durably.
Status RedoLog::make_room(std::size_t bytes, std::optional<Millis> patience,
                          std::optional<Time> moment, std::uint64_t kept) {
  const LogPlace end = tail();
  const Ref<LogFile> log_file = file();
  const std::uint64_t reserve = moment ? kReserve + kept : 0;
  const Position needed =
      end.position + bytes + std::max(reserve, std::uint64_t{kRecordHeaderBytes});
  const int segment = static_cast<int>(words().segment.load(std::memory_order_relaxed));
  const auto place = log_file->segment(segment);
  if (!place) return damaged_log();
  if (end.position - place->position + bytes + reserve <= log_file->room()) {
    return log_file->fill(segment, needed);
  }
  const int other = 1 - segment;
  Position durable = words().durable.load();
  if (!rule_on(Rule::recyc_durable)) durable = (*environment_.begin_read())->state.applied.position;
  if (!rule_on(Rule::recyc_check)) durable = end.position;
  if (log_file->segment(other) && durable < place->position) {
    if (!patience) return Error{Code::full, "both segments of the log are full"};
    if (Status waited = wait_for_segment(place->position, *patience); !waited) return waited;
  }
  if (Status begun = log_file->begin_segment(other, end); !begun) return begun;
  if (Status filled = log_file->fill(other, needed); !filled) return filled;
  words().segment.store(static_cast<std::uint32_t>(other), std::memory_order_release);
  if (moment) request_checkpoint(*moment);
  return Done{};
}

// --- Tables of transactions

std::unique_ptr<MemTable> RedoLog::take_own_table() {
  if (spare_ != nullptr) return std::move(spare_);
  return std::make_unique<MemTable>(table_seed());
}

void RedoLog::give_own_table(std::unique_ptr<MemTable> table) {
  table->clear();
  spare_ = std::move(table);
}

// --- Numbers

std::uint64_t RedoLog::pending_bytes() const {
  const Position end = words().tail.load();
  return end - std::min(end, words().durable.load());
}

std::uint64_t RedoLog::table_bytes() const {
  const std::scoped_lock lock(set_mutex_);
  std::uint64_t bytes = 0;
  for (const TableEntry& entry : set_->tables) bytes += entry.table->memory_bytes();
  return bytes;
}

std::uint64_t RedoLog::file_bytes() const {
  const Ref<LogFile> log_file = file();
  return words().log.load() == 0 || log_file == nullptr ? 0 : log_file->bytes_on_disk();
}

Error damaged_log() {
  return {Code::corrupt, "the log of the store is damaged (run a check; restore a backup)"};
}

}  // namespace mayfly::internal
