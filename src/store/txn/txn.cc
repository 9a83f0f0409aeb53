// SPDX-License-Identifier: Apache-2.0
// How a transaction begins, ends and finds its families. Reading is in txn_read.cc, writing in
// txn_write.cc, purging in txn_purge.cc, changing families in txn_family.cc.

#include "store/txn/txn.h"

#include <utility>

#include "store/lmdb/lmdb.h"

namespace mayfly {
namespace {

constexpr std::int64_t kNoBudget = INT64_MAX;

// More than these are not kept in mind: they are found again when they are met again, or purged.
constexpr std::size_t kMetMax = 4096;

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
                 "the store was opened read-only; open it without read_only to write"};
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

FamilyView* Txn::settled_view(Family family) {
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
  MDB_cursor* cursor = nullptr;
  MDB_val row{};
  MDB_val nothing{};
  int code = ::mdb_cursor_open(lmdb_, view.deadlines, &cursor);
  if (code == 0) code = ::mdb_cursor_get(cursor, &row, &nothing, MDB_FIRST);
  view.has_ttl = code != MDB_NOTFOUND;
  view.has_expired = view.has_ttl && (code != 0 || is_due(decode_deadline(to_view(row)), now()));
  if (cursor != nullptr) ::mdb_cursor_close(cursor);
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
  return {Code::invalid, "the transaction has ended already"};
}

Error Txn::missing_family() const {
  if (ended()) return ended_error();
  return {Code::not_found, "the family is not in the store: it was dropped, or never committed"};
}

void Txn::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
  tally_.add(Count::errors);
}

void Txn::fail(int code, std::string_view doing) { fail(lmdb_error(code, doing)); }

void Txn::note(Family family, std::string_view stored) {
  if (met_.size() < kMetMax) met_.push_back({family, std::string(stored)});
}

void Txn::abort() {
  if (ended() || !owner_.environment.may_end_write()) return;
  owner_.environment.abort_write(std::exchange(lmdb_, nullptr), owner_.options.durability);
  end();
}

// Whoever goes on using it is told so, instead of crashing.
void Txn::end() {
  if (tables_lock_.owns_lock()) tables_lock_.unlock();
  if (!failure_) failure_ = ended_error();
  owner_.tally.add(tally_);
}

Status Txn::commit() {
  if (ended()) return ended_error();
  if (!owner_.environment.may_end_write()) {
    return Error{Code::invalid,
                 "cannot commit: another thread began the transaction, and only that one can end "
                 "it"};
  }
  write_gathered();
  if (!failed() && !met_.empty()) {
    std::uint64_t removed = 0;
    const int code = remove_met(met_, kNoBudget, removed);
    if (code != 0) fail(code, "remove what has expired");
    tally_.add(Count::expired_lazily, removed);
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

}  // namespace mayfly
