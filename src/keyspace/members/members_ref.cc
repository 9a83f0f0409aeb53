// SPDX-License-Identifier: Apache-2.0
// Members in all forms, and the steps from one to another.

#include "keyspace/members/members_ref.h"

#include <algorithm>

#include "keyspace/keyspace.h"
#include "keyspace/members/packed_members.h"
#include "keyspace/value.h"

namespace mayfly {

bool MembersRef::is_table() const { return form_of(database_.node(slot_)) == ValueForm::table; }

bool MembersRef::is_packed() const { return form_of(database_.node(slot_)) == ValueForm::packed; }

std::optional<Member> MembersRef::find_stored(std::string_view name) const {
  return visit_members(database_.node(slot_),
                       [&](const auto& members) { return members.find(name); });
}

std::optional<Member> MembersRef::find(std::string_view name) {
  std::optional<Member> found = find_stored(name);
  if (!found || !context_.hides(found->deadline)) return found;
  if (context_.policy == Policy::reclaim) {
    database_.report_expiring(context_, slot_, *found, FoundBy::access);
    record_reclaimed(name, found->deadline);
    erase_stored(*found);
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
  if (form_of(database_.node(slot_)) == ValueForm::ints) {
    const IntSetView ints(database_.node(slot_).value());
    for (std::size_t i = 0; i < ints.count(); ++i) {
      if (!visit({.name = texts_.text(ints.at(i))})) return;
    }
    return;
  }
  visit_members(database_.node(slot_), [&](const auto& members) {
    members.each(
        [&](const Member& member) { return context_.hides(member.deadline) || visit(member); });
  });
}

std::uint64_t MembersRef::scan(std::uint64_t cursor, const Visit& visit) const {
  if (form_of(database_.node(slot_)) != ValueForm::table) {
    each(visit);
    return 0;
  }
  return database_.node(slot_).member_table().scan(cursor, [&](const Member& member) {
    if (!context_.hides(member.deadline)) visit(member);
  });
}

Member MembersRef::random(Random& random) const {
  constexpr int kTries = 64;
  const ValueForm form = form_of(database_.node(slot_));
  if (form == ValueForm::ints) {
    const IntSetView ints(database_.node(slot_).value());
    return {.name = texts_.text(ints.at(random.below(ints.count())))};
  }
  if (form == ValueForm::table) {
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

MembersOrder MembersRef::order(double most) {
  if (context_.policy == Policy::reclaim) reclaim_due();
  if (!is_packed()) {
    MemberTable& table = database_.node(slot_).member_table();
    const Time hidden_until = context_.policy == Policy::show ? Time::min() : context_.now;
    return {table, table.order(hidden_until)};
  }
  std::vector<Member> members;
  if (most == std::numeric_limits<double>::infinity()) members.reserve(stored());
  PackedView(database_.node(slot_).value()).each([&](const Member& member) {
    if (context_.hides(member.deadline)) return true;
    if (member.score() > most) return false;
    members.push_back(member);
    return true;
  });
  return MembersOrder(std::move(members));
}

void MembersRef::reclaim_due() {
  if (!is_due(database_.earliest_member_deadline(slot_), context_.now)) return;
  // If more are due, they are only hidden: the sweep removes them without a stall.
  constexpr std::size_t kReclaimedAtOnce = 1024;
  std::vector<Time> deadlines;
  database_.take_due(context_, slot_, kReclaimedAtOnce, FoundBy::access, reclaimed_, deadlines);
  for (const Time deadline : deadlines) {
    database_.keyspace_.record_expired(context_, FoundBy::access, deadline, 0, 1);
  }
}

bool MembersRef::add(std::string_view name, std::string_view value, Time deadline) {
  const KeyNode& node = database_.node(slot_);
  if (form_of(node) == ValueForm::table && node.has_member_deadlines == 0 && deadline == kNever) {
    if (!node.member_table().add(name, value, deadline)) return false;  // one look-up
    ++database_.contents_->sums.members_of(type_of(node));
    database_.record_size(slot_);
    return true;
  }
  if (find(name)) return false;
  return put(name, value, deadline);
}

// Puts a member into an int set, or into a set without members that becomes one. Nothing if it
// cannot be one; then it is none any more.
std::optional<bool> MembersRef::put_int(std::string_view name, Time deadline) {
  KeyNode*& node = database_.place(slot_);
  const bool is_empty = form_of(*node) == ValueForm::packed;
  const std::optional<std::int64_t> number = parse_exact_integer(name);
  if (number && !is_empty && deadline == kNever && IntSetView(node->value()).contains(*number)) {
    return false;
  }
  const std::size_t most = database_.keyspace_.options().intset_members;
  if (!number || deadline != kNever || (is_empty ? 0 : stored()) + 1 > most) {
    if (!is_empty) database_.end_int_set(slot_);
    return std::nullopt;
  }
  if (is_empty) {
    node = resize_value(node, kIntSetEmptySize);
    int_set_create(node->value_data());
    node->set_encoding(Encoding::int_set);
  }
  const std::size_t size = node->value_size;
  node = resize_value(node, int_set_size_with(node->value(), *number));
  int_set_insert(node->value_data(), size, *number);
  ++database_.contents_->sums.members_of(ValueType::set);
  database_.record_size(slot_);
  return true;
}

bool MembersRef::put(std::string_view name, std::string_view value, Time deadline) {
  if (database_.type(slot_) == ValueType::set) {
    const ValueForm form = form_of(database_.node(slot_));
    if (form == ValueForm::ints || (form == ValueForm::packed && stored() == 0)) {
      if (const std::optional<bool> is_new = put_int(name, deadline)) return *is_new;
    }
  }
  KeyNode*& node = database_.place(slot_);
  if (database_.keyspace_.observer() != nullptr && node->has_member_deadlines != 0) {
    report_overwritten(name);
  }
  bool is_new = true;
  Time before = kNever;
  std::size_t value_before = 0;  // its size
  if (is_packed()) {
    const PackedPut plan = packed_plan_put(node->value(), name, value, deadline);
    is_new = plan.is_new;
    before = plan.old_deadline;
    value_before = plan.old_value_size;
    const std::size_t count = PackedView(node->value()).count() + (is_new ? 1 : 0);
    if (must_be_table(limits(), count, plan.size)) {
      database_.turn_into_table(slot_);
      node->member_table().put(name, value, deadline);
    } else {
      apply(plan, name, value);
    }
  } else {
    MemberTable::Replaced replaced;
    is_new = node->member_table().put(name, value, deadline, &replaced);
    before = replaced.deadline;
    value_before = replaced.value_size;
  }
  if (is_new) ++database_.contents_->sums.members_of(type_of(*node));
  if (before != kNever || deadline != kNever) {
    database_.contents_->sums.members_in(*node).replace(
        {before, member_bytes(*node, name.size(), value_before)},
        {deadline, member_bytes(*node, name.size(), value.size())});
  }
  if (deadline != kNever || node->has_member_deadlines != 0) database_.refresh_deadline(slot_);
  database_.record_size(slot_);
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
  const Time before = found->deadline;
  const std::size_t value_size = found->value.size();
  if (form_of(*node) == ValueForm::ints) database_.end_int_set(slot_);
  if (is_packed()) {
    const std::size_t size = node->value_size;
    const PackedPut plan = packed_plan_deadline(node->value(), name, deadline);
    node = resize_value(node, std::max(size, plan.size));
    packed_apply_deadline(node->value_data(), size, plan);
    if (plan.size < size) node = resize_value(node, plan.size);
  } else {
    node->member_table().set_deadline(name, deadline);
  }
  const std::size_t bytes = member_bytes(*node, name.size(), value_size);
  database_.contents_->sums.members_in(*node).replace({before, bytes}, {deadline, bytes});
  database_.refresh_deadline(slot_);
  database_.record_size(slot_);
  return true;
}

bool MembersRef::erase(std::string_view name) {
  const std::optional<Member> found = find(name);
  if (!found) return false;
  erase_stored(*found);
  return true;
}

// A member that is due is about to get another value.
void MembersRef::report_overwritten(std::string_view name) {
  const std::optional<Member> found = find_stored(name);
  if (context_.policy != Policy::reclaim || !found || !context_.hides(found->deadline)) return;
  database_.report_expiring(context_, slot_, *found, FoundBy::access);
}

bool MembersRef::expire(std::string_view name, Time deadline) {
  const std::optional<Member> found = find(name);
  if (!found) return false;
  Member expired = *found;
  expired.deadline = deadline;
  database_.report_expiring(context_, slot_, expired, FoundBy::past);
  erase_stored(*found);
  database_.keyspace_.stats().count_past_member();
  return true;
}

void MembersRef::erase_stored(const Member& member) {
  const std::string_view name = member.name;
  KeyNode*& node = database_.place(slot_);
  database_.remove_member(*node, member);
  --database_.contents_->sums.members_of(type_of(*node));
  if (is_packed()) {
    node = resize_value(node, packed_erase(node->value_data(), node->value_size, name));
  } else if (form_of(*node) == ValueForm::ints) {
    const std::int64_t number = *parse_exact_integer(name);
    node = resize_value(node, int_set_erase(node->value_data(), node->value_size, number));
  } else {
    node->member_table().erase(name);
  }
  if (node->has_member_deadlines != 0) database_.refresh_deadline(slot_);
  database_.record_size(slot_);
}

bool MembersRef::finish() {
  const bool is_empty = stored() == 0;
  if (!is_empty && reclaimed_.empty()) return false;
  const std::string key(database_.key(slot_));
  const ValueType type = database_.type(slot_);
  if (is_empty) database_.unlink(slot_);
  for (std::size_t i = 0; i < reclaimed_.size(); i += kMembersAtOnce) {
    const std::span names =
        std::span(reclaimed_).subspan(i, std::min(kMembersAtOnce, reclaimed_.size() - i));
    database_.keyspace_.listener().members_expired(database_,
                                                   {.type = type, .key = key, .names = names});
  }
  reclaimed_.clear();
  return is_empty;
}

}  // namespace mayfly
