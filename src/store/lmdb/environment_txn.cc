// SPDX-License-Identifier: Apache-2.0
// How transactions of LMDB begin and end, and which catalog belongs to them.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

// Idle snapshots keep their places in LMDB's table of readers, which all processes share. A process
// keeps kPoolMost of them, and only kPoolFew once more than a quarter of the places was taken.
constexpr std::size_t kPoolMost = 64;
constexpr std::size_t kPoolFew = 4;
constexpr unsigned kCrowdedShare = 4;

constexpr std::size_t kProbeBytes = 65'536;

// LMDB calls it an input/output error when less was written than it asked for, which is how a disk
// that has just become full tells it first. Asked once more, it says so.
int reason_of(int code, MDB_env* env) {
  int file = -1;
  struct stat info {};
  if (code != EIO || ::mdb_env_get_fd(env, &file) != 0 || ::fstat(file, &info) != 0) return code;
  const std::vector<char> zeros(kProbeBytes);
  const ssize_t written = ::pwrite(file, zeros.data(), zeros.size(), info.st_size);
  if (written < 0) return errno;
  if (::ftruncate(file, info.st_size) != 0) return code;
  return static_cast<std::size_t>(written) < zeros.size() ? ENOSPC : code;
}

}  // namespace

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

std::unique_ptr<Snapshot> Environment::take_snapshot() {
  {
    const std::scoped_lock lock(mutex_);
    if (!pool_.empty()) {
      auto snapshot = std::move(pool_.back());
      pool_.pop_back();
      return snapshot;
    }
  }
  return std::make_unique<Snapshot>();
}

Result<std::unique_ptr<Snapshot>> Environment::begin_read() {
  if (is_foreign()) return foreign_error();
  enter();
  std::unique_ptr<Snapshot> snapshot = take_snapshot();
  Status problem = Done{};
  for (int tries = 0; tries < 5; ++tries) {
    const int code = snapshot->txn != nullptr
                         ? ::mdb_txn_renew(snapshot->txn)
                         : ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &snapshot->txn);
    if (code == MDB_MAP_RESIZED && adopt_larger_map().ok()) continue;
    if (code == MDB_READERS_FULL && free_readers()) continue;
    problem = Done{};
    if (code != 0) {
      problem = lmdb_error(code, "begin to read");
      break;
    }
    if (snapshot->catalog && snapshot->catalog->covers(::mdb_txn_id(snapshot->txn))) {
      return snapshot;
    }
    bool restart = false;
    problem = match_catalog(*snapshot, restart);
    if (problem.ok() && !restart) return snapshot;
    ::mdb_txn_reset(snapshot->txn);
    if (!problem) break;
  }
  if (snapshot->txn != nullptr) ::mdb_txn_abort(snapshot->txn);
  leave();
  if (!problem) return problem.error();
  return Error{Code::busy,
               "cannot begin to read: the families of the store change too fast (try again)"};
}

void Environment::end_read(std::unique_ptr<Snapshot> snapshot) {
  ::mdb_txn_reset(snapshot->txn);
  std::vector<std::unique_ptr<Snapshot>> surplus;
  {
    const std::scoped_lock lock(mutex_);
    pool_.push_back(std::move(snapshot));
    if (pool_.size() > kPoolFew) trim_pool(surplus);
  }
  for (const auto& each : surplus) ::mdb_txn_abort(each->txn);
  leave();
}

// REQUIRES: mutex_ is held.
void Environment::trim_pool(std::vector<std::unique_ptr<Snapshot>>& surplus) {
  const MDB_envinfo now = info();
  const bool is_crowded = now.me_numreaders > now.me_maxreaders / kCrowdedShare;
  const std::size_t limit = is_crowded ? kPoolFew : kPoolMost;
  for (; pool_.size() > limit; pool_.pop_back()) surplus.push_back(std::move(pool_.back()));
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
  CatalogRef fresh(new PublishedCatalog(std::move(*catalog), id));
  publish(fresh);
  return adopt(std::move(fresh));
}

