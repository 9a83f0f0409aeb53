// SPDX-License-Identifier: Apache-2.0

#include "store/txn/expiry_walk.h"

#include <tuple>
#include <utility>

#include "store/rows/stored_key.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace {

// To pass fewer rows is cheaper than to remember them.
constexpr std::size_t kWorthKeeping = 16;

// Of long keys LMDB has another order from there on.
std::string head_of(std::string_view key) { return std::string(key.substr(0, kLongPrefixBytes)); }

}  // namespace

TreeDeadlines::TreeDeadlines(MDB_txn* txn, const FamilyTables& tables, Window window,
                             std::uint32_t family, bool passes_damage)
    : txn_(txn),
      tables_(tables),
      window_(std::move(window)),
      family_(family),
      passes_damage_(passes_damage) {
  if (tables.deadlines != 0) status_ = cursor_.open(txn, tables.deadlines);
}

void TreeDeadlines::place(const ExpiryFloor& from) {
  if (!cursor_.is_open()) return;
  load(cursor_.move(MDB_SET_RANGE, ExpiryKey(from.deadline, from.key).bytes()));
}

void TreeDeadlines::seek(const ExpiryFloor& from) {
  place(from);
  settle();
}

void TreeDeadlines::next() {
  step();
  settle();
}

// A long key stands in the data only. False: the row is damaged.
Result<bool> TreeDeadlines::read_row() {
  const std::string_view whole = cursor_.key();
  if (whole.size() <= kDeadlineBytes) return false;
  deadline_ = decode_deadline(whole);
  key_ = whole.substr(kDeadlineBytes);
  if (!is_long(key_)) return true;
  const auto row = get_row(txn_, tables_.data, key_);
  if (!row) return row.error();
  const LongValueResult split = split_long_value(row->value_or(std::string_view()));
  key_ = split.parts.key;
  return split.ok;
}

void TreeDeadlines::load(bool there) {
  valid_ = false;
  for (; there; there = cursor_.move(MDB_NEXT)) {
    const auto sound = read_row();
    valid_ = sound && *sound;
    if (valid_) return;
    if (!sound || !passes_damage_) {
      status_ = sound ? damaged_rows() : sound.error();
      return;
    }
    ++damaged_;
  }
  status_ = cursor_.status();
}

bool TreeDeadlines::is_there() const {
  return window_.is_blank() || window_.find(family_, key_).state == InTables::State::unknown;
}

void TreeDeadlines::settle() {
  while (valid_ && !is_there()) step();
}

ExpiryWalk::ExpiryWalk(Txn& txn, FamilyView& view, Time end)
    : txn_(txn),
      view_(view),
      end_(end),
      tree_(txn.lmdb(), view.tables, txn.window(), view.id),
      tables_(txn.window(), view.id) {}

void ExpiryWalk::seek(const ExpiryFloor& from) {
  const ExpiryFloor& floor = txn_.floor_of(view_);
  const bool is_from_floor =
      std::tie(from.deadline, from.key) <= std::tie(floor.deadline, floor.key);
  const ExpiryFloor start = is_from_floor ? floor : from;
  tree_.place(start);
  tables_.place(start.deadline, start.key);
  passed_ = 0;
  settle();
  if (!is_from_floor || passed_ < kWorthKeeping || !status()) return;
  txn_.raise_floor(view_, place());
}

void ExpiryWalk::remember_front() {
  if (passed_ < kWorthKeeping || !status()) return;
  ExpiryWalk front(txn_, view_, end_);
  front.seek(Time::min());
}

ExpiryFloor ExpiryWalk::place() {
  return choose() ? ExpiryFloor{deadline(), head_of(key())} : ExpiryFloor{kNever};
}

void ExpiryWalk::next() {
  step();
  settle();
}

// Chooses the nearer of the two rows. False: both walks have ended.
bool ExpiryWalk::choose() {
  is_in_tree_ =
      tree_.valid() && (!tables_.valid() || std::tuple(tree_.deadline(), tree_.key()) <
                                                std::tuple(tables_.deadline(), tables_.key()));
  return is_in_tree_ || tables_.valid();
}

void ExpiryWalk::step() {
  if (is_in_tree_) {
    tree_.step();
  } else {
    tables_.step();
  }
}

// Only of the nearer row it is asked whether its entry is there: behind it there may be many that
// are not, which a later walk would pass again.
void ExpiryWalk::settle() {
  for (;; ++passed_) {
    valid_ = choose() && deadline() < end_;
    if (!valid_ || (is_in_tree_ ? tree_.is_there() : tables_.is_there())) return;
    step();
  }
}

}  // namespace mayfly::internal
