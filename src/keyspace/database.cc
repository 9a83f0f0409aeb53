// SPDX-License-Identifier: Apache-2.0
// Keys: finding, making, changing and removing them. database_sweep.cc is about what is due.

#include "keyspace/database.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/text_arena.h"
#include "keyspace/eviction.h"
#include "keyspace/hasher.h"
#include "keyspace/keyspace.h"
#include "keyspace/members/packed_members.h"

namespace mayfly {
namespace {

constexpr std::size_t kFreedAtOnce = 64;  // members: about 5 us

void fill(KeyNode& node, std::string_view value) {
  if (!value.empty()) std::memcpy(node.value_data(), value.data(), value.size());
}

}  // namespace

Database::Database(Keyspace& keyspace, int number)
    : keyspace_(keyspace), number_(number), contents_(new_contents()) {}

Database::~Database() = default;

std::unique_ptr<Contents> Database::new_contents() const {
  auto contents = std::make_unique<Contents>();
  const HashSlotOf slot_of = keyspace_.options().hash_slot_of;
  if (slot_of != nullptr) contents->hash_slots = std::make_unique<HashSlotCounts>(slot_of);
  return contents;
}

std::uint64_t Database::hash_of(std::string_view key) const {
  return hash_bytes(key, keyspace_.options().seed);
}

Slot Database::stored_slot(std::string_view key) const {
  return contents_->table.find(hash_of(key), [&](Slot slot) { return this->key(slot) == key; });
}

Slot Database::find(const ExecContext& context, std::string_view key) {
  const Slot slot = stored_slot(key);
  if (slot == kNoSlot || is_alive(context, slot)) return slot;
  if (context.policy == Policy::reclaim) reclaim(context, slot);
  return kNoSlot;
}

Slot Database::peek(const ExecContext& context, std::string_view key) const {
  const Slot slot = stored_slot(key);
  return slot == kNoSlot || is_alive(context, slot) ? slot : kNoSlot;
}

Slot Database::insert(KeyNode* node) {
  const Slot slot = contents_->nodes.emplace(node);
  ++contents_->sums.keys_of(type_of(*node));
  if (contents_->hash_slots) contents_->hash_slots->add(node->key());
  contents_->table.insert(hash_of(node->key()), slot,
                          [this](Slot other) { return hash_of(key(other)); });
  return slot;
}

Slot Database::add(const ExecContext& context, KeyNode* node) {
  node->access = first_access(keyspace_.options().uses_lfu, context.now) & kAccessMask;
  return insert(node);
}

void Database::touch(const ExecContext& context, Slot slot) {
  if (!context.records_use) return;
  KeyNode& node = *place(slot);
  const std::uint32_t access =
      touched_access(node.access, keyspace_.options().uses_lfu, context.now, keyspace_.random());
  if (access != node.access) node.access = access & kAccessMask;  // avoids dirtying the page
}

Time Database::deadline(Slot slot) const {
  return node(slot).has_deadline != 0 ? contents_->keys.deadline(slot) : kNever;
}

void Database::set_stale_time(Slot slot, Millis stale) {
  internal::SlotColumn<Millis>& times = contents_->stale_times;
  if (stale == Millis(0)) return times.drop(slot);
  (stale_time(slot) == Millis(0) ? times.claim(slot) : times.at(slot)) = stale;
}

void Database::set_deadline(Slot slot, Time deadline, Millis stale) {
  KeyNode& node = *place(slot);
  if (deadline == kNever && node.has_deadline == 0) return;
  const Time before = this->deadline(slot);
  if (stale != stale_time(slot)) set_stale_time(slot, stale);
  if (deadline == before) return;
  contents_->keys.schedule(slot, deadline);
  node.has_deadline = deadline != kNever;
  move_deadline(slot, before, deadline);
}

Time Database::earliest_member_deadline(Slot slot) const {
  return node(slot).has_member_deadlines != 0 ? contents_->members.deadline(slot) : kNever;
}

Slot Database::put_string(const ExecContext& context, std::string_view key,
                          std::string_view value) {
  const Slot slot = stored_slot(key);
  if (slot == kNoSlot) {
    KeyNode* const node = make_node(Encoding::string, key, value.size());
    fill(*node, value);
    return add(context, node);
  }
  set_deadline(slot, kNever);
  if (type(slot) != ValueType::string) {
    report_removal(slot);
    KeyNode* const node = make_node(Encoding::string, key, value.size());
    node->access = place(slot)->access;
    if (place(slot)->has_member_deadlines != 0) contents_->members.cancel(slot);
    --contents_->sums.keys_of(type(slot));
    free_value(*place(slot));
    free_node(std::exchange(place(slot), node));
    ++contents_->sums.keys_of(ValueType::string);
  }
  set_string(slot, value);
  return slot;
}

void Database::set_string(Slot slot, std::string_view value) {
  assert(type(slot) == ValueType::string);
  KeyNode*& node = place(slot);
  const bool was_plain = is_plain_string(*node);
  const std::uint64_t size_before = was_plain ? plain_string_bytes(*node) : counted_size(slot);
  node = resize_value(node, value.size());
  node->is_raw = 0;
  fill(*node, value);
  if (node->has_deadline == 0 || plain_string_bytes(*node) == size_before) return;
  refresh_size(slot, size_before);
}

char* Database::resize_string(Slot slot, std::size_t size) {
  assert(type(slot) == ValueType::string);
  KeyNode*& node = place(slot);
  const std::uint64_t size_before = counted_size(slot);
  const std::size_t before = node->value_size;
  node = resize_value(node, size, before > 0);  // one that is new may never grow
  node->is_raw = 1;
  if (size > before) std::memset(node->value_data() + before, 0, size - before);
  if (node->has_deadline != 0) refresh_size(slot, size_before);
  return node->value_data();
}

void Database::remove_stored(std::string_view key) {
  const Slot slot = stored_slot(key);
  if (slot != kNoSlot) erase(slot);
}

KeyNode* Database::new_members_node(ValueType type, std::string_view key) const {
  const Encoding encoding = encoding_of(type, ValueForm::packed);
  KeyNode* const node = make_node(encoding, key, kPackedEmptySize);
  packed_create(node->value_data(), row_of(encoding).payload);
  return node;
}

Slot Database::make_members(const ExecContext& context, ValueType type, std::string_view key) {
  remove_stored(key);
  return add(context, new_members_node(type, key));
}

void Database::turn_into_table(Slot slot) {
  KeyNode*& node = place(slot);
  if (node->has_member_deadlines != 0) remove_members(*node);
  const PackedView packed(node->value());
  auto table = std::make_unique<MemberTable>(keyspace_.options().seed, packed.payload());
  packed.each([&](const Member& member) {
    table->put(member.name, member.value, member.deadline);
    return true;
  });
  set_table(slot, std::move(table));
  if (node->has_member_deadlines != 0) add_members(*node);
}

void Database::set_table(Slot slot, std::unique_ptr<MemberTable> table) {
  KeyNode*& node = place(slot);
  node = resize_value(node, sizeof(void*));
  node->set_encoding(encoding_of(type_of(*node), ValueForm::table));
  node->set_outside(table.release());
}

void Database::end_int_set(Slot slot) {
  KeyNode*& node = place(slot);
  const IntSetView ints(node->value());
  TextArena texts;
  std::vector<Member> members(ints.count());
  for (std::size_t i = 0; i < members.size(); ++i) members[i].name = texts.text(ints.at(i));
  if (members.size() > std::min(keyspace_.options().packed_set.members, kPackedMembersMax)) {
    auto table = std::make_unique<MemberTable>(keyspace_.options().seed, Payload::none);
    table->put_new(members);
    return set_table(slot, std::move(table));
  }
  node = resize_value(node, packed_size(members, Payload::none));
  packed_build(node->value_data(), members, Payload::none);
  node->set_encoding(Encoding::packed_set);
  node->is_beyond_limits = std::ranges::any_of(members, [&](const Member& member) {
    return member.name.size() > keyspace_.options().packed_set.text_bytes;
  });
}

Slot Database::make_list(const ExecContext& context, std::string_view key) {
  remove_stored(key);
  KeyNode* const node = make_node(Encoding::packed_list, key, kPackedListHeader);
  std::memset(node->value_data(), 0, kPackedListHeader);
  return add(context, node);
}

Slot Database::put_stream(const ExecContext& context, std::string_view key,
                          std::unique_ptr<Stream> stream) {
  return put_outside(context, Encoding::stream, key, stream.release());
}

Slot Database::put_outside(const ExecContext& context, Encoding encoding, std::string_view key,
                           void* value) {
  remove_stored(key);
  KeyNode* const node = make_node(encoding, key, sizeof(void*));
  node->set_outside(value);
  return add(context, node);
}

void Database::free_value(KeyNode& node) {
  EntrySums& sums = contents_->sums;
  bool leaves_later = false;  // the members, while they are freed
  if (has_members(node)) {
    const std::size_t count =
        visit_members(node, [](const auto& members) { return members.count(); });
    sums.members_of(type_of(node)) -= count;
    leaves_later = form_of(node) == ValueForm::table && node.member_table().has_deadlines() &&
                   count > kFreedAtOnce;
    if (leaves_later) {
      sums.leaving.push_back(&node.member_table());
    } else {
      remove_members(node);
    }
  }
  OutsideValue value = take_outside(node);
  if (weight_of(value) <= kFreedAtOnce) return;
  keyspace_.lazy_free().defer_free(std::move(value), leaves_later ? &sums : nullptr);
}

void Database::unlink(Slot slot) {
  KeyNode* const node = place(slot);
  contents_->table.erase(hash_of(node->key()), slot,
                         [this](Slot other) { return hash_of(key(other)); });
  if (node->has_deadline != 0) set_deadline(slot, kNever);
  if (node->has_member_deadlines != 0) contents_->members.cancel(slot);
  --contents_->sums.keys_of(type_of(*node));
  if (contents_->hash_slots) contents_->hash_slots->remove(node->key());
  free_value(*node);
  free_node(node);
  contents_->nodes.erase(slot);
}

void Database::rename(Slot slot, std::string_view key) {
  remove_stored(key);
  const auto hash_of_slot = [this](Slot other) { return hash_of(this->key(other)); };
  contents_->table.erase(hash_of(this->key(slot)), slot, hash_of_slot);
  if (contents_->hash_slots) {
    contents_->hash_slots->remove(this->key(slot));
    contents_->hash_slots->add(key);
  }
  const std::uint64_t size_before = counted_size(slot);
  KeyNode* const renamed = copy_node(*place(slot), key);
  free_node(std::exchange(place(slot), renamed));
  if (renamed->has_deadline != 0) refresh_size(slot, size_before);
  contents_->table.insert(hash_of(key), slot, hash_of_slot);
}

Slot Database::move(Slot slot, Database& to, std::string_view key) {
  to.remove_stored(key);
  const Time deadline = this->deadline(slot);
  const Millis stale = stale_time(slot);
  KeyNode* const moved = copy_node(node(slot), key);
  moved->has_deadline = 0;
  moved->has_member_deadlines = 0;
  set_deadline(slot, kNever);
  const std::size_t count = forget_value(slot);
  unlink(slot);

  const Slot target = to.insert(moved);
  to.contents_->sums.members_of(to.type(target)) += count;
  to.refresh_deadline(target);
  to.add_members(to.node(target));
  to.set_deadline(target, deadline, stale);
  return target;
}

Slot Database::copy(const ExecContext& context, Slot slot, Database& to, std::string_view key) {
  const auto copy_string = [&](std::string_view text) {
    const Slot target = to.put_string(context, key, text);
    to.place(target)->is_raw = node(slot).is_raw;
    return target;
  };
  const auto copy_members = [&](const auto&) {
    const Slot target = to.make_members(context, type(slot), key);
    MembersRef copied = to.members(context, target);
    members(context, slot).each([&](const Member& member) {
      copied.put(member.name, member.value, member.deadline);
      return true;
    });
    return target;
  };
  const auto copy_packed_list = [&](const PackedListView&) {
    to.remove_stored(key);
    KeyNode* const copied = copy_node(node(slot), key);
    copied->has_deadline = 0;
    return to.add(context, copied);
  };
  const auto copy_list = [&](const ChunkedList& list) {
    return to.put_outside(context, Encoding::chunked_list, key, list.clone().release());
  };
  const auto copy_stream = [&](const Stream& stream) {
    return to.put_stream(context, key, stream.clone());
  };
  const Slot target = visit_value(
      node(slot),
      Overloaded{copy_string, copy_packed_list, copy_list, copy_stream,
                 [&](const MembersValue auto& members) { return copy_members(members); }});
  to.set_deadline(target, deadline(slot), stale_time(slot));
  return target;
}

void Database::fit() {
  contents_->table.fit([this](Slot other) { return hash_of(key(other)); });
}

void Database::clear() {
  keyspace_.lazy_free().defer_free(std::exchange(contents_, new_contents()));
}

std::vector<std::string_view> Database::keys_in_hash_slot(const ExecContext& context,
                                                          std::uint16_t hash_slot,
                                                          std::size_t limit) const {
  const HashSlotCounts& counts = *contents_->hash_slots;
  std::vector<std::string_view> keys;
  std::size_t left = counts.count(hash_slot);
  if (left == 0 || limit == 0) return keys;
  each([&](Slot slot) {
    if (counts.slot_of(key(slot)) != hash_slot) return true;
    if (is_alive(context, slot)) keys.push_back(key(slot));
    return --left > 0 && keys.size() < limit;
  });
  return keys;
}

Slot Database::random(const ExecContext& context, Random& random) const {
  const std::size_t extent = contents_->nodes.extent();
  if (extent == 0) return kNoSlot;
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const auto slot = static_cast<Slot>(random.below(extent));
    if (contents_->nodes.is_used(slot) && is_alive(context, slot)) return slot;
  }
  // Nearly all keys are dead: take the first one alive from a random place on.
  const auto start = static_cast<Slot>(random.below(extent));
  for (Slot slot = contents_->nodes.next(start); slot != kNoSlot;
       slot = contents_->nodes.next(slot + 1)) {
    if (is_alive(context, slot)) return slot;
  }
  for (Slot slot = contents_->nodes.next(0); slot != kNoSlot && slot < start;
       slot = contents_->nodes.next(slot + 1)) {
    if (is_alive(context, slot)) return slot;
  }
  return kNoSlot;
}

void Database::each(const std::function<bool(Slot)>& visit) const {
  for (Slot slot = contents_->nodes.next(0); slot != kNoSlot;
       slot = contents_->nodes.next(slot + 1)) {
    if (!visit(slot)) return;
  }
}

}  // namespace mayfly
