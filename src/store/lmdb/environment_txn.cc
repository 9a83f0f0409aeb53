// SPDX-License-Identifier: Apache-2.0
// How transactions of LMDB begin and end, and which catalog belongs to them.

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

// Idle snapshots keep their places in LMDB's table of readers, which all processes share. A process
// keeps kPoolMost of them, and only kPoolFew once more than a quarter of the places was taken.
constexpr std::size_t kPoolMost = 64;
constexpr std::size_t kPoolFew = 4;
constexpr std::size_t kInternalMost = 16;
constexpr unsigned kCrowdedShare = 4;

constexpr int kTries = 20;
constexpr int kTriesWithoutLock = 3;

// A writer that does not wait for others waits for the thread of the log, which is done soon.
constexpr Millis kThreadPatience{1000};

}  // namespace

void Environment::reserve_pools() {
  pool_.reserve(kPoolMost + 1);
  internal_pool_.reserve(kInternalMost);
}

CatalogRef Environment::current_catalog() {
  const std::scoped_lock lock(mutex_);
  return catalog_;
}

void Environment::publish(const CatalogRef& catalog) {
  const std::scoped_lock lock(mutex_);
  if (catalog_ && catalog_->catalog().generation() >= catalog->catalog().generation()) return;
  catalog_ = catalog;
}

// A reader never waits for a writer, but while the file is exchanged there is nothing to read.
void Environment::enter() {
  for (;;) {
    active_.fetch_add(1);
    if (!closed_.load()) return;
    active_.fetch_sub(1);
    const std::scoped_lock wait(gate_);
  }
}

std::unique_ptr<Snapshot> Environment::take_snapshot(bool is_internal) {
  {
    const std::scoped_lock lock(mutex_);
    auto& pool = is_internal ? internal_pool_ : pool_;
    if (!pool.empty()) {
      auto snapshot = std::move(pool.back());
      pool.pop_back();
      return snapshot;
    }
  }
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->is_internal = is_internal;
  return snapshot;
}

Result<ReadTurn> Environment::begin_snapshot(bool is_internal) {
  if (is_foreign()) return foreign_error();
  Inside inside(*this);
  if (env_ == nullptr) {
    if (const Status started = start_again(); !started) return started.error();
  }
  ReadTurn turn(take_snapshot(is_internal).release(), EndRead{this});
  inside.keep();
  if (const Status renewed = renew(*turn); !renewed) return renewed.error();
  return turn;
}

Result<ReadTurn> Environment::begin_read() { return begin_snapshot(false); }
Result<ReadTurn> Environment::begin_internal_read() { return begin_snapshot(true); }

// Takes the tail of the log first, the LMDB snapshot second: so a commit that went straight into
// LMDB before the tail is in the snapshot. If the log was reused while it was read, all of it is
// done again; in the end with the checkpoint lock, which stops that.
Status Environment::renew(Snapshot& snapshot) {
  Status problem = Done{};
  snapshot.is_sound = false;
  for (int tries = 0; tries < kTries; ++tries) {
    std::optional<CheckpointTurn> turn;
    if (tries >= kTriesWithoutLock && !log_->has_checkpoint_turn()) {
      auto taken = CheckpointTurn::take(*log_, std::max(options_.busy_timeout, kThreadPatience));
      if (!taken) return taken.error();
      turn.emplace(std::move(*taken));
    }
    Position tail = session_->words().tail.load(std::memory_order_acquire);
    if (rule_on(Rule::order)) test_step("snapshot: tail");
    if (problem = renew_lmdb(snapshot); !problem) return problem;
    test_step("snapshot: tree");
    if (!rule_on(Rule::order)) tail = session_->words().tail.load(std::memory_order_acquire);
    if (!rule_on(Rule::published)) tail = log_->end_of_file(tail);
    const auto followed = log_->follow(snapshot, tail);
    if (followed && *followed) {
      snapshot.is_sound = true;
      return Done{};
    }
    ::mdb_txn_reset(snapshot.txn);
    if (!followed) problem = followed.error();
  }
  if (!problem) return problem;
  return Error{Code::busy, "cannot begin to read: the store changes too fast (try again)"};
}

Status Environment::renew_lmdb(Snapshot& snapshot) {
  for (int tries = 0; tries < kTries; ++tries) {
    const int code = snapshot.txn != nullptr
                         ? ::mdb_txn_renew(snapshot.txn)
                         : ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &snapshot.txn);
    if (code == MDB_MAP_RESIZED && adopt_larger_map().ok()) continue;
    if (code == MDB_READERS_FULL && free_readers()) continue;
    if (code != 0) return lmdb_error(code, "begin to read");
    const std::uint64_t id = ::mdb_txn_id(snapshot.txn);
    if (id == snapshot.id) return Done{};
    bool restart = false;
    Status matched = Done{};
    if (!snapshot.catalog || !snapshot.catalog->covers(id))
      matched = match_catalog(snapshot, restart);
    if (matched && !restart) matched = match_state(snapshot);
    if (matched && !restart) {
      snapshot.id = id;
      return Done{};
    }
    ::mdb_txn_reset(snapshot.txn);
    if (!matched) return matched;
  }
  return Error{Code::busy,
               "cannot begin to read: the families of the store change too fast (try again)"};
}

