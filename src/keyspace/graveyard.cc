// SPDX-License-Identifier: Apache-2.0
// Freeing what was buried.

#include "keyspace/graveyard.h"

#include <memory>
#include <utility>

#include "keyspace/database.h"
#include "keyspace/members/table_hash.h"

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
    if (KeyNode* const node = nodes[slot]; node->type() == Kind::table_hash) {
      TableHash& hash = node->table_hash();
      const std::size_t before = hash.count();
      const std::size_t left = hash.free_some(limit - freed);
      freed += before - left;
      if (left > 0) break;  // the rest of it comes with the next slice
      std::unique_ptr<TableHash>(&hash).reset();
    }
    free_node(nodes[slot]);
    nodes.erase(slot);
    ++freed;
  }
  return freed;
}

Graveyard::Graveyard() = default;
Graveyard::~Graveyard() = default;

void Graveyard::bury(std::unique_ptr<TableHash> hash) { hashes_.push_back(std::move(hash)); }

void Graveyard::bury(std::unique_ptr<Contents> contents) {
  contents_.push_back(std::move(contents));
}

std::size_t Graveyard::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !hashes_.empty()) {
    TableHash& hash = *hashes_.back();
    const std::size_t before = hash.count();
    const std::size_t left = hash.free_some(limit - freed);
    freed += before - left;
    if (left == 0) hashes_.pop_back();
  }
  return freed + free_contents(limit - freed);
}

std::size_t Graveyard::free_contents(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !contents_.empty()) {
    const std::size_t some = contents_.back()->free_some(limit - freed);
    freed += some;
    if (some == 0) contents_.pop_back();
  }
  return freed;
}

std::size_t Graveyard::waiting() const {
  std::size_t count = 0;
  for (const auto& hash : hashes_) count += hash->count();
  for (const auto& contents : contents_) count += contents->nodes.size();
  return count;
}

}  // namespace mayfly