Status Environment::open_tables(const Catalog& catalog) {
  const auto is_open = [this](std::uint32_t number) { return table(number) != 0; };
  std::uint32_t number = 1;
  while (number <= catalog.tables() && is_open(number)) ++number;
  if (number > catalog.tables()) return Done{};

  const std::scoped_lock lock(tables_mutex_);
  MDB_txn* txn = nullptr;
  int code = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn);
  if (code != 0) return lmdb_error(code, "open the tables");
  std::vector<NewTable> found;
  found.reserve(catalog.tables());
  for (; number <= catalog.tables() && code == 0; ++number) {
    if (is_open(number)) continue;
    MDB_dbi handle = 0;
    code = ::mdb_dbi_open(txn, table_name(number).c_str(), 0, &handle);
    if (code == 0) found.push_back({number, handle});
  }
  if (code != 0) {
    ::mdb_txn_abort(txn);
    if (code == MDB_NOTFOUND) return Error{Code::corrupt, "a table of the store is missing"};
    return lmdb_error(code, "open the tables");
  }
  ::mdb_txn_commit(txn);  // this is what makes the handles known
  for (const NewTable& each : found) tables_[each.number].store(each.handle);
  return Done{};
}

// Takes the write lock, and ends a transaction that another thread has left. While a transaction is
// open whose thread has ended, no other may begin: LMDB could never be written to again.
Status Environment::lock_write(Millis busy_timeout) {
  using State = Write::State;
  if (write_.state == State::left && may_end_write()) abort_write(write_.txn, write_.durability);
  if (Status locked = session_->lock(busy_timeout); !locked) return locked;
  if (write_.state == State::left) {
    ::mdb_txn_abort(write_.txn);
    finish_write(false, write_.durability);
  } else if (write_.state == State::open) {
    session_->unlock();
    return Error{Code::busy,
                 "cannot write: the thread of an open write transaction has ended (destroy the "
                 "transaction)"};
  }
  return Done{};
}

Result<MDB_txn*> Environment::begin_write(Millis busy_timeout, Durability durability,
                                          CatalogRef& catalog) {
  if (is_foreign()) return foreign_error();
  if (!writable()) return Error{Code::denied, "cannot write to " + path_ + ": it is read-only"};
  if (const Status locked = lock_write(busy_timeout); !locked) return locked.error();
  enter();
  Status problem = prepare_write(durability);
  if (!problem && problem.error().code == Code::busy && free_readers()) {
    problem = prepare_write(durability);
  }
  const bool prepared = problem.ok();
  int steps = 0;  // that were taken to make room
  MDB_txn* txn = nullptr;
  for (int tries = 0; problem.ok() && tries < 5; ++tries) {
    catalog = current_catalog();  // before it begins, so that its tables can be used in it
    const int code = ::mdb_txn_begin(env_, nullptr, 0, &txn);
    if (code == MDB_MAP_RESIZED && adopt_larger_map().ok()) continue;
    if (code != 0) {
      problem = lmdb_error(code, "begin to write");
      break;
    }
    // At `normal`, what was superseded since the last sync point cannot be reused.
    if (steps < 2 && is_short_of_room(txn)) {
      if (steps++ == 0 && level(durability) == Durability::normal) {
        ::mdb_txn_abort(txn);
        problem = guard_->sync();
        continue;
      }
      steps = 2;
      if (roll_on(txn, catalog)) continue;
    }
    if (catalog && catalog->covers(::mdb_txn_id(txn) - 1)) {
      write_.txn = txn;
      write_.durability = durability;
      write_.thread = std::this_thread::get_id();
      write_.state = Write::State::open;
      return txn;
    }
    // Another process has changed something. A reader finds out what; nobody writes meanwhile.
    ::mdb_txn_abort(txn);
    auto snapshot = begin_read();
    if (!snapshot) {
      problem = snapshot.error();
    } else {
      end_read(std::move(*snapshot));
    }
  }
  if (prepared) {
    end_write(false, durability);
  } else {
    leave();
    session_->unlock();
  }
  if (!problem) return problem.error();
  return Error{Code::busy, "cannot begin to write: the store changes too fast (try again)"};
}