// A store of format 1 says nothing of a log.
Status Environment::match_state(Snapshot& snapshot) {
  const auto row = get_row(snapshot.txn, kMainTable, kStateKey);
  if (!row) return row.error();
  const auto state = *row ? TreeState::decode(**row) : TreeState();
  if (!state) return Error{Code::corrupt, path_ + ": what it says of its log is damaged"};
  snapshot.state = *state;
  return Done{};
}

void Environment::drop_snapshot(Snapshot& snapshot) {
  ::mdb_txn_reset(snapshot.txn);
  snapshot.window = Window();
  snapshot.tables = 0;
}

// Idle snapshots keep no tables that are out of use. The pools have their room from the beginning.
void Environment::end_read(std::unique_ptr<Snapshot> snapshot) noexcept {
  if (snapshot->txn != nullptr) {
    ::mdb_txn_reset(snapshot->txn);
    snapshot->window.set_own(nullptr);
    if (!log_->is_current(*snapshot)) drop_snapshot(*snapshot);
    std::unique_lock lock(mutex_);
    auto& pool = snapshot->is_internal ? internal_pool_ : pool_;
    if (snapshot->is_sound && pool.size() < pool.capacity()) pool.push_back(std::move(snapshot));
    if (snapshot == nullptr && pool_.size() > kPoolFew) snapshot = take_surplus();
    while (snapshot != nullptr) {
      lock.unlock();
      ::mdb_txn_abort(snapshot->txn);
      lock.lock();
      snapshot = take_surplus();
    }
  }
  leave();
}

void Environment::release_tables() {
  const std::scoped_lock lock(mutex_);
  for (auto* const pool : {&pool_, &internal_pool_}) {
    for (const auto& idle : *pool) drop_snapshot(*idle);
  }
}

// A surplus idle snapshot, or null. REQUIRES: mutex_ is held.
std::unique_ptr<Snapshot> Environment::take_surplus() {
  const MDB_envinfo now = info();
  const bool is_crowded = now.me_numreaders > now.me_maxreaders / kCrowdedShare;
  std::unique_ptr<Snapshot> surplus;
  if (pool_.size() > (is_crowded ? kPoolFew : kPoolMost)) {
    surplus = std::move(pool_.back());
    pool_.pop_back();
  }
  return surplus;
}

// Gives back the places of idle snapshots, and of processes that have died. Whether there were any.
bool Environment::free_readers() {
  const bool had_idle = drop_pool();
  int stale = 0;
  return (::mdb_reader_check(env_, &stale) == 0 && stale > 0) || had_idle;
}

// Finds the catalog of a snapshot. A transaction cannot use tables whose handles were opened after
// it began, by whichever thread; so with a catalog that is new to it, it has to begin again.
Status Environment::match_catalog(Snapshot& snapshot, bool& restart) {
  const std::uint64_t id = ::mdb_txn_id(snapshot.txn);
  CatalogRef current = current_catalog();
  const auto adopt = [&](CatalogRef found) {
    const std::uint64_t generation = found->catalog().generation();
    restart = !snapshot.catalog || snapshot.catalog->catalog().generation() != generation;
    snapshot.catalog = std::move(found);
    return Done{};
  };
  if (current && current->covers(id)) return adopt(std::move(current));
  const auto row = get_row(snapshot.txn, kMainTable, kCatalogKey);
  if (!row) return row.error();
  if (!*row) return Error{Code::corrupt, path_ + " is an LMDB file, but not a store of Mayfly"};
  const std::string_view bytes = **row;
  if (current && current->catalog().generation() == Catalog::generation_in(bytes)) {
    current->widen(id);
    return adopt(std::move(current));
  }
  auto catalog = Catalog::decode(bytes);
  if (!catalog) return catalog.error();
  if (const Status opened = open_tables(*catalog); !opened) return opened;
  CatalogRef fresh = make_ref<PublishedCatalog>(std::move(*catalog), id);
  publish(fresh);
  return adopt(std::move(fresh));
}

Status Environment::open_tables(const Catalog& catalog) {
  const auto is_open = [this](std::uint32_t number) { return table(number) != 0; };
  std::uint32_t number = 1;
  while (number <= catalog.tables() && is_open(number)) ++number;
  if (number > catalog.tables()) return Done{};

  const std::scoped_lock lock(tables_mutex_);
  MDB_txn* begun = nullptr;
  int code = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &begun);
  if (code != 0) return lmdb_error(code, "open the tables");
  OwnTxn txn(begun);
  std::vector<NewTable> found;
  found.reserve(catalog.tables());
  for (; number <= catalog.tables() && code == 0; ++number) {
    if (is_open(number)) continue;
    MDB_dbi handle = 0;
    code = ::mdb_dbi_open(txn.get(), table_name(number).c_str(), 0, &handle);
    if (code == 0) found.push_back({number, handle});
  }
  if (code != 0) {
    txn.reset();
    if (code == MDB_NOTFOUND) return Error{Code::corrupt, "a table of the store is missing"};
    return lmdb_error(code, "open the tables");
  }
  ::mdb_txn_commit(txn.release());  // this is what makes the handles known
  for (const NewTable& each : found) tables_[each.number].store(each.handle);
  return Done{};
}

