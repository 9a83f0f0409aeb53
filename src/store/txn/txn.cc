// SPDX-License-Identifier: Apache-2.0
// How a transaction begins and ends, and how it finds and changes families. Reading is in
// txn_read.cc, writing in txn_write.cc, purging in txn_purge.cc.

#include "store/txn/txn.h"

#include <utility>

#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr std::int64_t kNoBudget = INT64_MAX;

// More expired keys are not remembered: the next read finds them again, or a purge.
constexpr std::size_t kExpiredSeenMax = 4096;

std::string quoted_family(std::string_view name) {
  std::string text = "the family '";
  text.append(name).append("'");
  return text;
}

}  // namespace

Txn::Txn(const Owner& owner, std::unique_ptr<Snapshot> snapshot)
    : owner_(owner),
      snapshot_(std::move(snapshot)),
      lmdb_(snapshot_->txn),
      catalog_(std::move(snapshot_->catalog)) {}

Txn::Txn(const Owner& owner, MDB_txn* lmdb, CatalogRef catalog)
    : owner_(owner), lmdb_(lmdb), catalog_(std::move(catalog)) {}

Result<std::unique_ptr<Txn>> Txn::begin_read(const Owner& owner, bool timed) {
  auto snapshot = owner.environment.begin_read();
  if (!snapshot) return snapshot.error();
  auto txn = std::make_unique<Txn>(owner, std::move(*snapshot));
  if (timed) txn->read_clock();
  return txn;
}

Result<std::unique_ptr<Txn>> Txn::begin_write(const Owner& owner, Millis busy_timeout) {
  if (owner.options.read_only) {
    return Error{Code::denied,
                 "cannot write: the store was opened read-only (open it for writing)"};
  }
  CatalogRef catalog;
  auto lmdb = owner.environment.begin_write(busy_timeout, owner.options.durability, catalog);
  if (!lmdb) return lmdb.error();
  auto txn = std::unique_ptr<Txn>(new Txn(owner, *lmdb, std::move(catalog)));
  txn->read_clock();
  return txn;
}

// One that has ended may outlive its store, so it must not touch it.
Txn::~Txn() {
  if (ended()) return;
  if (writes()) {
    abort();
    if (!ended()) {
      owner_.environment.leave_write();
      end();
    }
    return;
  }
  owner_.tally.add(tally_);
  snapshot_->catalog = std::move(catalog_);
  owner_.environment.end_read(std::move(snapshot_));
}

void Txn::read_clock() {
  now_ = owner_.clock.now();
  timed_ = true;
}

FamilyView* Txn::view_after_gathered(Family family) {
  if (!ended()) write_gathered();
  return view_to_put(family);
}

FamilyView* Txn::find_view(Family family) {
  for (const auto& view : others_) {
    if (view->resolved && view->family == family) return view.get();
  }
  if (!first_.resolved) return resolve(first_, family) ? &first_ : nullptr;
  auto view = std::make_unique<FamilyView>();
  if (!resolve(*view, family)) return nullptr;
  others_.push_back(std::move(view));
  return others_.back().get();
}

bool Txn::resolve(FamilyView& view, Family family) {
  const FamilyRecord* const record = ended() ? nullptr : catalog().find(family);
  if (record == nullptr) return false;
  const auto handle = [this](std::uint32_t number) {
    for (const NewTable& made : new_tables_) {
      if (made.number == number) return made.handle;
    }
    return number == 0 ? MDB_dbi{0} : owner_.environment.table(number);
  };
  for (MDB_cursor** const cursor : {&view.writer, &view.key_writer, &view.deadline_writer}) {
    if (*cursor != nullptr) ::mdb_cursor_close(std::exchange(*cursor, nullptr));
  }
  view.family = family;
  view.data = handle(record->data);
  view.keys = handle(record->keys);
  view.deadlines = handle(record->deadlines);
  view.default_ttl = record->default_ttl;
  look_ahead(view);
  view.resolved = true;
  return true;
}

// Whether the family has deadlines, and whether any has passed: the expiry index begins with the
// nearest. If that cannot be read, neither can the rest; then it is better to look for deadlines.
void Txn::look_ahead(FamilyView& view) {
  view.has_ttl = view.has_expired = false;
  if (view.deadlines == 0) return;
  TableCursor cursor;
  const bool readable = cursor.open(lmdb_, view.deadlines).ok();
  const bool has_row = readable && cursor.move(MDB_FIRST);
  const bool is_unknown = !readable || !cursor.status();
  view.has_ttl = has_row || is_unknown;
  view.has_expired = is_unknown || (has_row && is_due(decode_deadline(cursor.key()), now()));
}

// Pointers to views stay good; what they say is looked up anew.
void Txn::forget_views() {
  const auto refresh = [this](FamilyView& view) {
    if (view.resolved) view.resolved = resolve(view, view.family);
  };
  refresh(first_);
  for (const auto& view : others_) refresh(*view);
}

Error Txn::ended_error() const {
  if (lmdb_ != nullptr) return foreign_error();
  return {Code::invalid, "the transaction has already ended"};
}

