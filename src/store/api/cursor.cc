// SPDX-License-Identifier: Apache-2.0
#include "mayfly/cursor.h"

#include <utility>

#include "store/api/state.h"

namespace mayfly {

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
  auto state =
      std::unique_ptr<State>(new State(txn, std::move(own), std::move(options.prefix), family));
  state->view_ = view;
  if (const Status opened = state->open_tables(); !opened) return opened.error();
  txn.tally().add(Count::cursors);
  return Cursor(std::move(state));
}

Status Cursor::State::open_tables() {
  rows_.close();
  deadlines_.close();
  changes_ = txn_.changes();
  Status opened = rows_.open(txn_.lmdb(), view_->tables.data, !txn_.is_direct());
  if (opened && view_->has_ttl) opened = deadlines_.open(txn_.lmdb(), view_->tables.keys);
  const internal::Window& window = txn_.window();
  keys_ = window.is_blank() ? internal::WindowKeys() : internal::WindowKeys(window, view_->id);
  hides_ = view_->has_expired;
  takes_all_ = !hides_ && prefix_.empty() && keys_.empty();
  return opened;
}

// The LMDB cursors must go before the transaction.
Cursor::State::~State() {
  rows_.close();
  deadlines_.close();
}

bool Cursor::State::nowhere(Cursor& cursor, const Status& why) {
  cursor.valid_ = false;
  status_ = why;
  return false;
}

// What a jump begins with: whether there is anything to jump to. The same transaction may have
// written since the last one, or dropped the family.
bool Cursor::State::restart(Cursor& cursor) {
  deadlines_.forget();
  if (txn_.is_foreign()) return nowhere(cursor);
  if (!txn_.writes()) return true;
  view_ = txn_.view(family_);
  if (view_ == nullptr) return nowhere(cursor);
  if (txn_.changes() == changes_) return true;
  const Status opened = open_tables();
  return opened.ok() || nowhere(cursor, opened);
}

// Keys that share a long head are not shown in the order in which they are stored.
Time Cursor::State::find_deadline(std::string_view stored) {
  if (stored.size() >= internal::kLongPrefixBytes) deadlines_.forget();
  return deadlines_.find(stored, step_);
}

// Which of the two cursors has the next entry.
void Cursor::State::choose(MDB_cursor_op step) {
  has_row_ = row_on_;
  has_key_ = keys_.valid();
  if (!has_row_ || !has_key_) return;
  const int order = rows_.row().key.compare(keys_.key());
  const bool is_row_first = step == MDB_NEXT ? order < 0 : order > 0;
  if (order != 0 && is_row_first) has_key_ = false;
  if (order != 0 && !is_row_first) has_row_ = false;
}

// Moves those that are on the entry beyond it.
void Cursor::State::pass(MDB_cursor_op step) {
  if (has_row_) row_on_ = rows_.move(step);
  if (has_key_ && step == MDB_NEXT) keys_.next();
  if (has_key_ && step == MDB_PREV) keys_.prev();
}

// The value of the entry, and whether the user may see it.
Result<bool> Cursor::State::read_entry(std::string_view& value) {
  using internal::InTables;
  Time deadline = kNever;
  const std::string_view key = has_key_ ? keys_.key() : rows_.row().key;
  if (has_key_) {
    const InTables& what = keys_.what();
    if (what.state == InTables::State::absent) return false;
    if (what.value == nullptr && !has_row_) return internal::damaged_rows();
    value = what.value != nullptr ? what.value->value() : rows_.row().value;
    deadline = what.deadline;
  } else {
    value = rows_.row().value;
    if (hides_) deadline = find_deadline(rows_.row().stored);
    if (deadlines_.failed()) return deadlines_.status().error();
  }
  if (deadline == kNever || !is_due(deadline, txn_.now())) return true;
  if (own_ != nullptr) own_->record_expired(family_, key);
  return false;
}

