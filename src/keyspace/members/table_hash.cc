// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/table_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#include "keyspace/hasher.h"
#include "keyspace/members/varint.h"

namespace mayfly {

namespace {

// What an allocation of `size` bytes takes with jemalloc: classes of 16 bytes up to 128, then four
// for each doubling. We ask for the whole of a class, so that the size of what a node holds tells
// how much it can hold, with any allocator and without asking it.
std::size_t class_of(std::size_t size) {
  const std::size_t step = size <= 128 ? 16 : std::bit_floor(size - 1) / 4;
  assert(step >= 16);
  return (size + step - 1) / step * step;
}

std::size_t node_size(std::size_t field_size, std::size_t value_size) {
  return varint_size(field_size) + varint_size(value_size) + field_size + value_size;
}

char* obtain(std::size_t size) {
  auto* const bytes = static_cast<char*>(std::malloc(class_of(size)));
  if (bytes == nullptr) throw std::bad_alloc();
  return bytes;
}

// Copies what may be nothing.
void copy(char* to, std::string_view from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

constexpr std::size_t kIndexBytes = 15;  // a deadline, see VolatileSet

}  // namespace

FieldNode::FieldNode(std::string_view field, std::string_view value)
    : bytes_(obtain(node_size(field.size(), value.size()))) {
  char* const to = write_varint(write_varint(bytes_.get(), field.size()), value.size());
  copy(to, field);
  copy(to + field.size(), value);
}

HashField FieldNode::read() const {
  const char* at = bytes_.get();
  const std::size_t field_size = read_varint(at);
  const std::size_t value_size = read_varint(at);
  return {.field = {at, field_size}, .value = {at + field_size, value_size}};
}

void FieldNode::set_value(std::string_view value) {
  const HashField old = read();
  if (varint_size(value.size()) != varint_size(old.value.size()) ||
      class_of(node_size(old.field.size(), value.size())) != bytes()) {
    *this = FieldNode(old.field, value);
    return;
  }
  write_varint(bytes_.get() + varint_size(old.field.size()), value.size());
  copy(bytes_.get() + (old.value.data() - bytes_.get()), value);
}

std::size_t FieldNode::bytes() const {
  const HashField content = read();
  return class_of(node_size(content.field.size(), content.value.size()));
}

std::optional<HashField> TableHash::find(std::string_view field) const {
  const Slot slot = slot_of(field, hash_of(field));
  return slot == kNoSlot ? std::nullopt : std::optional(at(slot));
}

bool TableHash::put(std::string_view field, std::string_view value, Time deadline) {
  const std::uint64_t hash = hash_of(field);
  Slot slot = slot_of(field, hash);
  const bool is_new = slot == kNoSlot;
  if (is_new) {
    slot = nodes_->emplace(field, value);
    table_.insert(hash, slot, [this](Slot other) { return hash_of((*nodes_)[other].field()); });
    if (index_) index_->reserve(nodes_->extent());
  } else {
    node_bytes_ -= (*nodes_)[slot].bytes();
    (*nodes_)[slot].set_value(value);
  }
  node_bytes_ += (*nodes_)[slot].bytes();
  schedule(slot, deadline);
  return is_new;
}

bool TableHash::add(const HashField& field, std::uint64_t hash) {
  if (slot_of(field.field, hash) != kNoSlot) return false;
  const Slot slot = nodes_->emplace(field.field, field.value);
  table_.insert(hash, slot, [this](Slot other) { return hash_of((*nodes_)[other].field()); });
  if (index_) index_->reserve(nodes_->extent());
  node_bytes_ += (*nodes_)[slot].bytes();
  schedule(slot, field.deadline);
  return true;
}

bool TableHash::put_new(std::span<const HashField> fields) {
  // Buckets lie anywhere in memory: each is asked for well ahead of its turn.
  std::array<std::uint64_t, 16> hashes{};
  const std::size_t ahead = std::min(fields.size(), hashes.size());
  const auto look_ahead = [&](std::size_t i) {
    hashes[i % hashes.size()] = hash_of(fields[i].field);
    table_.prefetch(hashes[i % hashes.size()]);
  };
  for (std::size_t i = 0; i < ahead; ++i) look_ahead(i);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!add(fields[i], hashes[i % hashes.size()])) return false;
    if (i + hashes.size() < fields.size()) look_ahead(i + hashes.size());
  }
  return true;
}

void TableHash::fit() {
  table_.fit([this](Slot other) { return hash_of((*nodes_)[other].field()); });
}

