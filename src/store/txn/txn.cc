// SPDX-License-Identifier: Apache-2.0
// How a transaction begins and ends, and how it finds and changes families. Reading is in
// txn_read.cc, writing in txn_write.cc.

#include "store/txn/txn.h"

#include <utility>

#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

// More expired keys are not remembered: the next read finds them again, or a purge.
constexpr std::size_t kExpiredSeenMax = 4096;

std::string quoted_family(std::string_view name) {
  std::string text = "the family '";
  text.append(name).append("'");
  return text;
}

}  // namespace

Txn::Txn(const Owner& owner, std::unique_ptr<Snapshot> snapshot, bool writes)
    : owner_(owner),
      snapshot_(std::move(snapshot)),
      window_(std::move(snapshot_->window)),
      writes_(writes) {
  if (!writes) return;
  own_ = owner.environment.log().take_own_table();
  window_.set_own(own_.get());
}

Result<std::unique_ptr<Txn>> Txn::begin_read(const Owner& owner, bool timed) {
  const Time early = rule_on(Rule::snap_first) ? Time() : owner.clock.now();
  auto snapshot = owner.environment.begin_read();
  if (!snapshot) return snapshot.error();
  auto txn = std::make_unique<Txn>(owner, std::move(*snapshot));
  if (timed) txn->read_clock();
  if (!rule_on(Rule::snap_first)) txn->now_ = early;
  return txn;
}

Result<std::unique_ptr<Txn>> Txn::begin_write(const Owner& owner, Millis busy_timeout) {
  if (owner.options.read_only) {
    return Error{Code::denied,
                 "cannot write: the store was opened read-only (open it for writing)"};
  }
  auto snapshot = owner.environment.begin_write(busy_timeout);
  if (!snapshot) return snapshot.error();
  auto txn = std::make_unique<Txn>(owner, std::move(*snapshot), true);
  txn->read_clock();
  return txn;
}

// One that has ended may outlive its store, so it must not touch it.
Txn::~Txn() {
  if (ended()) return;
  if (!writes()) {
    if (!expired_seen_.empty() && !owner_.options.read_only) {
      owner_.environment.log().note_expired(expired_seen_);
    }
    snapshot_->window = std::move(window_);
    owner_.tally.add(tally_);
    owner_.environment.end_read(std::move(snapshot_));
    return;
  }
  abort();
  if (ended()) return;
  window_ = Window();
  owner_.environment.leave_write(std::move(snapshot_), std::move(tree_));
  owner_.tally.add(tally_);
}

void Txn::read_clock() {
  now_ = owner_.clock.now();
  timed_ = true;
}

