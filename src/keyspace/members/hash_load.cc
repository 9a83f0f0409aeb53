// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/hash_load.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "keyspace/database.h"
#include "keyspace/hasher.h"
#include "keyspace/keyspace.h"
#include "keyspace/members/packed_hash.h"
#include "keyspace/members/table_hash.h"

namespace mayfly {
namespace {

// So few are compared with each other faster than they are hashed.
constexpr std::size_t kPairwise = 8;

bool has_twins_pairwise(std::span<const HashField> fields) {
  for (std::size_t i = 1; i < fields.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (fields[i].field == fields[j].field) return true;
    }
  }
  return false;
}

}  // namespace

void HashLoad::begin(Database& database, std::string_view key, std::size_t expected) {
  assert(slot_ == kNoSlot);
  database_ = &database;
  key_.assign(key);
  expected_ = expected;
}

bool HashLoad::add(std::span<const HashField> fields) {
  if (fields.empty()) return true;
  const bool fits = slot_ == kNoSlot && fits_packed(fields);
  const bool is_sound = fits ? make_packed(fields) : fill_table(fields);
  if (slot_ != kNoSlot) database_->refile(slot_);
  return is_sound;
}

Slot HashLoad::end() {
  if (slot_ != kNoSlot && database_->kind(slot_) == Kind::table_hash) {
    database_->node(slot_).table_hash().fit();
  }
  database_ = nullptr;
  return std::exchange(slot_, kNoSlot);
}

bool HashLoad::fits_packed(std::span<const HashField> fields) const {
  if (fields.size() > kPackedFieldsMax) return false;
  return !HashRef(*database_, kNoSlot).must_be_table(fields.size(), packed_size(fields));
}

// Open addressing, at most half full.
bool HashLoad::has_twins(std::span<const HashField> fields) {
  if (fields.size() <= kPairwise) return has_twins_pairwise(fields);
  const std::size_t mask = std::bit_ceil(fields.size() * 2) - 1;
  cells_.assign(mask + 1, {});
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::uint64_t hash = hash_bytes(fields[i].field, database_->keyspace().options().seed);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & mask;
    for (; cells_[at].number != 0; at = (at + 1) & mask) {
      if (cells_[at].tag == tag && fields[cells_[at].number - 1].field == fields[i].field) {
        return true;
      }
    }
    cells_[at] = {.tag = tag, .number = static_cast<std::uint32_t>(i + 1)};
  }
  return false;
}

bool HashLoad::make_packed(std::span<const HashField> fields) {
  if (has_twins(fields)) return false;
  KeyNode* const node = make_node(Kind::packed_hash, key_, packed_size(fields));
  packed_build(node->value_data(), fields);
  const std::size_t long_size = database_->keyspace().options().packed_value_max;
  node->is_beyond_limits = std::ranges::any_of(fields, [&](const HashField& field) {
    return std::max(field.field.size(), field.value.size()) > long_size;
  });
  slot_ = database_->add(node);
  return true;
}

bool HashLoad::fill_table(std::span<const HashField> fields) {
  const bool is_first = slot_ == kNoSlot;
  if (is_first) {
    KeyNode* const node = make_node(Kind::packed_hash, key_, kPackedEmptySize);
    packed_create(node->value_data());
    slot_ = database_->add(node);
  }
  if (database_->kind(slot_) == Kind::packed_hash) HashRef(*database_, slot_).turn_into_table();
  TableHash& table = database_->node(slot_).table_hash();
  if (is_first) table.reserve(std::max(expected_, fields.size()));
  return table.put_new(fields);
}

}  // namespace mayfly
