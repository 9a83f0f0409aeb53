// SPDX-License-Identifier: Apache-2.0
#include "mayfly/cursor.h"

#include <utility>

#include "store/api/state.h"

namespace mayfly {
namespace {

// How long an eviction may keep others from writing.
constexpr std::int64_t kEvictionBudgetNs = 5'000'000;

}  // namespace

Cursor::Cursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

bool Cursor::first() { return state_->first(*this); }
bool Cursor::last() { return state_->last(*this); }
bool Cursor::next() { return valid_ && state_->move(*this, MDB_NEXT); }
bool Cursor::prev() { return valid_ && state_->move(*this, MDB_PREV); }
bool Cursor::seek(std::string_view key) { return state_->seek(*this, key); }
bool Cursor::seek_before(std::string_view key) { return state_->seek_before(*this, key); }
Time Cursor::deadline() const { return state_->deadline(*this); }
Status Cursor::status() const { return state_->status(); }

Cursor::State::State(Txn& txn, std::unique_ptr<Txn> own, std::string prefix, Family family)
    : txn_(txn), own_(std::move(own)), prefix_(std::move(prefix)), family_(family) {}

Result<Cursor> Cursor::State::open(Txn& txn, std::unique_ptr<Txn> own, CursorOptions options,
                                   Family family) {
  FamilyView* const view = txn.view(family);
  if (view == nullptr) return txn.missing_family();
  txn.stop_gathering();
  auto state =
      std::unique_ptr<State>(new State(txn, std::move(own), std::move(options.prefix), family));
  Status opened = state->rows_.open(txn.lmdb(), view->data, !txn.writes());
  if (opened && view->has_ttl) opened = state->deadlines_.open(txn.lmdb(), view->keys);
  if (!opened) return opened.error();
  state->hides_ = view->has_expired;
  state->takes_all_ = !view->has_expired && state->prefix_.empty();
  txn.tally().add(Count::cursors);
  return Cursor(std::move(state));
}

// The LMDB cursors must go before the transaction, and the snapshot before others are kept waiting.
Cursor::State::~State() {
  rows_.close();
  deadlines_.close();
  if (own_ == nullptr) return;
  const std::vector<ExpiredKey> expired = std::move(own_->expired_seen());
  const Txn::Owner owner = own_->owner();
  own_.reset();
  evict(owner, expired);
}

bool Cursor::State::nowhere(Cursor& cursor, const Status& why) {
  cursor.valid_ = false;
  status_ = why;
  return false;
}

// What a jump begins with: whether there is anything to jump to. Since the last one, the same
// transaction may have given the family its first deadline, or dropped it.
bool Cursor::State::restart(Cursor& cursor) {
  deadlines_.forget();
  if (txn_.is_foreign()) return nowhere(cursor);
  if (!txn_.writes()) return true;
  FamilyView* const view = txn_.view(family_);
  if (view == nullptr) return nowhere(cursor);
  hides_ = view->has_expired;
  takes_all_ = !view->has_expired && prefix_.empty();
  if (!view->has_ttl || deadlines_.is_open()) return true;
  const Status opened = deadlines_.open(txn_.lmdb(), view->keys);
  return opened.ok() || nowhere(cursor, opened);
}

// Keys that share a long head are not shown in the order in which they are stored.
Time Cursor::State::find_deadline(std::string_view stored) {
  if (stored.size() >= internal::kLongPrefixBytes) deadlines_.forget();
  return deadlines_.find(stored, step_);
}

bool Cursor::State::show_live(Cursor& cursor, bool there, MDB_cursor_op step) {
  if (txn_.is_foreign()) return nowhere(cursor);
  turn(step);
  for (; there; there = rows_.move(step)) {
    const internal::Row& row = rows_.row();
    if (!prefix_.empty() && !row.key.starts_with(prefix_)) return nowhere(cursor);
    if (hides_) {
      const Time deadline = find_deadline(row.stored);
      if (deadlines_.failed()) return nowhere(cursor, deadlines_.status());
      if (deadline != kNever && is_due(deadline, txn_.now())) {
        if (own_ != nullptr) own_->record_expired(family_, row.stored);
        continue;
      }
    }
    show(cursor);
    return true;
  }
  return nowhere(cursor, rows_.status());
}

// A short key is stored as it is, so that the row need not be at hand.
Time Cursor::State::deadline(const Cursor& cursor) {
  if (!deadlines_.is_open() || txn_.is_foreign()) return kNever;
  const bool is_short = cursor.key_.size() <= internal::kShortKeyMax;
  const Time deadline = find_deadline(is_short ? cursor.key_ : rows_.row().stored);
  if (deadlines_.failed()) status_ = deadlines_.status();
  return deadline;
}

bool Cursor::State::first(Cursor& cursor) {
  if (!restart(cursor)) return false;
  return show_live(cursor, prefix_.empty() ? rows_.first() : rows_.seek(prefix_), MDB_NEXT);
}

bool Cursor::State::last(Cursor& cursor) {
  if (!restart(cursor)) return false;
  const std::string next = internal::after_all(prefix_);
  if (next.empty()) return show_live(cursor, rows_.last(), MDB_PREV);
  bool there = rows_.seek(next);
  if (!there && !rows_.status()) return nowhere(cursor, rows_.status());
  there = there ? rows_.prev() : rows_.last();
  return show_live(cursor, there, MDB_PREV);
}

bool Cursor::State::seek(Cursor& cursor, std::string_view key) {
  if (!restart(cursor)) return false;
  if (key < prefix_) return first(cursor);
  return show_live(cursor, rows_.seek(key), MDB_NEXT);
}

bool Cursor::State::seek_before(Cursor& cursor, std::string_view key) {
  if (!restart(cursor)) return false;
  if (key < prefix_) return nowhere(cursor);
  if (!prefix_.empty() && !key.starts_with(prefix_)) return last(cursor);
  bool there = rows_.seek(key);
  if (!there && !rows_.status()) return nowhere(cursor, rows_.status());
  if (!there) {
    there = rows_.last();
  } else if (rows_.row().key != key) {
    there = rows_.prev();
  }
  return show_live(cursor, there, MDB_PREV);
}

Status Cursor::State::status() const {
  if (txn_.is_foreign()) return internal::foreign_error();
  return status_;
}

void evict(const Txn::Owner& owner, const std::vector<ExpiredKey>& keys) {
  if (keys.empty() || owner.options.read_only || !owner.environment.writable()) return;
  auto txn = Txn::begin_write(owner, Millis::zero());
  if (!txn) return;
  const auto removed = (*txn)->remove_expired(keys, kEvictionBudgetNs);
  if (!removed || *removed == 0) return;
  if ((*txn)->commit().ok()) owner.tally.add(Count::expired_lazily, *removed);
}

}  // namespace mayfly