bool Cursor::State::show_live(Cursor& cursor, MDB_cursor_op step) {
  if (txn_.is_foreign()) return nowhere(cursor);
  turn(step);
  for (;; pass(step)) {
    choose(step);
    if (!has_row_ && !rows_.status()) return nowhere(cursor, rows_.status());
    if (!has_row_ && !has_key_) return nowhere(cursor);
    const std::string_view key = has_key_ ? keys_.key() : rows_.row().key;
    if (!prefix_.empty() && !key.starts_with(prefix_)) return nowhere(cursor);
    std::string_view value;
    const auto shows = read_entry(value);
    if (!shows) return nowhere(cursor, shows.error());
    if (!*shows) continue;
    cursor.valid_ = true;
    cursor.key_ = key;
    cursor.value_ = value;
    return true;
  }
}

bool Cursor::State::move_on(Cursor& cursor, MDB_cursor_op step) {
  if (txn_.is_foreign()) return nowhere(cursor);
  if (step != step_ && !keys_.empty()) {
    const std::string here(cursor.key_);
    return place(cursor, here, step) && cursor.key_ == here ? move_on(cursor, step) : cursor.valid_;
  }
  turn(step);
  if (keys_.empty()) {
    row_on_ = rows_.move(step);
  } else {
    pass(step);
  }
  return show_live(cursor, step);
}

// Goes to the least key that is not less than `key`, or, backwards, to the greatest not greater.
bool Cursor::State::place(Cursor& cursor, std::string_view key, MDB_cursor_op step) {
  if (step == MDB_NEXT) {
    row_on_ = rows_.seek(key);
    keys_.seek(key);
  } else {
    place_before(key);
  }
  return show_live(cursor, step);
}

void Cursor::State::place_before(std::string_view key) {
  row_on_ = rows_.seek(key);
  if (!row_on_ && rows_.status()) {
    row_on_ = rows_.last();
  } else if (row_on_ && rows_.row().key != key) {
    row_on_ = rows_.prev();
  }
  keys_.seek_before(key);
}

// A short key is stored as it is, so that the row need not be at hand.
Time Cursor::State::deadline(const Cursor& cursor) {
  if (txn_.is_foreign()) return kNever;
  if (!takes_all_ && has_key_) return keys_.what().deadline;
  if (!deadlines_.is_open()) return kNever;
  const bool is_short = cursor.key_.size() <= internal::kShortKeyMax;
  const Time deadline = find_deadline(is_short ? cursor.key_ : rows_.row().stored);
  if (deadlines_.failed()) status_ = deadlines_.status();
  return deadline;
}

bool Cursor::State::first(Cursor& cursor) {
  if (!restart(cursor)) return false;
  if (!prefix_.empty()) return place(cursor, prefix_, MDB_NEXT);
  row_on_ = rows_.first();
  keys_.first();
  return show_live(cursor, MDB_NEXT);
}

bool Cursor::State::last(Cursor& cursor) {
  if (!restart(cursor)) return false;
  const std::string next = internal::after_all(prefix_);
  if (next.empty()) {
    row_on_ = rows_.last();
    keys_.last();
    return show_live(cursor, MDB_PREV);
  }
  place_before(next);  // which has not the prefix itself
  if (row_on_ && rows_.row().key == next) row_on_ = rows_.prev();
  if (keys_.valid() && keys_.key() == next) keys_.prev();
  return show_live(cursor, MDB_PREV);
}

bool Cursor::State::seek(Cursor& cursor, std::string_view key) {
  if (!restart(cursor)) return false;
  return place(cursor, std::max(key, std::string_view(prefix_)), MDB_NEXT);
}

bool Cursor::State::seek_before(Cursor& cursor, std::string_view key) {
  if (!restart(cursor)) return false;
  if (key < prefix_) return nowhere(cursor);
  if (!prefix_.empty() && !key.starts_with(prefix_)) return last(cursor);
  return place(cursor, key, MDB_PREV);
}

Status Cursor::State::status() const {
  if (txn_.is_foreign()) return internal::foreign_error();
  return status_;
}

}  // namespace mayfly
