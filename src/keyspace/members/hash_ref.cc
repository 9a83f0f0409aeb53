// SPDX-License-Identifier: Apache-2.0
// Hashes in both their forms, and the step from the one to the other.

#include "keyspace/members/hash_ref.h"

#include <algorithm>
#include <utility>

#include "keyspace/database.h"
#include "keyspace/keyspace.h"
#include "keyspace/members/packed_hash.h"
#include "keyspace/members/table_hash.h"

namespace mayfly {

bool HashRef::is_packed() const { return database_.kind(slot_) == Kind::packed_hash; }

std::optional<HashField> HashRef::find_stored(std::string_view field) const {
  const KeyNode& node = database_.node(slot_);
  return is_packed() ? PackedView(node.value()).find(field) : node.table_hash().find(field);
}

bool HashRef::is_dead(Time deadline) const {
  if (deadline == kNever) return false;
  const Keyspace& keyspace = database_.keyspace_;
  return keyspace.policy() != Policy::show && is_due(deadline, keyspace.now());
}

std::string_view HashRef::encoding() const {
  const KeyNode& node = database_.node(slot_);
  const bool is_small = is_packed() && node.is_beyond_limits == 0 && node.has_field_deadlines == 0;
  return is_small ? "listpack" : "hashtable";
}

std::optional<HashField> HashRef::find(std::string_view field) {
  std::optional<HashField> found = find_stored(field);
  if (!found || !is_dead(found->deadline)) return found;
  if (database_.keyspace_.policy() == Policy::reclaim) {
    note_reclaimed(field, found->deadline);
    erase_stored(field);
  }
  return std::nullopt;
}

void HashRef::note_reclaimed(std::string_view field, Time deadline) {
  reclaimed_.emplace_back(field);
  database_.keyspace_.note_expired(Found::on_access, deadline, 0, 1);
}

std::size_t HashRef::stored() const {
  const KeyNode& node = database_.node(slot_);
  return is_packed() ? PackedView(node.value()).count() : node.table_hash().count();
}

std::size_t HashRef::size() const {
  const Keyspace& keyspace = database_.keyspace_;
  const Time now = keyspace.now();
  if (!is_due(database_.earliest_field(slot_), now)) return stored();
  if (keyspace.policy() == Policy::show) return stored();
  const KeyNode& node = database_.node(slot_);
  const std::size_t due =
      is_packed() ? PackedView(node.value()).count_due(now) : node.table_hash().count_due(now);
  return stored() - due;
}

bool HashRef::has_deadlines() const { return database_.node(slot_).has_field_deadlines != 0; }

void HashRef::each(const See& see) const {
  const KeyNode& node = database_.node(slot_);
  const auto see_alive = [&](const HashField& field) {
    return is_dead(field.deadline) || see(field);
  };
  if (is_packed()) {
    PackedView(node.value()).each(see_alive);
  } else {
    node.table_hash().each(see_alive);
  }
}

std::uint64_t HashRef::scan(std::uint64_t cursor, const See& see) const {
  if (is_packed()) {
    each(see);
    return 0;
  }
  return database_.node(slot_).table_hash().scan(cursor, [&](const HashField& field) {
    if (!is_dead(field.deadline)) see(field);
  });
}

HashField HashRef::random(Random& random) const {
  constexpr int kTries = 64;
  if (!is_packed()) {
    const TableHash& table = database_.node(slot_).table_hash();
    for (int i = 0; i < kTries; ++i) {
      const HashField field = table.random(random);
      if (!is_dead(field.deadline)) return field;
    }
  }
  // A packed hash, or one of which nearly all is due: count off.
  std::size_t left = random.below(size());
  HashField chosen{};
  each([&](const HashField& field) {
    chosen = field;
    return left-- > 0;
  });
  return chosen;
}

bool HashRef::put(std::string_view field, std::string_view value, Time deadline) {
  KeyNode*& node = database_.place(slot_);
  bool is_new = true;
  Time before = kNever;
  if (is_packed()) {
    const PackedPut plan = packed_plan_put(node->value(), field, value, deadline);
    is_new = plan.is_new;
    before = plan.old_deadline;
    const std::size_t count = PackedView(node->value()).count() + (is_new ? 1 : 0);
    if (must_be_table(count, plan.size)) {
      turn_into_table();
      node->table_hash().put(field, value, deadline);
    } else {
      apply(plan, field, value);
    }
  } else {
    if (node->has_field_deadlines != 0) {
      if (const auto found = node->table_hash().find(field)) before = found->deadline;
    }
    is_new = node->table_hash().put(field, value, deadline);
  }
  if (deadline != kNever || node->has_field_deadlines != 0) database_.refile(slot_);
  if (is_new || !is_dead(before)) return is_new;
  if (database_.keyspace_.policy() == Policy::reclaim) note_reclaimed(field, before);
  return true;
}

void HashRef::apply(const PackedPut& plan, std::string_view field, std::string_view value) {
  KeyNode*& node = database_.place(slot_);
  const std::size_t size = node->value_size;
  node = resize_value(node, std::max(size, plan.size));
  packed_apply(node->value_data(), size, plan, field, value);
  if (plan.size < size) node = resize_value(node, plan.size);
  const KeyspaceOptions& options = database_.keyspace_.options();
  if (std::max(field.size(), value.size()) > options.packed_value_max) node->is_beyond_limits = 1;
}

bool HashRef::must_be_table(std::size_t count, std::size_t size) const {
  constexpr std::size_t kBytesMax = 8192;  // of fields beyond the limits: a walk of 2 us
  // A node holds less than 4 GiB; deadlines may be added to what is packed.
  constexpr std::size_t kPackedMost = std::size_t{1} << 30;
  const KeyspaceOptions& options = database_.keyspace_.options();
  if (count > options.packed_entries_max || size > kPackedMost) return true;
  const std::size_t value_max = std::min(options.packed_value_max, kPackedMost);
  return size > std::max(kBytesMax, count * (2 * value_max + 24));
}

bool HashRef::put_keeping_deadline(std::string_view field, std::string_view value) {
  const std::optional<HashField> found = find_stored(field);
  const bool kept = found && !is_dead(found->deadline);
  return put(field, value, kept ? found->deadline : kNever);
}

void HashRef::turn_into_table() {
  KeyNode*& node = database_.place(slot_);
  auto table = std::make_unique<TableHash>(database_.keyspace_.options().seed);
  PackedView(node->value()).each([&](const HashField& field) {
    table->put(field.field, field.value, field.deadline);
    return true;
  });
  node = resize_value(node, sizeof(void*));
  node->kind = static_cast<std::uint32_t>(Kind::table_hash) & 0xF;
  node->set_table_hash(table.release());
}

bool HashRef::set_deadline(std::string_view field, Time deadline) {
  const std::optional<HashField> found = find(field);
  if (!found) return false;
  if (found->deadline == deadline) return true;
  KeyNode*& node = database_.place(slot_);
  if (is_packed()) {
    const std::size_t before = node->value_size;
    const std::size_t after = packed_set_deadline_size(node->value(), field, deadline);
    node = resize_value(node, std::max(before, after));
    packed_set_deadline(node->value_data(), before, field, deadline);
    if (after < before) node = resize_value(node, after);
  } else {
    node->table_hash().set_deadline(field, deadline);
  }
  database_.refile(slot_);
  return true;
}

bool HashRef::erase(std::string_view field) {
  if (!find(field)) return false;
  erase_stored(field);
  return true;
}

bool HashRef::expire(std::string_view field) {
  if (!erase(field)) return false;
  ++database_.keyspace_.stats().expired_fields;
  return true;
}

void HashRef::erase_stored(std::string_view field) {
  KeyNode*& node = database_.place(slot_);
  if (is_packed()) {
    const std::size_t size = packed_erase(node->value_data(), node->value_size, field);
    node = resize_value(node, size);
  } else {
    node->table_hash().erase(field);
  }
  if (node->has_field_deadlines != 0) database_.refile(slot_);
}

bool HashRef::settle() {
  const bool emptied = stored() == 0;
  if (!emptied && reclaimed_.empty()) return false;
  const std::string key(database_.key(slot_));
  if (emptied) database_.unlink(slot_);
  if (!reclaimed_.empty()) {
    database_.keyspace_.listener().fields_expired(database_, key, reclaimed_, false,
                                                  Found::on_access);
    reclaimed_.clear();
  }
  return emptied;
}

}  // namespace mayfly
