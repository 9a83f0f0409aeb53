// SPDX-License-Identifier: Apache-2.0
// Keys: finding, making, changing and removing them. What is due is database_sweep.cc's.

#include "keyspace/database.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "keyspace/eviction.h"
#include "keyspace/hasher.h"
#include "keyspace/keyspace.h"
#include "keyspace/members/packed_hash.h"
#include "keyspace/members/table_hash.h"

namespace mayfly {
namespace {

constexpr std::size_t kFreedAtOnce = 64;  // fields: about 5 us

void fill(KeyNode& node, std::string_view value) {
  if (!value.empty()) std::memcpy(node.value_data(), value.data(), value.size());
}

}  // namespace

Database::Database(Keyspace& keyspace, int number)
    : keyspace_(keyspace), number_(number), contents_(std::make_unique<Contents>()) {}

Database::~Database() = default;

std::uint64_t Database::hash_of(std::string_view key) const {
  return hash_bytes(key, keyspace_.options().seed);
}

Slot Database::stored_slot(std::string_view key) const {
  return contents_->table.find(hash_of(key), [&](Slot slot) { return this->key(slot) == key; });
}

Slot Database::find(std::string_view key) {
  const Slot slot = stored_slot(key);
  if (slot == kNoSlot || is_alive(slot)) return slot;
  if (keyspace_.policy() == Policy::reclaim) reclaim(slot);
  return kNoSlot;
}

Slot Database::peek(std::string_view key) const {
  const Slot slot = stored_slot(key);
  return slot == kNoSlot || is_alive(slot) ? slot : kNoSlot;
}

Slot Database::add(KeyNode* node) {
  node->access = first_access(keyspace_.options().uses_lfu, keyspace_.now()) & kAccessMask;
  const Slot slot = contents_->nodes.emplace(node);
  contents_->table.insert(hash_of(node->key()), slot,
                          [this](Slot other) { return hash_of(key(other)); });
  return slot;
}

void Database::touch(Slot slot) {
  if (!keyspace_.notes_use()) return;
  KeyNode& node = *place(slot);
  const std::uint32_t access = touched_access(node.access, keyspace_.options().uses_lfu,
                                              keyspace_.now(), keyspace_.random());
  if (access != node.access)
    node.access = access & kAccessMask;  // a page is not dirtied for naught
}

Time Database::deadline(Slot slot) const {
  return node(slot).has_deadline != 0 ? contents_->keys.deadline(slot) : kNever;
}

void Database::set_deadline(Slot slot, Time deadline) {
  KeyNode& node = *place(slot);
  if (deadline == kNever && node.has_deadline == 0) return;
  contents_->keys.schedule(slot, deadline);
  node.has_deadline = deadline != kNever;
}

Time Database::earliest_field(Slot slot) const {
  return node(slot).has_field_deadlines != 0 ? contents_->members.deadline(slot) : kNever;
}

Slot Database::put_string(std::string_view key, std::string_view value) {
  const Slot slot = stored_slot(key);
  if (slot == kNoSlot) {
    KeyNode* const node = make_node(Kind::string, key, value.size());
    fill(*node, value);
    return add(node);
  }
  set_deadline(slot, kNever);
  if (is_hash(slot)) {
    KeyNode* const node = make_node(Kind::string, key, value.size());
    node->access = place(slot)->access;
    if (place(slot)->has_field_deadlines != 0) contents_->members.cancel(slot);
    free_value(*place(slot));
    free_node(std::exchange(place(slot), node));
  }
  set_string(slot, value);
  return slot;
}

void Database::set_string(Slot slot, std::string_view value) {
  assert(is_string(slot));
  KeyNode*& node = place(slot);
  node = resize_value(node, value.size());
  node->is_raw = 0;
  fill(*node, value);
}

char* Database::resize_string(Slot slot, std::size_t size) {
  assert(is_string(slot));
  KeyNode*& node = place(slot);
  const std::size_t before = node->value_size;
  node = resize_value(node, size, true);
  node->is_raw = 1;
  if (size > before) std::memset(node->value_data() + before, 0, size - before);
  return node->value_data();
}

void Database::make_way(std::string_view key) {
  const Slot slot = stored_slot(key);
  if (slot != kNoSlot) unlink(slot);
}

Slot Database::make_hash(std::string_view key) {
  make_way(key);
  KeyNode* const node = make_node(Kind::packed_hash, key, kPackedEmptySize);
  packed_create(node->value_data());
  return add(node);
}

void Database::free_value(KeyNode& node) {
  if (node.type() != Kind::table_hash) return;
  std::unique_ptr<TableHash> hash(&node.table_hash());
  if (hash->count() > kFreedAtOnce) keyspace_.graveyard().bury(std::move(hash));
}

void Database::unlink(Slot slot) {
  KeyNode* const node = place(slot);
  contents_->table.erase(hash_of(node->key()), slot,
                         [this](Slot other) { return hash_of(key(other)); });
  if (node->has_deadline != 0) contents_->keys.cancel(slot);
  if (node->has_field_deadlines != 0) contents_->members.cancel(slot);
  free_value(*node);
  free_node(node);
  contents_->nodes.erase(slot);
}

void Database::erase(Slot slot) { unlink(slot); }

void Database::rename(Slot slot, std::string_view key) {
  make_way(key);
  const auto hash_of_slot = [this](Slot other) { return hash_of(this->key(other)); };
  contents_->table.erase(hash_of(this->key(slot)), slot, hash_of_slot);
  place(slot) = rename_node(place(slot), key);
  contents_->table.insert(hash_of(key), slot, hash_of_slot);
}

Slot Database::move(Slot slot, Database& to, std::string_view key) {
  to.make_way(key);
  KeyNode*& node = place(slot);
  const Time deadline = this->deadline(slot);
  KeyNode* const moved = make_node(node->type(), key, node->value_size);
  fill(*moved, node->value());
  moved->is_raw = node->is_raw;
  moved->is_beyond_limits = node->is_beyond_limits;
  const std::uint32_t access = node->access;
  if (node->type() == Kind::table_hash) node->kind = static_cast<std::uint32_t>(Kind::string) & 0xF;
  unlink(slot);  // its value belongs to the other node now

  const Slot target = to.add(moved);
  to.set_access(target, access & kAccessMask);
  to.set_deadline(target, deadline);
  if (to.is_hash(target)) to.refile(target);
  return target;
}

Slot Database::copy(Slot slot, Database& to, std::string_view key) {
  Slot target = kNoSlot;
  if (is_string(slot)) {
    target = to.put_string(key, string(slot));
    to.place(target)->is_raw = node(slot).is_raw;
  } else {
    target = to.make_hash(key);
    HashRef copied = to.hash(target);
    hash(slot).each([&](const HashField& field) {
      copied.put(field.field, field.value, field.deadline);
      return true;
    });
  }
  to.set_deadline(target, deadline(slot));
  return target;
}

void Database::fit() {
  contents_->table.fit([this](Slot other) { return hash_of(key(other)); });
}

void Database::clear() {
  keyspace_.graveyard().bury(std::exchange(contents_, std::make_unique<Contents>()));
}

void Database::swap_contents(Database& other) { std::swap(contents_, other.contents_); }

Slot Database::random(Random& random) const {
  const std::size_t extent = contents_->nodes.extent();
  if (extent == 0) return kNoSlot;
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const auto slot = static_cast<Slot>(random.below(extent));
    if (contents_->nodes.is_used(slot) && is_alive(slot)) return slot;
  }
  // Nearly all is dead or gone: from a random place on, the first one alive.
  const auto start = static_cast<Slot>(random.below(extent));
  for (Slot slot = contents_->nodes.next(start); slot != kNoSlot;
       slot = contents_->nodes.next(slot + 1)) {
    if (is_alive(slot)) return slot;
  }
  for (Slot slot = contents_->nodes.next(0); slot != kNoSlot && slot < start;
       slot = contents_->nodes.next(slot + 1)) {
    if (is_alive(slot)) return slot;
  }
  return kNoSlot;
}

void Database::each(const std::function<bool(Slot)>& see) const {
  for (Slot slot = contents_->nodes.next(0); slot != kNoSlot;
       slot = contents_->nodes.next(slot + 1)) {
    if (!see(slot)) return;
  }
}

}  // namespace mayfly
