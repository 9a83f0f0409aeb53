// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/members_load.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "keyspace/hasher.h"
#include "keyspace/keyspace.h"
#include "keyspace/members/packed_members.h"
#include "keyspace/value.h"

namespace mayfly {
namespace {

// So few are compared with each other faster than they are hashed.
constexpr std::size_t kPairwiseMax = 8;

bool has_duplicates_pairwise(std::span<const Member> members) {
  for (std::size_t i = 1; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (members[i].name == members[j].name) return true;
    }
  }
  return false;
}

}  // namespace

void MembersLoad::begin(const ExecContext& context, Database& database, ValueType type,
                        std::string_view key, std::size_t expected) {
  assert(slot_ == kNoSlot);
  context_ = context;
  database_ = &database;
  type_ = type;
  key_.assign(key);
  expected_ = expected;
}

bool MembersLoad::add(std::span<const Member> members) {
  if (members.empty()) return true;
  const bool is_valid = slot_ == kNoSlot ? make_key(members) : fill_table(members);
  if (slot_ != kNoSlot) database_->refresh_deadline(slot_);
  return is_valid;
}

Slot MembersLoad::end() {
  if (slot_ != kNoSlot && form_of(database_->node(slot_)) == ValueForm::table) {
    database_->node(slot_).member_table().fit();
  }
  database_ = nullptr;
  return std::exchange(slot_, kNoSlot);
}

bool MembersLoad::fits_packed(std::span<const Member> members) const {
  if (members.size() > kPackedMembersMax) return false;
  const Payload payload = row_of(encoding_of(type_, ValueForm::packed)).payload;
  return !must_be_table(database_->keyspace().options().packed(type_), members.size(),
                        packed_size(members, payload));
}

// Open addressing, at most half full.
bool MembersLoad::has_duplicates(std::span<const Member> members) {
  if (members.size() <= kPairwiseMax) return has_duplicates_pairwise(members);
  const std::size_t mask = std::bit_ceil(members.size() * 2) - 1;
  cells_.assign(mask + 1, {});
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint64_t hash = hash_bytes(members[i].name, database_->keyspace().options().seed);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & mask;
    for (; cells_[at].number != 0; at = (at + 1) & mask) {
      if (cells_[at].tag == tag && members[cells_[at].number - 1].name == members[i].name) {
        return true;
      }
    }
    cells_[at] = {.tag = tag, .number = static_cast<std::uint32_t>(i + 1)};
  }
  return false;
}

bool MembersLoad::make_packed(std::span<const Member> members) {
  if (has_duplicates(members)) return false;
  if (type_ == ValueType::zset && !std::ranges::is_sorted(members, is_before)) {
    sorted_.assign(members.begin(), members.end());
    std::ranges::sort(sorted_, is_before);
    members = sorted_;
  }
  const Encoding encoding = encoding_of(type_, ValueForm::packed);
  const Payload payload = row_of(encoding).payload;
  KeyNode* const node = make_node(encoding, key_, packed_size(members, payload));
  packed_build(node->value_data(), members, payload);
  const std::size_t long_size = database_->keyspace().options().packed(type_).text_bytes;
  node->is_beyond_limits = std::ranges::any_of(members, [&](const Member& member) {
    return std::max(member.name.size(), member.value.size()) > long_size;
  });
  slot_ = database_->add(context_, node);
  database_->contents_->sums.members_of(type_) += members.size();
  database_->add_members(*node);
  return true;
}

bool MembersLoad::make_key(std::span<const Member> members) {
  if (fits_int_set(members)) return make_int_set(members);
  return fits_packed(members) ? make_packed(members) : fill_table(members);
}

bool MembersLoad::fits_int_set(std::span<const Member> members) const {
  if (type_ != ValueType::set) return false;
  if (members.size() > database_->keyspace().options().intset_members) return false;
  return std::ranges::all_of(members, [](const Member& member) {
    return member.deadline == kNever && parse_exact_integer(member.name).has_value();
  });
}

bool MembersLoad::make_int_set(std::span<const Member> members) {
  slot_ = database_->add(context_, database_->new_members_node(type_, key_));
  MembersRef set = database_->members(context_, slot_);
  return std::ranges::all_of(members,
                             [&](const Member& member) { return set.put(member.name, {}); });
}

bool MembersLoad::fill_table(std::span<const Member> members) {
  const bool is_first = slot_ == kNoSlot;
  if (is_first) slot_ = database_->add(context_, database_->new_members_node(type_, key_));
  if (form_of(database_->node(slot_)) == ValueForm::ints) database_->end_int_set(slot_);
  if (form_of(database_->node(slot_)) == ValueForm::packed) database_->turn_into_table(slot_);
  const KeyNode& node = database_->node(slot_);
  MemberTable& table = node.member_table();
  if (is_first) table.reserve(std::max(expected_, members.size()));
  const std::size_t added = table.put_new(members);
  database_->contents_->sums.members_of(type_) += added;
  for (const Member& member : members.first(added)) database_->add_member(node, member);
  return added == members.size();
}

}  // namespace mayfly
