// SPDX-License-Identifier: Apache-2.0
// The sums of a database: which changes of keys and members concern them.

#include <string>

#include "keyspace/database.h"
#include "keyspace/keyspace.h"

namespace mayfly {

void Database::refresh_size(Slot slot) {
  EntrySums& sums = contents_->sums;
  const std::uint64_t bytes = SizeColumn::round(key_bytes(node(slot)));
  const std::uint64_t before = sums.sizes[slot];
  if (bytes == before) return;
  sums.key_deadlines.change(contents_->keys.deadline(slot), before, bytes);
  sums.sizes.set(slot, bytes);
}

void Database::add_member(const KeyNode& node, const Member& member) {
  if (member.deadline == kNever) return;
  contents_->sums.member_deadlines.add(member.deadline,
                                       member_bytes(node, member.name.size(), member.value.size()));
}

void Database::remove_member(const KeyNode& node, const Member& member) {
  if (member.deadline == kNever) return;
  contents_->sums.member_deadlines.remove(
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
    if (node.has_deadline != 0) found.key_deadlines.add(deadline(slot), sums.sizes[slot]);
    if (!has_members(node)) return true;
    visit_members(node, [&](const auto& members) {
      found.members_of(type_of(node)) += members.count();
      members.each([&](const Member& member) {
        if (member.deadline == kNever) return true;
        found.member_deadlines.add(member.deadline,
                                   member_bytes(node, member.name.size(), member.value.size()));
        return true;
      });
    });
    return true;
  });
  if (found.keys != sums.keys) return "a wrong number of keys of a type";
  if (found.members != sums.members) return "a wrong number of members of a type";
  if (found.key_deadlines.total() != sums.key_deadlines.total()) return "sums of keys";
  if (std::string wrong = sums.key_deadlines.check_invariants(); !wrong.empty()) return wrong;
  if (std::string wrong = sums.member_deadlines.check_invariants(); !wrong.empty()) return wrong;
  if (sums.leaving.empty() && found.member_deadlines.total() != sums.member_deadlines.total()) {
    return "sums of members";
  }
  const Time moments[] = {Time(Millis(0)), kNever};
  if (found.members_until(moments).back().entries != sums.members_until(moments).back().entries) {
    return "a wrong number of members with deadlines";
  }
  return "";
}

}  // namespace mayfly
