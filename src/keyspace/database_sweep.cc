// SPDX-License-Identifier: Apache-2.0
// What is due in a database: whether a key is alive, counts, and removing what is not.

#include <algorithm>

#include "keyspace/database.h"
#include "keyspace/keyspace.h"
#include "keyspace/members/packed_hash.h"
#include "keyspace/members/table_hash.h"

namespace mayfly {
namespace {

// Fields of one hash that go in one batch: one event and one HDEL for all of them.
constexpr std::size_t kFieldsAtOnce = 128;

}  // namespace

bool Database::is_alive(Slot slot) const {
  const KeyNode& node = this->node(slot);
  if (node.has_deadline == 0 && node.has_field_deadlines == 0) return true;
  if (keyspace_.policy() == Policy::show) return true;
  if (is_due(deadline(slot), keyspace_.now())) return false;
  return !is_due(earliest_field(slot), keyspace_.now()) || has_alive_fields(slot);
}

bool Database::has_alive_fields(Slot slot) const {
  const KeyNode& node = this->node(slot);
  if (node.type() == Kind::packed_hash) {
    const PackedView packed(node.value());
    return packed.count() > packed.count_due(keyspace_.now());
  }
  const TableHash& hash = node.table_hash();
  return hash.count() > hash.deadline_count() || hash.count() > hash.count_due(keyspace_.now());
}

bool Database::reclaim(Slot slot) {
  const std::string key(this->key(slot));
  const Time own = deadline(slot);
  if (is_due(own, keyspace_.now())) {
    unlink(slot);
    keyspace_.note_expired(Found::on_access, own, 1, 0);
    keyspace_.listener().key_expired(*this, key, Found::on_access);
    return true;
  }
  const std::size_t fields = hash(slot).stored();
  const Time earliest = earliest_field(slot);
  unlink(slot);
  keyspace_.note_expired(Found::on_access, earliest, 0, fields);
  keyspace_.listener().fields_expired(*this, key, {}, true, Found::on_access);
  return true;
}

std::size_t Database::size() const {
  if (keyspace_.policy() == Policy::show || keyspace_.options().keeps_expired) return stored();
  const Time now = keyspace_.now();
  std::size_t dead = contents_->keys.count_due(now);
  // Hashes of which all fields are due. Few, as long as the sweep is on time.
  contents_->members.visit(Time::min(), now + Millis(1), [&](Slot slot, Time) {
    if (!is_due(deadline(slot), now) && !has_alive_fields(slot)) ++dead;
    return true;
  });
  return stored() - dead;
}

Time Database::next_deadline() const {
  return std::min(contents_->keys.next_deadline(), contents_->members.next_deadline());
}

void Database::refile(Slot slot) {
  KeyNode& node = *place(slot);
  Time earliest = kNever;
  if (node.type() == Kind::packed_hash) {
    earliest = PackedView(node.value()).earliest();
  } else if (node.type() == Kind::table_hash) {
    earliest = node.table_hash().earliest();
  }
  if (earliest == earliest_field(slot)) return;
  contents_->members.schedule(slot, earliest);
  node.has_field_deadlines = earliest != kNever;
}

std::size_t Database::sweep(std::size_t limit) {
  const std::size_t keys = sweep_keys(limit);
  return keys + (keys < limit ? sweep_members(limit - keys) : 0);
}

std::size_t Database::sweep_keys(std::size_t limit) {
  const Time now = keyspace_.now();
  if (!is_due(contents_->keys.next_deadline(), now)) return 0;
  std::vector<Due>& due = keyspace_.scratch();
  due.clear();
  contents_->keys.take_due(now, limit, due);
  for (const Due& taken : due) {
    place(taken.slot)->has_deadline = 0;
    const std::string key(this->key(taken.slot));
    unlink(taken.slot);
    keyspace_.note_expired(Found::by_sweep, taken.deadline, 1, 0);
    keyspace_.listener().key_expired(*this, key, Found::by_sweep);
  }
  return due.size();
}

std::size_t Database::sweep_members(std::size_t limit) {
  const Time now = keyspace_.now();
  std::size_t swept = 0;
  std::vector<Due>& due = keyspace_.scratch();
  while (swept < limit && is_due(contents_->members.next_deadline(), now)) {
    due.clear();
    if (contents_->members.take_due(now, 1, due) == 0) break;
    place(due.front().slot)->has_field_deadlines = 0;
    swept +=
        sweep_fields(due.front().slot, std::min(limit - swept, kFieldsAtOnce), Found::by_sweep);
  }
  return swept;
}

std::size_t Database::sweep_fields(Slot slot, std::size_t limit, Found found) {
  const Time now = keyspace_.now();
  std::vector<std::string> fields;
  std::vector<Time> deadlines;
  KeyNode& node = *place(slot);
  if (node.type() == Kind::packed_hash) {
    node.value_size = static_cast<std::uint32_t>(
        packed_take_due(node.value_data(), node.value_size, now, limit, fields, &deadlines));
    place(slot) = resize_value(place(slot), node.value_size);
  } else {
    node.table_hash().take_due(now, limit, fields, &deadlines);
  }
  refile(slot);
  for (const Time deadline : deadlines) keyspace_.note_expired(found, deadline, 0, 1);

  const bool emptied = hash(slot).stored() == 0;
  if (fields.empty()) return 0;
  const std::string key(this->key(slot));
  if (emptied) unlink(slot);
  keyspace_.listener().fields_expired(*this, key, fields, emptied, found);
  return fields.size();
}

std::size_t Database::sweep_key(std::string_view key, std::size_t limit, Found found) {
  const Slot slot = find(key);  // a dead one is reclaimed here
  if (slot == kNoSlot || !is_hash(slot)) return 0;
  return is_due(earliest_field(slot), keyspace_.now()) ? sweep_fields(slot, limit, found) : 0;
}

std::size_t Database::average_ttl_ms() const {
  // A sample of the soonest ones would lie low; so take some from all over.
  constexpr int kSamples = 100;
  Random random(stored());
  std::size_t seen = 0;
  std::int64_t sum = 0;
  const std::size_t extent = contents_->nodes.extent();
  for (int i = 0; i < kSamples * 10 && seen < kSamples && extent > 0; ++i) {
    const auto slot = static_cast<Slot>(random.below(extent));
    if (!contents_->nodes.is_used(slot) || node(slot).has_deadline == 0) continue;
    const Time at = deadline(slot);
    if (is_due(at, keyspace_.now())) continue;
    sum += remaining(at, keyspace_.now()).count() / kSamples;
    ++seen;
  }
  return seen == 0 ? 0 : static_cast<std::size_t>(sum) * kSamples / seen;
}

std::string Database::check_invariants() const {
  std::string wrong =
      contents_->table.check_invariants([this](Slot slot) { return hash_of(key(slot)); });
  if (!wrong.empty()) return "table: " + wrong;
  if (contents_->table.size() != stored()) return "the table and the slab differ in size";
  std::size_t with_deadline = 0;
  std::size_t with_fields = 0;
  each([&](Slot slot) {
    const KeyNode& node = this->node(slot);
    with_deadline += node.has_deadline;
    with_fields += node.has_field_deadlines;
    if (stored_slot(node.key()) != slot) wrong = "a key is not found where it is";
    if (node.type() == Kind::packed_hash) {
      const std::string packed = packed_check(node.value());
      if (!packed.empty()) wrong = packed;
      if (PackedView(node.value()).earliest() != earliest_field(slot)) wrong = "filed wrongly";
    } else if (node.type() == Kind::table_hash) {
      const std::string table = node.table_hash().check_invariants();
      if (!table.empty()) wrong = table;
    }
    return wrong.empty();
  });
  if (wrong.empty() && with_deadline != contents_->keys.size()) wrong = "key deadlines: count";
  if (wrong.empty() && with_fields != contents_->members.size()) wrong = "field deadlines: count";
  return wrong;
}

}  // namespace mayfly