// A writer at `off` could overwrite what the guard needs to undo a power cut. If this process has
// written at `normal`, it follows the rules of that.
Durability Environment::level(Durability asked) const {
  return asked == Durability::off && guarded_ ? Durability::normal : asked;
}

// Brings LMDB and the guard to what the level demands.
Status Environment::prepare_write(Durability durability) {
  const bool no_sync = durability != Durability::full;
  if (no_sync != no_sync_) {
    const int code = ::mdb_env_set_flags(env_, MDB_NOSYNC, no_sync ? 1 : 0);
    if (code != 0) return lmdb_error(code, "set the durability");
    no_sync_ = no_sync;
  }
  switch (level(durability)) {
    case Durability::normal:
      guarded_ = true;
      return guard_->before_write();
    case Durability::full:
      return guard_->before_full_write();
    case Durability::off:
      break;
  }
  return Done{};
}

Result<NewTable> Environment::make_table(MDB_txn* txn, std::uint32_t number) {
  MDB_dbi handle = 0;
  const int code = ::mdb_dbi_open(txn, table_name(number).c_str(), MDB_CREATE, &handle);
  if (code != 0) return lmdb_error(code, "make a table");
  return NewTable{number, handle};
}

Status Environment::commit_write(MDB_txn* txn, Durability durability, const Catalog* changed,
                                 const std::vector<NewTable>& tables) {
  const std::uint64_t id = ::mdb_txn_id(txn);
  const int code = ::mdb_txn_commit(txn);
  Status result = Done{};
  if (code != 0) {
    result = lmdb_error(reason_of(code, env_), "commit");
  } else {
    for (const NewTable& each : tables) tables_[each.number].store(each.handle);
    // A transaction that wrote nothing leaves its number to the next one, which may be anybody's.
    const bool wrote = info().me_last_txnid == id;
    if (changed != nullptr) {
      publish(CatalogRef(new PublishedCatalog(*changed, id)));
    } else if (wrote) {
      current_catalog()->widen(id);
    }
    if (wrote && durability == Durability::full) result = guard_->after_full_commit();
    end_write(wrote, durability);
    return result;
  }
  end_write(false, durability);
  return result;
}

void Environment::abort_write(MDB_txn* txn, Durability durability) {
  ::mdb_txn_abort(txn);
  end_write(false, durability);
}

void Environment::leave_write() { write_.state = Write::State::left; }

void Environment::end_write(bool committed, Durability durability) {
  finish_write(committed, durability);
  session_->unlock();
}

// All but the lock.
void Environment::finish_write(bool committed, Durability durability) {
  const Durability used = level(durability);
  if (used != Durability::off && !committed) guard_->after_abort();
  if (used == Durability::normal && committed) guard_->after_commit();
  write_.state = Write::State::none;
  leave();
}

// Another process, with a larger map, has made the file grow beyond ours. LMDB can change the map
// only while no transaction of this process is at work; the caller's own has not begun.
Status Environment::adopt_larger_map() {
  const std::scoped_lock shut(gate_);
  const auto guard_waits = guard_ != nullptr ? guard_->hold() : std::unique_lock<std::mutex>();
  closed_.store(true);
  const bool alone = active_.load() == 1;
  const int code = alone ? ::mdb_env_set_mapsize(env_, 0) : MDB_MAP_RESIZED;
  closed_.store(false);
  if (code != 0) return lmdb_error(code, "enlarge the map");
  return Done{};
}

}  // namespace mayfly::internal
