// SPDX-License-Identifier: Apache-2.0
// The commands that add, remove and move members of sets, and SPOP.
//
// A member that is due does not exist. A command that names such a member removes it: clients see
// `sexpired`, and replicas get the SREM, before the command's own event and words. So a replica,
// which expires nothing by itself, has the same members when it runs the same words.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/members/member_steps.h"
#include "commands/steps.h"

namespace mayfly {
namespace {

// SADD key member [member ...]
//
// A member that is there is not changed: it keeps its deadline.
void sadd(Call& call) {
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key, ValueType::set);
  if (call.has_failed()) return;
  if (slot == kNoSlot) slot = call.make_members(ValueType::set, key);

  MembersRef set = call.members(slot);
  ChangedMembers added(call, Event::set);
  for (const std::string_view name : call.words().subspan(2)) {
    if (set.add(name, {})) added.add(name);
  }
  if (added.count() > 0) {
    finish_write(call, set, "sadd", added.count(), added.names());
  } else {
    call.finish(set, key);
  }
  call.reply().integer(static_cast<std::int64_t>(added.count()));
}

// SREM key member [member ...]
void srem(Call& call) { remove_named(call, kSetWords); }

// SMOVE source destination member
//
// The deadline goes along. A member that the destination has already keeps its own there, as if it
// had been added with SADD.
void smove(Call& call) {
  const std::string_view from = call.word(1);
  const std::string_view to = call.word(2);
  const std::string_view name = call.word(3);
  const Slot source_slot = call.find_to_write(from);
  Slot target_slot = from == to ? source_slot : call.find_to_write(to);
  if (source_slot == kNoSlot) return call.reply().integer(0);
  for (const Slot slot : {source_slot, target_slot}) {
    if (slot != kNoSlot && call.database().type(slot) != ValueType::set) {
      return call.fail_wrong_type();
    }
  }

  MembersRef source = call.members(source_slot);
  const std::optional<Member> found = source.find(name);
  call.reply().integer(found ? 1 : 0);
  if (!found || from == to) return call.finish(source, from);
  const Time deadline = found->deadline;
  source.erase(name);
  finish_write(call, source, "srem", 1, call.words().subspan(3));

  if (target_slot == kNoSlot) target_slot = call.make_members(ValueType::set, to);
  MembersRef target = call.members(target_slot);
  const bool is_new = target.add(name, {}, deadline);
  call.finish(target, to);
  if (!is_new) return;
  call.changed(to);
  call.notify(Event::set, "sadd", to, call.words().subspan(3));
}

// ---- SPOP ----

// SREM key name ..., in several commands if there are many.
void propagate_popped(Call& call, std::string_view key, std::span<const std::string> names) {
  constexpr std::size_t kAtOnce = 1024;
  if (!call.wants_propagation()) return call.propagate_nothing();
  for (std::size_t i = 0; i < names.size(); i += kAtOnce) {
    call.propagate_list(removal_request(ValueType::set, key,
                                        names.subspan(i, std::min(kAtOnce, names.size() - i))));
  }
}

// Removes random members, each as likely as any other. REQUIRES: count <= set.size().
std::vector<std::string> take_random(Call& call, MembersRef& set, std::size_t count) {
  std::vector<std::string> names;
  names.reserve(count);
  Random& random = call.keyspace().random();
  // The larger the part of members that are due, the more often random() has to try again. That
  // part grows with each member that is taken.
  const bool is_fast_to_draw = set.size() >= set.stored() / 2;
  if (is_fast_to_draw && count <= set.size() / 3) {
    while (names.size() < count) {
      names.emplace_back(set.random(random).name);
      set.erase(names.back());
    }
    return names;
  }
  std::size_t left = set.size();
  set.each([&](const Member& member) {
    if (random.below(left--) < count - names.size()) names.emplace_back(member.name);
    return names.size() < count;
  });
  for (const std::string& name : names) set.erase(name);
  return names;
}

// Replies with all members and removes the key.
void pop_all(Call& call, Slot slot, std::string_view key) {
  const MembersRef set = call.members(slot);
  std::vector<std::string> names;
  const bool wants_names = call.wants_members(Event::set);
  const std::size_t size = set.size();
  call.reply().set(size);
  set.each([&](const Member& member) {
    call.reply().bulk(member.name);
    if (wants_names) names.emplace_back(member.name);
    return true;
  });
  call.count_changes(static_cast<std::int64_t>(size) - 1);  // remove_key() counts one
  call.notify(Event::set, "spop", key, views_of(names));
  remove_key(call, slot, key);
  call.propagate_as(call.host().implied_removal_name(), key);
}

// SPOP key [count]
//
// Without a count it replies with one member or null, with one with a set.
void spop(Call& call) {
  constexpr std::string_view kNegative = "ERR value is out of range, must be positive";
  if (call.count() > 3) return call.fail_syntax();
  const bool has_count = call.count() == 3;
  std::int64_t count = 1;
  if (has_count) {
    const auto number = call.integer(2, 0, INT64_MAX, kNegative);
    if (!number) return;
    count = *number;
  }
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::set);
  if (call.has_failed()) return;
  if (slot == kNoSlot && !has_count) return call.reply().null();
  if (slot == kNoSlot || count == 0) return call.reply().set(0);

  MembersRef set = call.members(slot);
  if (has_count && static_cast<std::uint64_t>(count) >= set.size()) {
    return pop_all(call, slot, key);
  }
  const auto names = take_random(call, set, static_cast<std::size_t>(count));
  if (has_count) call.reply().set(names.size());
  for (const std::string& name : names) call.reply().bulk(name);
  finish_write(call, set, "spop", names.size(), views_of(names));
  propagate_popped(call, key, names);
}

}  // namespace

std::span<const Command> set_write_commands() {
  static constexpr std::uint64_t kAdd = flag::write | flag::denyoom | flag::fast;
  static constexpr std::uint64_t kTake = flag::write | flag::fast;
  static constexpr std::uint32_t kTaken = access::rw | access::access | access::remove;
  // clang-format off
  static constexpr Command kRows[] = {
      {"sadd", sadd, -3, kAdd, one_key(access::rw | access::insert), "set", "1.0.0",
       "key member...", "Adds members to a set. Creates the set if it does not exist."},
      {"srem", srem, -3, kTake, one_key(access::rw | access::remove), "set", "1.0.0",
       "key member...", "Removes members of a set. Removes the set with its last member."},
      {"spop", spop, -2, kTake, one_key(kTaken), "set", "1.0.0",
       "key [count:int]", "Removes and returns random members of a set."},
      {"smove", smove, 4, kTake, {1, 1, 1, kTaken, 0, 2, access::rw | access::insert}, "set",
       "1.0.0", "source:key destination:key member",
       "Moves a member, with its TTL, to another set."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
