// SPDX-License-Identifier: Apache-2.0
// The sums of a database: which changes of keys and members concern them.

#include <string>

#include "keyspace/database.h"
#include "keyspace/keyspace.h"

namespace mayfly {

std::uint64_t Database::counted_size(Slot slot) const {
  const KeyNode& node = this->node(slot);
  if (node.has_deadline == 0) return 0;
  return is_plain_string(node) ? plain_string_bytes(node) : contents_->sums.sizes[slot];
}

void Database::refresh_size(Slot slot, std::uint64_t before) {
  EntrySums& sums = contents_->sums;
  std::uint64_t bytes = key_bytes(node(slot));
  if (!is_plain_string(node(slot))) {
    bytes = SizeColumn::round(bytes);
    sums.sizes.set(slot, bytes);
  }
  if (bytes == before) return;
  const Time deadline = contents_->keys.deadline(slot);
  sums.key_deadlines.replace({deadline, before}, {deadline, bytes});
}

void Database::move_deadline(Slot slot, Time before, Time deadline) {
  EntrySums& sums = contents_->sums;
  const KeyNode& node = this->node(slot);
  std::uint64_t bytes = 0;
  if (is_plain_string(node)) {
    bytes = plain_string_bytes(node);
  } else if (before != kNever) {
    bytes = sums.sizes[slot];
  } else {
    bytes = SizeColumn::round(key_bytes(node));
    sums.sizes.set(slot, bytes);
  }
  sums.key_deadlines.replace({before, bytes}, {deadline, bytes});
}

void Database::add_member(const KeyNode& node, const Member& member) {
  if (member.deadline == kNever) return;
  contents_->sums.members_in(node).add(member.deadline,
                                       member_bytes(node, member.name.size(), member.value.size()));
}

void Database::remove_member(const KeyNode& node, const Member& member) {
  if (member.deadline == kNever) return;
  contents_->sums.members_in(node).remove(
      member.deadline, member_bytes(node, member.name.size(), member.value.size()));
}

void Database::add_members(const KeyNode& node) {
  if (!has_members(node)) return;
  visit_members(node, [&](const auto& members) {
    if (members.earliest() == kNever) return;
    members.each([&](const Member& member) {
      add_member(node, member);
      return true;
    });
  });
}

void Database::remove_members(const KeyNode& node) {
  visit_members(node, [&](const auto& members) {
    if (members.earliest() == kNever) return;
    members.each([&](const Member& member) {
      remove_member(node, member);
      return true;
    });
  });
}

std::size_t Database::forget_value(Slot slot) {
  KeyNode& node = *place(slot);
  EntrySums& sums = contents_->sums;
  std::size_t count = 0;
  if (has_members(node)) {
    count = visit_members(node, [](const auto& members) { return members.count(); });
    sums.members_of(type_of(node)) -= count;
    remove_members(node);
  }
  --sums.keys_of(type_of(node));
  ++sums.keys_of(ValueType::string);
  node.set_encoding(Encoding::string);
  return count;
}

// Counts all keys and members anew.
std::string Database::check_sums() const {
  const EntrySums& sums = contents_->sums;
  EntrySums found;
  each([&](Slot slot) {
    const KeyNode& node = this->node(slot);
    ++found.keys_of(type_of(node));
    if (node.has_deadline != 0) found.key_deadlines.add(deadline(slot), counted_size(slot));
    if (!has_members(node)) return true;
    visit_members(node, [&](const auto& members) {
      found.members_of(type_of(node)) += members.count();
      members.each([&](const Member& member) {
        if (member.deadline == kNever) return true;
        found.members_in(node).add(member.deadline,
                                   member_bytes(node, member.name.size(), member.value.size()));
        return true;
      });
    });
    return true;
  });
  if (found.keys != sums.keys) return "a wrong number of keys of a type";
  if (found.members != sums.members) return "a wrong number of members of a type";
  if (found.key_deadlines.total() != sums.key_deadlines.total()) return "sums of keys";
  for (const DeadlineSums* const part :
       {&sums.key_deadlines, &sums.packed_members, &sums.table_members}) {
    if (std::string wrong = part->check_invariants(); !wrong.empty()) return wrong;
  }
  if (found.packed_members.total() != sums.packed_members.total()) return "sums of packed members";
  if (sums.leaving.empty() && found.table_members.total() != sums.table_members.total()) {
    return "sums of members in tables";
  }
  const Time moments[] = {Time(Millis(0)), kNever};
  if (found.tables_until(moments).back().entries != sums.tables_until(moments).back().entries) {
    return "a wrong number of members with deadlines";
  }
  return "";
}

}  // namespace mayfly
