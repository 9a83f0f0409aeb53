// SPDX-License-Identifier: Apache-2.0
// Members in both forms, and the step from one to the other.

#include "keyspace/members/members_ref.h"

#include <algorithm>

#include "keyspace/keyspace.h"
#include "keyspace/members/packed_members.h"
#include "keyspace/value.h"

namespace mayfly {

bool MembersRef::is_packed() const { return form_of(database_.node(slot_)) == ValueForm::packed; }

std::optional<Member> MembersRef::find_stored(std::string_view name) const {
  return visit_members(database_.node(slot_),
                       [&](const auto& members) { return members.find(name); });
}

std::optional<Member> MembersRef::find(std::string_view name) {
  std::optional<Member> found = find_stored(name);
  if (!found || !context_.hides(found->deadline)) return found;
  if (context_.policy == Policy::reclaim) {
    record_reclaimed(name, found->deadline);
    erase_stored(name);
  }
  return std::nullopt;
}

void MembersRef::record_reclaimed(std::string_view name, Time deadline) {
  reclaimed_.emplace_back(name);
  database_.keyspace_.record_expired(context_, FoundBy::access, deadline, 0, 1);
}

std::size_t MembersRef::stored() const {
  return visit_members(database_.node(slot_), [](const auto& members) { return members.count(); });
}

std::size_t MembersRef::size() const {
  if (!context_.hides(database_.earliest_member_deadline(slot_))) return stored();
  return visit_members(database_.node(slot_), [&](const auto& members) {
    return members.count() - members.count_due(context_.now);
  });
}

bool MembersRef::has_deadlines() const { return database_.node(slot_).has_member_deadlines != 0; }

void MembersRef::each(const Visit& visit) const {
  visit_members(database_.node(slot_), [&](const auto& members) {
    members.each(
        [&](const Member& member) { return context_.hides(member.deadline) || visit(member); });
  });
}

std::uint64_t MembersRef::scan(std::uint64_t cursor, const Visit& visit) const {
  if (is_packed()) {
    each(visit);
    return 0;
  }
  return database_.node(slot_).member_table().scan(cursor, [&](const Member& member) {
    if (!context_.hides(member.deadline)) visit(member);
  });
}

Member MembersRef::random(Random& random) const {
  constexpr int kTries = 64;
  if (!is_packed()) {
    const MemberTable& table = database_.node(slot_).member_table();
    for (int i = 0; i < kTries; ++i) {
      const Member member = table.random(random);
      if (!context_.hides(member.deadline)) return member;
    }
  }
  // Packed, or nearly all members are due: count up to a random one.
  std::size_t left = random.below(size());
  Member chosen{};
  each([&](const Member& member) {
    chosen = member;
    return left-- > 0;
  });
  return chosen;
}

MembersOrder MembersRef::order() {
  std::vector<Member> members;
  each([&](const Member& member) {
    members.push_back(member);
    return true;
  });
  std::ranges::sort(members, [](const Member& a, const Member& b) {
    return a.score() != b.score() ? a.score() < b.score() : a.name < b.name;
  });
  return MembersOrder(std::move(members));
}

bool MembersRef::add(std::string_view name, std::string_view value, Time deadline) {
  if (find(name)) return false;
  return put(name, value, deadline);
}

bool MembersRef::put(std::string_view name, std::string_view value, Time deadline) {
  KeyNode*& node = database_.place(slot_);
  bool is_new = true;
  Time before = kNever;
  if (is_packed()) {
    const PackedPut plan = packed_plan_put(node->value(), name, value, deadline);
    is_new = plan.is_new;
    before = plan.old_deadline;
    const std::size_t count = PackedView(node->value()).count() + (is_new ? 1 : 0);
    if (must_be_table(limits(), count, plan.size)) {
      database_.turn_into_table(slot_);
      node->member_table().put(name, value, deadline);
    } else {
      apply(plan, name, value);
    }
  } else {
    if (node->has_member_deadlines != 0) {
      if (const auto found = node->member_table().find(name)) before = found->deadline;
    }
    is_new = node->member_table().put(name, value, deadline);
  }
  if (deadline != kNever || node->has_member_deadlines != 0) database_.refresh_deadline(slot_);
  if (is_new || !context_.hides(before)) return is_new;
  if (context_.policy == Policy::reclaim) record_reclaimed(name, before);
  return true;
}

void MembersRef::apply(const PackedPut& plan, std::string_view name, std::string_view value) {
  KeyNode*& node = database_.place(slot_);
  const std::size_t size = node->value_size;
  node = resize_value(node, std::max(size, plan.size));
  packed_apply(node->value_data(), size, plan, name, value);
  if (plan.size < size) node = resize_value(node, plan.size);
  if (std::max(name.size(), value.size()) > limits().text_bytes) node->is_beyond_limits = 1;
}

const PackedLimits& MembersRef::limits() const {
  return database_.keyspace_.options().packed(database_.type(slot_));
}

bool must_be_table(const PackedLimits& limits, std::size_t count, std::size_t bytes) {
  constexpr std::size_t kBytesMax = 8192;  // of members beyond the limits: a walk of 2 us
  // A node holds less than 4 GiB; deadlines may be added to what is packed.
  constexpr std::size_t kPackedMost = std::size_t{1} << 30;
  if (count > limits.members || bytes > kPackedMost) return true;
  const std::size_t value_max = std::min(limits.text_bytes, kPackedMost);
  return bytes > std::max(kBytesMax, count * (2 * value_max + 24));
}

bool MembersRef::put_keeping_deadline(std::string_view name, std::string_view value) {
  const std::optional<Member> found = find_stored(name);
  const bool is_kept = found && !context_.hides(found->deadline);
  return put(name, value, is_kept ? found->deadline : kNever);
}

bool MembersRef::set_deadline(std::string_view name, Time deadline) {
  const std::optional<Member> found = find(name);
  if (!found) return false;
  if (found->deadline == deadline) return true;
  KeyNode*& node = database_.place(slot_);
  if (is_packed()) {
    const std::size_t size = node->value_size;
    const PackedPut plan = packed_plan_deadline(node->value(), name, deadline);
    node = resize_value(node, std::max(size, plan.size));
    packed_apply_deadline(node->value_data(), size, plan);
    if (plan.size < size) node = resize_value(node, plan.size);
  } else {
    node->member_table().set_deadline(name, deadline);
  }
  database_.refresh_deadline(slot_);
  return true;
}

bool MembersRef::erase(std::string_view name) {
  if (!find(name)) return false;
  erase_stored(name);
  return true;
}

bool MembersRef::expire(std::string_view name) {
  if (!erase(name)) return false;
  ++database_.keyspace_.stats().expired_members;
  return true;
}

void MembersRef::erase_stored(std::string_view name) {
  KeyNode*& node = database_.place(slot_);
  if (is_packed()) {
    node = resize_value(node, packed_erase(node->value_data(), node->value_size, name));
  } else {
    node->member_table().erase(name);
  }
  if (node->has_member_deadlines != 0) database_.refresh_deadline(slot_);
}

bool MembersRef::finish() {
  const bool is_empty = stored() == 0;
  if (!is_empty && reclaimed_.empty()) return false;
  const std::string key(database_.key(slot_));
  const ValueType type = database_.type(slot_);
  if (is_empty) database_.unlink(slot_);
  constexpr std::size_t kAtOnce = 128;  // names in one event and one propagated command
  for (std::size_t i = 0; i < reclaimed_.size(); i += kAtOnce) {
    const std::span names =
        std::span(reclaimed_).subspan(i, std::min(kAtOnce, reclaimed_.size() - i));
    database_.keyspace_.listener().members_expired(database_,
                                                   {.type = type, .key = key, .names = names});
  }
  reclaimed_.clear();
  return is_empty;
}

}  // namespace mayfly