Error Txn::missing_family() const {
  if (ended()) return ended_error();
  return {Code::not_found, "no such family: it was dropped, or its creation was not committed"};
}

void Txn::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
  tally_.add(Count::errors);
}

void Txn::record_expired(Family family, std::string_view stored) {
  if (expired_seen_.size() < kExpiredSeenMax) {
    expired_seen_.push_back({family, std::string(stored)});
  }
}

void Txn::abort() {
  if (ended() || !owner_.environment.may_end_write()) return;
  owner_.environment.abort_write(std::exchange(lmdb_, nullptr), owner_.options.durability);
  end();
}

// Calls on a transaction that has ended fail instead of crashing.
void Txn::end() {
  if (tables_lock_.owns_lock()) tables_lock_.unlock();
  if (!failure_) failure_ = ended_error();
  owner_.tally.add(tally_);
}

Status Txn::commit() {
  if (ended()) return ended_error();
  if (!owner_.environment.may_end_write()) {
    return Error{Code::invalid,
                 "cannot commit: another thread began the transaction (commit it there)"};
  }
  write_gathered();
  if (!failed() && !expired_seen_.empty()) {
    const auto removed = remove_expired(expired_seen_, kNoBudget);
    if (removed) tally_.add(Count::expired_lazily, *removed);
    if (!removed) fail(removed.error());
  }
  if (!failed() && changed_) {
    if (const Status written = write_catalog(); !written) fail(written.error());
  }
  MDB_txn* const lmdb = std::exchange(lmdb_, nullptr);
  if (failed()) {
    owner_.environment.abort_write(lmdb, owner_.options.durability);
    end();
    return *failure_;
  }
  const Status committed = owner_.environment.commit_write(
      lmdb, owner_.options.durability, changed_ ? &*changed_ : nullptr, new_tables_);
  tally_.add(committed ? Count::commits : Count::errors);
  end();
  return committed;
}

Catalog& Txn::change_catalog() {
  if (!changed_) changed_ = catalog_->catalog();
  return *changed_;
}

// The handle of a table that this transaction's catalog names; makes the table if it is new.
Result<MDB_dbi> Txn::table(std::uint32_t number) {
  for (const NewTable& made : new_tables_) {
    if (made.number == number) return made.handle;
  }
  if (const MDB_dbi known = owner_.environment.table(number); known != 0) return known;
  if (!tables_lock_.owns_lock()) tables_lock_ = owner_.environment.lock_tables();
  auto made = owner_.environment.make_table(lmdb_, number);
  if (!made) return made.error();
  new_tables_.push_back(*made);
  return made->handle;
}

Result<Family> Txn::create_family(std::string_view name) {
  if (ended()) return ended_error();
  if (const Status good = check_family_name(name); !good) return good.error();
  if (catalog().find(name)) return Error{Code::invalid, quoted_family(name) + " already exists"};
  if (catalog().families().size() >= kFamiliesMax) {
    return Error{Code::full, "cannot create " + quoted_family(name) + ": a store has at most " +
                                 std::to_string(kFamiliesMax) + " families"};
  }
  std::atomic<std::uint32_t>& next_id = owner_.environment.next_family_id();
  const Family family = change_catalog().create(name, next_id.load());
  next_id.store(Catalog::id_of(family) + 1);
  auto made = table(catalog().find(family)->data);
  if (!made) {
    fail(made.error());
    return made.error();
  }
  return family;
}

Status Txn::drop_family(std::string_view name) {
  if (ended()) return ended_error();
  const std::optional<Family> family = catalog().find(name);
  if (!family) return Error{Code::not_found, quoted_family(name) + " is not in the store"};
  if (*family == Family()) {
    return Error{Code::invalid, "cannot drop the default family (clear it instead)"};
  }
  FamilyView* const dropped = view(*family);
  if (const Status cleared = clear(*dropped); !cleared) {
    fail(cleared.error());
    return *failure_;
  }
  change_catalog().drop(*family);
  forget_views();
  return Done{};
}

Status Txn::set_default_ttl(Family family, Millis ttl) {
  if (ended()) return ended_error();
  if (catalog().find(family) == nullptr) return missing_family();
  if (ttl <= Millis::zero()) {
    return Error{Code::invalid, "the default TTL must be at least 1 ms, not " +
                                    std::to_string(ttl.count()) + " ms"};
  }
  change_catalog().set_default_ttl(family, ttl);
  forget_views();
  return Done{};
}

Status Txn::make_ttl_tables(FamilyView& view) {
  change_catalog().add_ttl_tables(view.family);
  const FamilyRecord& record = *catalog().find(view.family);
  for (const std::uint32_t number : {record.keys, record.deadlines}) {
    auto made = table(number);
    if (!made) return made.error();
  }
  forget_views();
  return Done{};
}

Status Txn::write_catalog() { return put_row(lmdb_, kMainTable, kCatalogKey, changed_->encode()); }

}  // namespace mayfly::internal