bool TableHash::set_deadline(std::string_view field, Time deadline) {
  const Slot slot = slot_of(field, hash_of(field));
  if (slot == kNoSlot) return false;
  schedule(slot, deadline);
  return true;
}

bool TableHash::erase(std::string_view field) {
  const std::uint64_t hash = hash_of(field);
  const Slot slot = slot_of(field, hash);
  if (slot == kNoSlot) return false;
  schedule(slot, kNever);
  remove(slot, hash);
  return true;
}

std::size_t TableHash::take_due(Time now, std::size_t limit, std::vector<std::string>& fields,
                                std::vector<Time>* deadlines) {
  if (!index_ || !is_due(index_->next_deadline(), now)) return 0;
  std::vector<Due> due;
  index_->take_due(now, limit, due);

  // Nodes and buckets lie anywhere in memory: each is asked for some way ahead of its turn.
  constexpr std::size_t kAhead = 8;
  std::vector<std::uint64_t> hashes(due.size());
  for (const Due& taken : due) (*nodes_)[taken.slot].prefetch();
  for (std::size_t i = 0; i < due.size(); ++i) {
    hashes[i] = hash_of((*nodes_)[due[i].slot].field());
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (i + kAhead < due.size()) table_.prefetch(hashes[i + kAhead]);
    fields.emplace_back((*nodes_)[due[i].slot].field());
    if (deadlines != nullptr) deadlines->push_back(due[i].deadline);
    remove(due[i].slot, hashes[i]);
  }
  if (index_->size() == 0) index_.reset();
  return due.size();
}

Time TableHash::exact_earliest() const {
  Time least = kNever;
  visit_expiring(Time::min(), kNever, [&](const HashField& field) {
    least = field.deadline;
    return false;
  });
  return least;
}

std::size_t TableHash::free_some(std::size_t limit) {
  table_.clear();
  index_.reset();
  for (Slot slot = nodes_->next(0); slot != kNoSlot && limit > 0; --limit) {
    nodes_->erase(slot);
    slot = nodes_->next(slot);
  }
  return nodes_->size();
}

std::size_t TableHash::bytes() const {
  const std::size_t slots = nodes_->size() * sizeof(FieldNode);
  return sizeof(*this) + sizeof(*nodes_) + node_bytes_ + slots + table_.bytes() +
         deadline_count() * kIndexBytes;
}

HashField TableHash::at(Slot slot) const {
  HashField found = (*nodes_)[slot].read();
  if (index_) found.deadline = index_->deadline(slot);
  return found;
}

std::uint64_t TableHash::hash_of(std::string_view field) const { return hash_bytes(field, seed_); }

Slot TableHash::slot_of(std::string_view field, std::uint64_t hash) const {
  return table_.find(hash, [&](Slot slot) { return (*nodes_)[slot].field() == field; });
}

void TableHash::schedule(Slot slot, Time deadline) {
  if (!index_) {
    if (deadline == kNever) return;
    index_ = std::make_unique<VolatileSet>();
    index_->reserve(nodes_->extent());
  }
  index_->schedule(slot, deadline);
  if (index_->size() == 0) index_.reset();
}

// REQUIRES: the slot has no deadline any more.
void TableHash::remove(Slot slot, std::uint64_t hash) {
  node_bytes_ -= (*nodes_)[slot].bytes();
  nodes_->erase(slot);
  table_.erase(hash, slot, [this](Slot other) { return hash_of((*nodes_)[other].field()); });
}

std::string TableHash::check_invariants() const {
  const auto hash_of_slot = [this](Slot slot) { return hash_of((*nodes_)[slot].field()); };
  if (std::string wrong = table_.check_invariants(hash_of_slot); !wrong.empty()) return wrong;
  if (table_.size() != nodes_->size()) return "a table of another size than its nodes";
  std::size_t bytes = 0;
  std::size_t deadlines = 0;
  for (Slot slot = nodes_->next(0); slot != kNoSlot; slot = nodes_->next(slot + 1)) {
    const FieldNode& node = (*nodes_)[slot];
    if (slot_of(node.field(), hash_of(node.field())) != slot) return "a field that is not found";
    bytes += node.bytes();
    if (at(slot).deadline != kNever) ++deadlines;
  }
  if (bytes != node_bytes_) return "a wrong sum of bytes";
  if (deadlines != deadline_count()) return "a deadline without a field";
  if (index_ && index_->size() == 0) return "an index without a deadline";
  return index_ ? index_->check_invariants() : "";
}

}  // namespace mayfly
