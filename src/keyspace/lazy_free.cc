// SPDX-License-Identifier: Apache-2.0
// Freeing large values and whole databases in slices.

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
    freed += mayfly::free_some(value, limit - freed);
    if (freed >= limit) break;  // the next slice frees the rest
    const Slot slot = nodes.next(cursor);
    if (slot == kNoSlot) break;
    cursor = slot;
    KeyNode* const node = nodes[slot];
    value = take_outside(*node);
    free_node(node);
    nodes.erase(slot);
    ++freed;
  }
  return freed;
}

LazyFree::LazyFree() = default;
LazyFree::~LazyFree() = default;

void LazyFree::defer_free(OutsideValue value, EntrySums* sums) {
  values_.push_back({std::move(value), sums});
}

void LazyFree::defer_free(std::unique_ptr<Contents> contents) {
  for (Deferred& deferred : values_) {
    if (deferred.sums == &contents->sums) deferred.sums = nullptr;
  }
  contents_.push_back(std::move(contents));
}

std::size_t LazyFree::free_some(Deferred& deferred, std::size_t limit) {
  if (deferred.sums == nullptr) return mayfly::free_some(deferred.value, limit);
  EntrySums& sums = *deferred.sums;
  auto& table = std::get<std::unique_ptr<MemberTable>>(deferred.value);
  const std::size_t before = table->count();
  const std::size_t left = table->free_some(limit, [&](const Member& member) {
    const std::size_t bytes =
        MemberTable::member_bytes(member.name.size(), member.value.size(), table->payload());
    sums.table_members.remove(member.deadline, bytes);
  });
  if (!table->has_deadlines()) {
    std::erase(sums.leaving, table.get());
    deferred.sums = nullptr;
  }
  return before - left;
}

std::size_t LazyFree::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !values_.empty()) {
    freed += free_some(values_.back(), limit - freed);
    if (weight_of(values_.back().value) == 0) values_.pop_back();
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
  for (const Deferred& deferred : values_) count += weight_of(deferred.value);
  for (const auto& contents : contents_) count += contents->nodes.size();
  return count;
}

}  // namespace mayfly
