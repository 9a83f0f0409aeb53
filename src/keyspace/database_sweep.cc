// SPDX-License-Identifier: Apache-2.0
// Expiry in a database: whether a key is alive, counts, and removing what is due.

#include <algorithm>
#include <functional>

#include "keyspace/keyspace.h"
#include "keyspace/members/packed_members.h"

namespace mayfly {

bool Database::has_expired(const ExecContext& context, Slot slot) const {
  if (context.policy == Policy::show) return false;
  if (is_due(deadline(slot), context.now)) return true;
  return is_due(earliest_member_deadline(slot), context.now) &&
         !has_alive_members(slot, context.now);
}

bool Database::has_alive_members(Slot slot, Time now) const {
  return visit_members(node(slot), [&](const auto& members) { return members.has_alive(now); });
}

void Database::report_expiring(const ExecContext& context, Slot slot, Time deadline, FoundBy by) {
  ExpiryObserver* const observer = keyspace_.observer();
  if (observer == nullptr) return;
  const ValueType type = this->type(slot);
  observer->expiring(*this, {.type = type,
                             .key = key(slot),
                             .value = type == ValueType::string ? string(slot) : "",
                             .deadline = deadline,
                             .at = context.now,
                             .by = by});
}

void Database::report_expiring(const ExecContext& context, Slot slot, const Member& member,
                               FoundBy by) {
  ExpiryObserver* const observer = keyspace_.observer();
  if (observer == nullptr) return;
  observer->expiring(*this, {.type = type(slot),
                             .key = key(slot),
                             .member = member.name,
                             .value = member.value,
                             .deadline = member.deadline,
                             .at = context.now,
                             .by = by});
}

void Database::report_overdue(const ExecContext& context, Slot slot, FoundBy by) {
  if (!is_due(earliest_member_deadline(slot), context.now)) return;
  visit_members(node(slot), [&](const auto& members) {
    members.each([&](const Member& member) {
      if (is_due(member.deadline, context.now)) report_expiring(context, slot, member, by);
      return true;
    });
  });
}

void Database::report_removal_with_members(Slot slot) {
  ExpiryObserver* const observer = keyspace_.observer();
  if (observer != nullptr) observer->removing(*this, slot);
}

void Database::reclaim(const ExecContext& context, Slot slot) {
  const std::string key(this->key(slot));
  const Time own = deadline(slot);
  if (is_due(own, context.now)) {
    if (keyspace_.observer() != nullptr) report_overdue(context, slot, FoundBy::access);
    report_expiring(context, slot, own, FoundBy::access);
    unlink(slot);
    keyspace_.record_expired(context, FoundBy::access, own, 1, 0);
    keyspace_.listener().key_expired(*this, key, FoundBy::access);
    return;
  }
  const std::size_t count = members(context, slot).stored();
  const Time earliest = earliest_member_deadline(slot);
  const ValueType type = this->type(slot);
  std::vector<std::string> names;
  const bool wants_names = keyspace_.listener().wants_expired_names();
  if (wants_names || keyspace_.observer() != nullptr) {
    visit_members(node(slot), [&](const auto& members) {
      members.each([&](const Member& member) {
        if (wants_names) names.emplace_back(member.name);
        report_expiring(context, slot, member, FoundBy::access);
        return true;
      });
    });
  }
  unlink(slot);
  keyspace_.record_expired(context, FoundBy::access, earliest, 0, count);
  keyspace_.listener().members_expired(
      *this, {.type = type, .key = key, .names = names, .emptied = true, .is_whole = true});
}

std::size_t Database::size(const ExecContext& context) const {
  if (context.policy == Policy::show || context.keeps_expired) return stored();
  const Time now = context.now;
  std::size_t dead = contents_->keys.count_due(now);
  // Keys of which all members are due. They are few as long as the sweep is on time.
  contents_->members.visit(Time::min(), now + Millis(1), [&](Slot slot, Time) {
    if (!is_due(deadline(slot), now) && !has_alive_members(slot, now)) ++dead;
    return true;
  });
  return stored() - dead;
}

Time Database::next_deadline() const {
  return std::min(contents_->keys.next_deadline(), contents_->members.next_deadline());
}

void Database::refresh_deadline(Slot slot) {
  const Time earliest = visit_value(
      node(slot), Overloaded{[](std::string_view) { return kNever; },
                             [](const MembersValue auto& members) { return members.earliest(); },
                             [](const auto&) { return kNever; }});
  schedule_members(slot, earliest);
}

void Database::schedule_members(Slot slot, Time earliest) {
  if (earliest == earliest_member_deadline(slot)) return;
  contents_->members.schedule(slot, earliest);
  place(slot)->has_member_deadlines = earliest != kNever;
}

Time Database::first_member_deadline(Slot slot, Time from) const {
  if (node(slot).has_member_deadlines == 0) return kNever;
  return visit_members(node(slot),
                       [&](const auto& members) { return members.first_deadline(from); });
}

Time Database::settle_member_deadline(Slot slot) {
  const Time earliest = first_member_deadline(slot, Time::min());
  schedule_members(slot, earliest);
  return earliest;
}

std::size_t Database::sweep(const ExecContext& context, std::size_t limit) {
  const std::size_t keys = sweep_keys(context, limit);
  return keys + (keys < limit ? sweep_members(context, limit - keys) : 0);
}

std::size_t Database::sweep_keys(const ExecContext& context, std::size_t limit) {
  if (!is_due(contents_->keys.next_deadline(), context.now)) return 0;
  std::vector<Due>& due = keyspace_.scratch();
  due.clear();
  contents_->keys.take_due(context.now, limit, due);
  std::size_t members = 0;
  for (const Due& taken : due) {
    members += sweep_taken(context, taken, limit);
  }
  return due.size() + members;
}

// Removes a key that was due and is not in the index any more. Returns how many members were
// removed before it, each for itself.
std::size_t Database::sweep_taken(const ExecContext& context, const Due& taken, std::size_t limit) {
  move_deadline(taken.slot, taken.deadline, kNever);
  place(taken.slot)->has_deadline = 0;
  std::size_t members = 0;
  if (keyspace_.observer() != nullptr) {
    // Members that were due before their key expire separately.
    if (is_due(earliest_member_deadline(taken.slot), context.now)) {
      members += sweep_members_of(context, taken.slot, limit, FoundBy::sweep, true);
    }
    // More than the limit: the next sweep continues with it.
    if (is_due(earliest_member_deadline(taken.slot), context.now)) {
      set_deadline(taken.slot, taken.deadline);
      return members;
    }
  }
  if (stale_time(taken.slot) != Millis(0)) set_stale_time(taken.slot, Millis(0));
  const std::string key(this->key(taken.slot));
  report_expiring(context, taken.slot, taken.deadline, FoundBy::sweep);
  unlink(taken.slot);
  keyspace_.record_expired(context, FoundBy::sweep, taken.deadline, 1, 0);
  keyspace_.listener().key_expired(*this, key, FoundBy::sweep);
  return members;
}

std::size_t Database::sweep_others(const ExecContext& context, std::size_t limit, Time from,
                                   const IsSpared& is_spared) {
  std::vector<Due>& due = keyspace_.scratch();
  due.clear();
  std::size_t most = limit;
  const auto see = [&](Slot slot, Time deadline) {
    if (!is_spared(key(slot))) due.push_back({slot, deadline});
    return due.size() < most;
  };
  contents_->keys.visit(from, context.now + Millis(1), see);
  std::size_t swept = due.size();
  for (const Due& taken : due) {
    contents_->keys.cancel(taken.slot);
    swept += sweep_taken(context, taken, limit);
  }
  if (swept >= limit) return swept;

  due.clear();
  most = limit - swept;
  contents_->members.visit(from, context.now + Millis(1), see);
  for (const Due& taken : due) {
    swept += sweep_members_of(context, taken.slot, limit, FoundBy::sweep);
  }
  return swept;
}

std::size_t Database::sweep_members(const ExecContext& context, std::size_t limit) {
  std::size_t swept = 0;
  std::vector<Due>& due = keyspace_.scratch();
  while (swept < limit && is_due(contents_->members.next_deadline(), context.now)) {
    due.clear();
    if (contents_->members.take_due(context.now, 1, due) == 0) break;
    const Slot slot = due.front().slot;
    place(slot)->has_member_deadlines = 0;
    const std::size_t batch = std::min(limit - swept, kMembersAtOnce);
    swept += sweep_members_of(context, slot, batch, FoundBy::sweep);
  }
  return swept;
}

// Removes members that are due. Their names and deadlines are appended.
void Database::take_due(const ExecContext& context, Slot slot, std::size_t limit, FoundBy by,
                        std::vector<std::string>& names, std::vector<Time>& deadlines) {
  KeyNode& node = *place(slot);
  const Time now = context.now;
  const std::size_t before = names.size();
  const auto see = [&](const Member& member) {
    report_expiring(context, slot, member, by);
    remove_member(node, member);
  };
  if (form_of(node) == ValueForm::packed) {
    const std::size_t size = packed_take_due(node.value_data(), node.value_size, now, limit, names,
                                             &deadlines, std::cref(see));
    place(slot) = resize_value(&node, size);
  } else {
    node.member_table().take_due(now, limit, names, &deadlines, std::cref(see));
  }
  contents_->sums.members_of(type(slot)) -= names.size() - before;
  refresh_deadline(slot);
  record_size(slot);
}

std::size_t Database::sweep_members_of(const ExecContext& context, Slot slot, std::size_t limit,
                                       FoundBy by, bool keeps_key) {
  std::vector<std::string> names;
  std::vector<Time> deadlines;
  take_due(context, slot, limit, by, names, deadlines);
  for (const Time deadline : deadlines) keyspace_.record_expired(context, by, deadline, 0, 1);

  const bool is_empty = members(context, slot).stored() == 0;
  if (names.empty()) return 0;
  if (is_empty && keeps_key) return names.size();  // the listener is told of the key
  const std::string key(this->key(slot));
  const ValueType type = this->type(slot);
  if (is_empty) unlink(slot);
  keyspace_.listener().members_expired(
      *this, {.type = type, .key = key, .names = names, .emptied = is_empty, .by = by});
  return names.size();
}

std::size_t Database::sweep_key(const ExecContext& context, std::string_view key, std::size_t limit,
                                FoundBy by) {
  const Slot slot = find(context, key);  // a dead one is removed here
  if (slot == kNoSlot || !is_due(earliest_member_deadline(slot), context.now)) return 0;
  return sweep_members_of(context, slot, limit, by);
}

std::size_t Database::average_ttl_ms(Time now) const {
  // A random sample: one of the soonest deadlines would be too low.
  constexpr int kSamples = 100;
  Random random(stored());
  std::size_t seen = 0;
  std::int64_t sum = 0;
  const std::size_t extent = contents_->nodes.extent();
  for (int i = 0; i < kSamples * 10 && seen < kSamples && extent > 0; ++i) {
    const auto slot = static_cast<Slot>(random.below(extent));
    if (!contents_->nodes.is_used(slot) || node(slot).has_deadline == 0) continue;
    const Time at = deadline(slot);
    if (is_due(at, now)) continue;
    sum += remaining(at, now).count() / kSamples;
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
  std::size_t with_member_deadlines = 0;
  const std::unique_ptr<Contents> counted = new_contents();
  each([&](Slot slot) {
    if (counted->hash_slots) counted->hash_slots->add(key(slot));
    const KeyNode& node = this->node(slot);
    with_deadline += node.has_deadline;
    with_member_deadlines += node.has_member_deadlines;
    if (node.has_deadline == 0 && stale_time(slot) != Millis(0)) wrong = "stale without a deadline";
    if (stored_slot(node.key()) != slot) wrong = "a key is not found where it is";
    if (const std::string value = check_value(node); !value.empty()) wrong = value;
    if (wrong.empty() && form_of(node) == ValueForm::packed &&
        PackedView(node.value()).earliest() != earliest_member_deadline(slot)) {
      wrong = "a stale deadline in the index of members";
    }
    return wrong.empty();
  });
  if (wrong.empty() && with_deadline != contents_->keys.size()) wrong = "key deadlines: count";
  if (wrong.empty() && with_member_deadlines != contents_->members.size()) {
    wrong = "member deadlines: count";
  };
  if (wrong.empty() && counted->hash_slots && *counted->hash_slots != *contents_->hash_slots) {
    wrong = "hash slots: count";
  }
  return wrong.empty() ? check_sums() : wrong;
}

}  // namespace mayfly