FamilyView* Txn::find_view(Family family) {
  for (const auto& view : others_) {
    if (view->resolved && view->family == family && !ended()) return view.get();
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
  view.family = family;
  view.id = record->id;
  view.default_ttl = record->default_ttl;
  if (tree_ != nullptr) {
    const auto tables = tree_->tables(*record);
    if (!tables) fail(tables.error());
    if (!tables) return false;
    view.tables = *tables;
  } else {
    const auto handle = [this](std::uint32_t number) {
      return number == 0 ? MDB_dbi{0} : owner_.environment.table(number);
    };
    view.tables = {handle(record->data), handle(record->keys), handle(record->deadlines)};
  }
  look_ahead(view);
  view.floor.reset();
  view.least_put = kNever;
  view.resolved = true;
  return true;
}

// Whether LMDB has deadlines, and whether any has passed: the expiry index begins with the nearest.
// If that cannot be read, neither can the rest; then it is better to look for deadlines.
void Txn::look_ahead(FamilyView& view) {
  view.has_ttl = view.has_expired = false;
  if (view.tables.deadlines == 0) return;
  TableCursor cursor;
  const bool readable = cursor.open(lmdb(), view.tables.deadlines).ok();
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
  if (snapshot_ != nullptr) return foreign_error();
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

void Txn::record_expired(Family family, std::string_view key) {
  if (expired_seen_.size() < kExpiredSeenMax) expired_seen_.push_back({family, std::string(key)});
}

void Txn::abort() {
  if (!ended() && owner_.environment.may_end_write()) end(std::move(snapshot_));
}

// Calls on a transaction that has ended fail instead of crashing.
void Txn::end(std::unique_ptr<Snapshot> snapshot) {
  last_catalog_ = snapshot->catalog;
  snapshot->window = std::move(window_);
  owner_.environment.log().give_own_table(std::move(own_));
  owner_.environment.end_write(std::move(snapshot), std::move(tree_));
  if (!failure_) failure_ = Error{Code::invalid, "the transaction has already ended"};
  owner_.tally.add(tally_);
}

Status Txn::commit() {
  if (ended()) return ended_error();
  if (!owner_.environment.may_end_write()) {
    return Error{Code::invalid,
                 "cannot commit: another thread began the transaction (commit it there)"};
  }
  remove_expired();
  const Result<Position> written = failed() ? Result<Position>(*failure_) : write_out();
  if (written) share_floors(*written);
  RedoLog& log = owner_.environment.log();
  if (written || !failed()) tally_.add(written ? Count::commits : Count::errors);
  end(std::move(snapshot_));
  if (!written) return written.error();
  return *written == 0 ? Status(Done{})
                       : log.finish_commit(*written, now_, owner_.options.durability);
}

// Returns the end of the record in the log, or 0 if there is none to wait for.
Result<Position> Txn::write_out() {
  RedoLog& log = owner_.environment.log();
  if (tree_ == nullptr) {
    if (own_->empty()) return Position{0};
    bool fits = !log.is_direct(snapshot_->state) && log.takes(own_bytes_);
    if (fits && !log.fits_tree(own_bytes_)) {
      Environment::drop_snapshot(*snapshot_);  // it has read all that it needs
      window_ = Window();
      const auto room = log.make_tree_room(own_bytes_);
      if (!room) return room.error();
      fits = *room;
    }
    if (fits) {
      auto end = log.commit(snapshot_->state, *own_, now_);
      const bool has_no_log = snapshot_->state.log.is_none();
      if (end || !has_no_log || end.error().code != Code::full) return end;
    }
  }
  if (const Status direct = go_direct(); !direct) return direct.error();
  if (const Status committed = log.commit_direct(*tree_); !committed) return committed.error();
  return Position{0};
}

// From here on the transaction is one of LMDB. What it has changed so far goes there.
Status Txn::go_direct() {
  RedoLog& log = owner_.environment.log();
  if (tree_ == nullptr) {
    auto tree = log.begin_direct(snapshot_->state);
    if (!tree) return tree.error();
    tree_ = std::move(*tree);
    Environment::drop_snapshot(*snapshot_);
    window_ = Window();
    window_.set_own(own_.get());
    forget_views();
  }
  ++changes_;
  if (!own_->empty()) {
    Window own;
    own.set_own(own_.get());
    WriteCounts written;
    if (Status done = write_to_tree(*tree_, own, written); !done) return done;
    own_->clear();
    forget_views();
  }
  own_bytes_ = 0;
  return Done{};
}

Result<Family> Txn::create_family(std::string_view name) {
  if (ended()) return ended_error();
  if (const Status good = check_family_name(name); !good) return good.error();
  if (catalog().find(name)) return Error{Code::invalid, quoted_family(name) + " already exists"};
  if (catalog().families().size() >= kFamiliesMax) {
    return Error{Code::full, "cannot create " + quoted_family(name) + ": a store has at most " +
                                 std::to_string(kFamiliesMax) + " families"};
  }
  Status made = go_direct();
  std::atomic<std::uint32_t>& next_id = owner_.environment.next_family_id();
  Family family;
  if (made) {
    family = tree_->change_catalog().create(name, next_id.load());
    next_id.store(Catalog::id_of(family) + 1);
    const auto tables = tree_->tables(*catalog().find(family));
    if (!tables) made = tables.error();
  }
  if (made) return family;
  fail(made.error());
  return made.error();
}

Status Txn::drop_family(std::string_view name) {
  if (ended()) return ended_error();
  const std::optional<Family> family = catalog().find(name);
  if (!family) return Error{Code::not_found, quoted_family(name) + " is not in the store"};
  if (*family == Family()) {
    return Error{Code::invalid, "cannot drop the default family (clear it instead)"};
  }
  if (const Status cleared = clear(*view(*family)); !cleared) {
    fail(cleared.error());
    return *failure_;
  }
  tree_->change_catalog().drop(*family);
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
  if (const Status direct = go_direct(); !direct) {
    fail(direct.error());
    return direct;
  }
  tree_->change_catalog().set_default_ttl(family, ttl);
  forget_views();
  return Done{};
}

}  // namespace mayfly::internal