// Takes the write lock, and ends a transaction that another thread has left. While a transaction is
// open whose thread has ended, no other may begin.
Status Environment::lock_write(Millis busy_timeout, bool for_checkpoint, bool& owner_died) {
  using State = Write::State;
  if (write_.state != State::none && may_end_write()) {
    if (write_.state == State::open) {
      return Error{Code::busy,
                   "cannot write: this thread already has an open write transaction on the store"};
    }
    unlock_write(std::move(write_.tree));
  }
  const Millis patience =
      log_->is_working(for_checkpoint) ? std::max(busy_timeout, kThreadPatience) : busy_timeout;
  if (Status locked = session_->lock(SharedLock::write, patience, &owner_died); !locked) {
    return locked;
  }
  if (write_.state == State::left) {
    if (write_.tree != nullptr) log_->forget_checkpoint_owner();
    write_.tree.reset();
    write_.state = State::none;
  } else if (write_.state == State::open) {
    session_->unlock(SharedLock::write);
    return Error{Code::busy,
                 "cannot write: the thread of an open write transaction has ended (destroy the "
                 "transaction)"};
  }
  write_.thread = std::this_thread::get_id();
  write_.state = State::open;
  return Done{};
}

// REQUIRES: this thread has the lock.
void Environment::unlock_write(std::unique_ptr<TreeTxn> tree) noexcept {
  if (tree != nullptr) {
    tree.reset();
    log_->end_direct();
  }
  write_.state = Write::State::none;
  write_.thread = std::thread::id();
  session_->unlock(SharedLock::write);
}

Result<WriteTurn> Environment::begin_write(Millis busy_timeout, bool for_checkpoint) {
  if (is_foreign()) return foreign_error();
  if (!writable()) return read_only_error();
  ReadTurn early;
  if (!rule_on(Rule::catch_up)) early = std::move(*begin_internal_read());
  bool owner_died = false;
  if (const Status locked = lock_write(busy_timeout, for_checkpoint, owner_died); !locked) {
    return locked.error();
  }
  // Who does not wait for other transactions waits a moment for what his own needs.
  WriteTurn turn(*this, busy_timeout > Millis::zero() ? busy_timeout : Session::kLeastWait);
  if (owner_died && rule_on(Rule::settle)) log_->mark_unsettled();
  if (early != nullptr) {
    turn.snapshot = std::move(early);
    return turn;
  }
  auto snapshot = begin_internal_read();
  if (!snapshot) return snapshot.error();
  turn.snapshot = std::move(*snapshot);
  if (!log_->is_settled(turn.snapshot->state)) {
    drop_snapshot(*turn.snapshot);
    if (const Status settled = log_->settle(turn.patience()); !settled) return settled.error();
    if (const Status renewed = renew(*turn.snapshot); !renewed) return renewed.error();
  }
  Status ready = log_->open_if_needed(turn.snapshot->state);
  if (ready) ready = check_files();
  if (!ready) return ready.error();
  return turn;
}

void Environment::leave_write(std::unique_ptr<TreeTxn> tree) noexcept {
  write_.tree = std::move(tree);
  write_.state = Write::State::left;
}

void Environment::on_tree_commit(std::uint64_t id, const CatalogRef& changed,
                                 const std::vector<NewTable>& tables) noexcept {
  for (const NewTable& each : tables) tables_[each.number].store(each.handle);
  if (changed) {
    publish(changed);
  } else {
    current_catalog()->widen(id);
  }
}

void Environment::refresh_tree() {
  const Inside inside(*this);
  MDB_txn* txn = nullptr;
  if (env_ != nullptr && ::mdb_txn_begin(env_, nullptr, 0, &txn) == 0) ::mdb_txn_abort(txn);
}

Status Environment::sync_tree() {
  const Inside inside(*this);
  const int code = env_ == nullptr ? EIO : ::mdb_env_sync(env_, 1);
  if (code != 0) return lmdb_error(code, "sync the store");
  return Done{};
}

// Another process, with a larger map, has made the file grow beyond ours. LMDB can change the map
// only while no transaction of this process is at work; the caller's own has not begun.
Status Environment::adopt_larger_map(int entered) {
  const Shut shut(*this);
  const bool alone = active_.load() == entered;
  const std::size_t before = info().me_mapsize;
  int code = alone ? ::mdb_env_set_mapsize(env_, 0) : MDB_MAP_RESIZED;
  const std::size_t wanted = allowed_map_bytes(std::max(before, info().me_mapsize));
  if (code == 0 && info().me_mapsize != wanted) code = ::mdb_env_set_mapsize(env_, wanted);
  if (code != 0 && alone) (void)::mdb_env_set_mapsize(env_, before);
  if (code != 0) return lmdb_error(code, "enlarge the map");
  return Done{};
}

}  // namespace mayfly::internal
