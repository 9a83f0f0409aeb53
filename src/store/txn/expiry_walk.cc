// SPDX-License-Identifier: Apache-2.0

#include "store/txn/expiry_walk.h"

#include <tuple>
#include <utility>

#include "store/rows/stored_key.h"
#include "store/txn/txn.h"

namespace mayfly::internal {

TreeDeadlines::TreeDeadlines(MDB_txn* txn, const FamilyTables& tables, Window window,
                             std::uint32_t family)
    : txn_(txn), tables_(tables), window_(std::move(window)), family_(family) {
  if (tables.deadlines != 0) status_ = cursor_.open(txn, tables.deadlines);
}

void TreeDeadlines::seek(Time from) {
  if (!cursor_.is_open()) return;
  settle(cursor_.move(MDB_SET_RANGE, encode_deadline(from).view()));
}

// A long key stands in the data only.
bool TreeDeadlines::read_key(std::string_view stored) {
  key_ = stored;
  if (!is_long(stored)) return true;
  const auto row = get_row(txn_, tables_.data, stored);
  if (!row) {
    status_ = row.error();
    return false;
  }
  const LongValueResult split = split_long_value(row->value_or(std::string_view()));
  if (!split.ok) status_ = damaged_rows();
  key_ = split.parts.key;
  return split.ok;
}

void TreeDeadlines::settle(bool there) {
  valid_ = false;
  for (; there; there = cursor_.move(MDB_NEXT)) {
    if (!read_key(cursor_.key().substr(kDeadlineBytes))) return;
    if (window_.is_blank() || window_.find(family_, key_).state == InTables::State::unknown) break;
  }
  if (!there) {
    status_ = cursor_.status();
    return;
  }
  deadline_ = decode_deadline(cursor_.key());
  valid_ = true;
}

ExpiryWalk::ExpiryWalk(const Txn& txn, const FamilyView& view)
    : tree_(txn.lmdb(), view.tables, txn.window(), view.id), tables_(txn.window(), view.id) {}

void ExpiryWalk::seek(Time from) {
  tree_.seek(from);
  tables_.seek(from);
  choose();
}

void ExpiryWalk::next() {
  if (is_in_tree_) {
    tree_.next();
  } else {
    tables_.next();
  }
  choose();
}

void ExpiryWalk::choose() {
  is_in_tree_ =
      tree_.valid() && (!tables_.valid() || std::tuple(tree_.deadline(), tree_.key()) <
                                                std::tuple(tables_.deadline(), tables_.key()));
}

}  // namespace mayfly::internal
