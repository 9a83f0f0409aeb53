// SPDX-License-Identifier: Apache-2.0
// How a transaction begins and ends, and how it finds and changes families. Reading is in
// txn_read.cc, writing in txn_write.cc.

#include "store/txn/txn.h"

#include <new>
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

Txn::Txn(const Owner& owner, ReadTurn turn)
    : owner_(owner),
      read_turn_(std::move(turn)),
      snapshot_(read_turn_.get()),
      window_(std::move(snapshot_->window)) {}

Txn::Txn(const Owner& owner, WriteTurn turn)
    : owner_(owner),
      turn_(std::move(turn)),
      snapshot_(turn_.snapshot.get()),
      window_(std::move(snapshot_->window)),
      writes_(true) {
  window_.set_own(turn_.own.get());
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
  auto turn = owner.environment.begin_write(busy_timeout);
  if (!turn) return turn.error();
  turn->own = owner.environment.log().take_own_table();
  auto txn = std::make_unique<Txn>(owner, std::move(*turn));
  txn->read_clock();
  return txn;
}

// One that has ended may outlive its store, so it must not touch it.
Txn::~Txn() {
  if (ended()) return;
  if (!writes_ && !expired_seen_.empty() && !owner_.options.read_only) {
    owner_.environment.log().note_expired(expired_seen_);
  }
  end();
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
  if (turn_.tree != nullptr) {
    const auto tables = turn_.tree->tables(*record);
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
  const bool is_damaged = has_row && cursor.key().size() < kDeadlineBytes;
  const bool is_unknown = !readable || !cursor.status() || is_damaged;
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

Error Txn::failure() const {
  if (failure_) return *failure_;
  if (!has_ended_) throw std::bad_alloc();
  return ended_error();
}

Error Txn::missing_family() const {
  if (ended()) return ended_error();
  return {Code::not_found, "no such family: it was dropped, or its creation was not committed"};
}

void Txn::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
  tally_.add(Count::errors);
}

void Txn::record_expired(Family family, std::string_view key) noexcept {
  if (expired_seen_.size() >= kExpiredSeenMax) return;
  try {
    expired_seen_.push_back({family, std::string(key)});
  } catch (const std::bad_alloc&) {
  }
}

void Txn::abort() {
  if (!ended() && owner_.environment.may_end_write()) end();
}

// Calls on a transaction that has ended fail instead of crashing.
void Txn::end() noexcept {
  last_catalog_ = snapshot_->catalog;
  std::exchange(snapshot_, nullptr)->window = std::move(window_);
  has_ended_ = true;
  owner_.tally.add(tally_);
  read_turn_.reset();
  turn_.end();
}

Status Txn::commit() {
  if (ended()) return ended_error();
  if (!owner_.environment.may_end_write()) {
    return Error{Code::invalid,
                 "cannot commit: another thread began the transaction (commit it there)"};
  }
  struct Ending {
    Txn& txn;
    ~Ending() {
      if (!txn.ended()) txn.end();
    }
  };
  const Ending ending{*this};
  return commit_here();
}

Status Txn::commit_here() {
  if (is_torn_) throw std::bad_alloc();
  remove_expired();
  auto written = failed() ? Result<Position>(failure()) : write_out();
  if (written) share_floors(*written);
  RedoLog& log = owner_.environment.log();
  if (written || !failed()) tally_.add(written ? Count::commits : Count::errors);
  end();
  if (!written) return written.error();
  return *written == 0 ? Status(Done{})
                       : log.finish_commit(*written, now_, owner_.options.durability);
}

// Returns the end of the record in the log, or 0 if there is none to wait for.
Result<Position> Txn::write_out() {
  RedoLog& log = owner_.environment.log();
  if (turn_.tree == nullptr) {
    if (turn_.own->empty()) return Position{0};
    bool fits = !log.is_direct(snapshot_->state) && log.takes(own_bytes_);
    if (fits && !log.fits_tree(own_bytes_)) {
      Environment::drop_snapshot(*snapshot_);  // it has read all that it needs
      window_ = Window();
      const auto room = log.make_tree_room(own_bytes_, turn_.patience());
      if (!room) return room.error();
      fits = *room;
    }
    if (fits) {
      auto end = log.commit(snapshot_->state, *turn_.own, now_, turn_.patience());
      const bool has_no_log = snapshot_->state.log.is_none();
      if (end || !has_no_log || end.error().code != Code::full) return end;
    }
  }
  if (const Status direct = go_direct(); !direct) return direct.error();
  if (const Status committed = log.commit_direct(*turn_.tree); !committed) return committed.error();
  return Position{0};
}

// From here on the transaction is one of LMDB. What it has changed so far goes there.
Status Txn::go_direct() {
  Steps steps(*this);
  Status moved = move_to_tree();
  steps.done();
  return moved;
}

Status Txn::move_to_tree() {
  RedoLog& log = owner_.environment.log();
  if (turn_.tree == nullptr) {
    auto tree = log.begin_direct(snapshot_->state, turn_.patience());
    if (!tree) return tree.error();
    turn_.tree = std::move(*tree);
    Environment::drop_snapshot(*snapshot_);
    window_ = Window();
    window_.set_own(turn_.own.get());
    forget_views();
  }
  ++changes_;
  if (!turn_.own->empty()) {
    Window own;
    own.set_own(turn_.own.get());
    WriteCounts written;
    if (Status done = write_to_tree(*turn_.tree, own, written); !done) return done;
    turn_.own->clear();
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
    Steps steps(*this);
    family = turn_.tree->change_catalog().create(name, next_id.load());
    next_id.store(Catalog::id_of(family) + 1);
    const auto tables = turn_.tree->tables(*catalog().find(family));
    if (!tables) made = tables.error();
    steps.done();
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
    return failure();
  }
  Steps steps(*this);
  turn_.tree->change_catalog().drop(*family);
  forget_views();
  steps.done();
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
  Steps steps(*this);
  turn_.tree->change_catalog().set_default_ttl(family, ttl);
  forget_views();
  steps.done();
  return Done{};
}

}  // namespace mayfly::internal
