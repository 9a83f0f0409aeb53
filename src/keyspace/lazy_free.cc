// SPDX-License-Identifier: Apache-2.0
// Freeing tables of members and whole databases in slices.

#include "keyspace/lazy_free.h"

#include <utility>

#include "keyspace/database.h"
#include "keyspace/value.h"

namespace mayfly {

Contents::~Contents() {
  while (free_some(1024) > 0) {
  }
}

std::size_t Contents::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit) {
    const Slot slot = nodes.next(cursor);
    if (slot == kNoSlot) break;
    cursor = slot;
    KeyNode* const node = nodes[slot];
    if (form_of(*node) == ValueForm::table) {
      MemberTable& members_table = node->member_table();
      const std::size_t before = members_table.count();
      const std::size_t left = members_table.free_some(limit - freed);
      freed += before - left;
      if (left > 0) break;  // the next slice frees the rest
      std::unique_ptr<MemberTable>(&members_table).reset();
    }
    free_node(node);
    nodes.erase(slot);
    ++freed;
  }
  return freed;
}

LazyFree::LazyFree() = default;
LazyFree::~LazyFree() = default;

void LazyFree::defer_free(std::unique_ptr<MemberTable> members) {
  tables_.push_back(std::move(members));
}

void LazyFree::defer_free(std::unique_ptr<Contents> contents) {
  contents_.push_back(std::move(contents));
}

std::size_t LazyFree::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !tables_.empty()) {
    MemberTable& table = *tables_.back();
    const std::size_t before = table.count();
    const std::size_t left = table.free_some(limit - freed);
    freed += before - left;
    if (left == 0) tables_.pop_back();
  }
  while (freed < limit && !contents_.empty()) {
    const std::size_t some = contents_.back()->free_some(limit - freed);
    freed += some;
    if (some == 0) contents_.pop_back();
  }
  return freed;
}

std::size_t LazyFree::pending() const {
  std::size_t count = 0;
  for (const auto& table : tables_) count += table->count();
  for (const auto& contents : contents_) count += contents->nodes.size();
  return count;
}

}  // namespace mayfly
