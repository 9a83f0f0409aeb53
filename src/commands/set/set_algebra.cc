// SPDX-License-Identifier: Apache-2.0
// Intersections, unions and differences of sets: to read, to count, and to store.
//
// Members that are due are left out. Reading does not remove them. The STORE forms do so first, and
// so a replica gets their SREM before the words of the command: from then on it has the same
// members, and the words mean the same there. Results have no deadlines.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"
#include "commands/members/name_list.h"
#include "commands/steps.h"
#include "keyspace/members/member_table.h"
#include "keyspace/members/members_load.h"

namespace mayfly {
namespace {

enum class SetOperation { inter, unite, diff };

// ---- Sources ----

// The sets that keys hold; kNoSlot where there is none. It fails if a key is no set.
std::vector<Slot> find_sources(Call& call, Words keys) {
  std::vector<Slot> slots;
  slots.reserve(keys.size());
  for (const std::string_view key : keys) {
    slots.push_back(call.find_to_read(key, ValueType::set));
    if (call.has_failed()) break;
  }
  return slots;
}

// The sets of an operation, to be read only. A set that is named twice is there once.
class Sources {
 public:
  explicit Sources(Call& call) : database_(call.database()), context_(call.context()) {
    if (context_.policy == Policy::reclaim) context_.policy = Policy::hide;
  }
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  // Slots of kNoSlot are left out.
  void add(std::span<const Slot> slots) {
    for (const Slot slot : slots) {
      if (slot == kNoSlot || has(slot)) continue;
      MembersRef set = this->set(slot);
      const std::size_t size = set.size();
      sets_.push_back({size, std::move(set)});
    }
  }

  bool has(Slot slot) const {
    return std::ranges::any_of(sets_, [&](const Source& it) { return it.set.slot() == slot; });
  }
  MembersRef set(Slot slot) { return database_.members(context_, slot); }

  // Sets in the order of their sizes.
  std::vector<MembersRef*> smallest_first() {
    std::vector<Source*> order;
    for (Source& source : sets_) order.push_back(&source);
    std::ranges::stable_sort(order, {}, &Source::size);
    std::vector<MembersRef*> sets;
    for (Source* source : order) sets.push_back(&source->set);
    return sets;
  }

 private:
  struct Source {
    std::size_t size;
    MembersRef set;
  };

  Database& database_;
  ExecContext context_;
  std::vector<Source> sets_;
};

// ---- Operations: they call emit(name) for each member of the result, until it returns false ----

template <class Emit>
void intersect(Sources& sources, Emit emit) {
  const std::vector<MembersRef*> sets = sources.smallest_first();
  const std::span others = std::span(sets).subspan(1);
  sets.front()->each([&](const Member& member) {
    for (MembersRef* const other : others) {
      if (!other->find(member.name)) return true;
    }
    return emit(member.name);
  });
}

// Says whether a name is in one of the sets that were added. Each of a few sets is asked; many are
// merged into a table.
class NamesOf {
 public:
  NamesOf(std::size_t sets, std::uint64_t seed)
      : is_merged_(sets > 4), table_(seed, Payload::none) {}

  void add(MembersRef& set) {
    if (!is_merged_) return sets_.push_back(&set);
    set.each([this](const Member& member) {
      table_.put(member.name, {}, kNever);
      return true;
    });
  }

  bool has(std::string_view name) const {
    if (is_merged_) return table_.find(name).has_value();
    return std::ranges::any_of(sets_, [&](MembersRef* set) { return set->find(name).has_value(); });
  }

 private:
  bool is_merged_;
  std::vector<MembersRef*> sets_;
  MemberTable table_;
};

template <class Emit>
void unite(Sources& sources, std::uint64_t seed, Emit emit) {
  std::vector<MembersRef*> sets = sources.smallest_first();
  std::ranges::reverse(sets);
  NamesOf seen(sets.size(), seed);
  for (MembersRef* const set : sets) {
    set->each([&](const Member& member) { return seen.has(member.name) || emit(member.name); });
    seen.add(*set);
  }
}

// The members of `first` that none of the sources has.
template <class Emit>
void subtract(Slot first, Sources& sources, std::uint64_t seed, Emit emit) {
  if (first == kNoSlot || sources.has(first)) return;
  std::vector<MembersRef*> others = sources.smallest_first();
  std::ranges::reverse(others);  // the largest one excludes the most
  NamesOf excluded(others.size(), seed);
  for (MembersRef* const other : others) excluded.add(*other);
  sources.set(first).each(
      [&](const Member& member) { return excluded.has(member.name) || emit(member.name); });
}

template <class Emit>
void operate(Call& call, SetOperation operation, std::span<const Slot> slots, Emit emit) {
  const std::uint64_t seed = call.keyspace().options().seed;
  Sources sources(call);
  sources.add(operation == SetOperation::diff ? slots.subspan(1) : slots);
  switch (operation) {
    case SetOperation::inter:
      if (std::ranges::count(slots, kNoSlot) == 0) intersect(sources, emit);
      return;
    case SetOperation::unite:
      return unite(sources, seed, emit);
    case SetOperation::diff:
      return subtract(slots.front(), sources, seed, emit);
  }
}

// ---- Reading ----

void read_result(Call& call, SetOperation operation) {
  const std::vector<Slot> slots = find_sources(call, call.words().subspan(1));
  if (call.has_failed()) return;
  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  operate(call, operation, slots, [&](std::string_view name) {
    reply.bulk(name);
    ++count;
    return true;
  });
  reply.set_at(place, count);
}

// SINTER key [key ...]
void sinter(Call& call) { read_result(call, SetOperation::inter); }

// SUNION key [key ...]
void sunion(Call& call) { read_result(call, SetOperation::unite); }

// SDIFF key [key ...]
void sdiff(Call& call) { read_result(call, SetOperation::diff); }

// SINTERCARD numkeys key [key ...] [LIMIT limit]
void sintercard(Call& call) {
  const auto keys = call.integer(1, 1, INT64_MAX, "ERR numkeys should be greater than 0");
  if (!keys) return;
  if (static_cast<std::uint64_t>(*keys) > call.count() - 2) {
    return call.fail("ERR Number of keys can't be greater than number of args");
  }
  const auto key_count = static_cast<std::size_t>(*keys);
  std::int64_t limit = 0;
  for (std::size_t i = 2 + key_count; i < call.count(); i += 2) {
    if (!call.is(i, "limit") || i + 1 == call.count()) return call.fail_syntax();
    const auto number = call.integer(i + 1, 0, INT64_MAX, "ERR LIMIT can't be negative");
    if (!number) return;
    limit = *number;
  }
  const std::vector<Slot> slots = find_sources(call, call.words().subspan(2, key_count));
  if (call.has_failed()) return;
  std::int64_t count = 0;
  operate(call, SetOperation::inter, slots, [&](std::string_view) { return ++count != limit; });
  call.reply().integer(count);
}

// ---- Storing ----

// Removes the members of the sources that are due.
void reclaim_due(Call& call, Words keys, std::span<const Slot> slots) {
  if (call.context().policy != Policy::reclaim) return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (slots[i] == kNoSlot || !call.members(slots[i]).has_deadlines()) continue;
    while (call.database().sweep_key(call.context(), keys[i], kMembersAtOnce, FoundBy::access) ==
           kMembersAtOnce) {
    }
  }
}

// Makes the key a set of these members, whatever it was.
void replace_with_set(Call& call, std::string_view key, const NameList& names) {
  std::vector<Member> members;
  members.reserve(names.size());
  names.each([&](std::string_view name) { members.push_back({.name = name}); });
  Database& database = call.database();
  const bool is_new = call.find(key) == kNoSlot;
  const Slot stored = database.stored_slot(key);
  if (stored != kNoSlot) database.erase(stored);
  MembersLoad load;
  load.begin(call.context(), database, ValueType::set, key, members.size());
  load.add(members);
  load.end();
  if (is_new) call.notify(Event::created, "new", key);
}

void store_result(Call& call, SetOperation operation, std::string_view event) {
  const std::string_view target = call.word(1);
  const Words keys = call.words().subspan(2);
  const std::vector<Slot> slots = find_sources(call, keys);
  if (call.has_failed()) return;
  reclaim_due(call, keys, slots);
  NameList names;  // copies, since the target may be one of the sources
  operate(call, operation, slots, [&](std::string_view name) {
    names.add(name);
    return true;
  });
  if (names.is_empty()) {
    const Slot slot = call.find(target);
    if (slot != kNoSlot) remove_key(call, slot, target);
    return call.reply().integer(0);
  }
  replace_with_set(call, target, names);
  call.changed(target);
  call.notify(Event::set, event, target);
  call.reply().integer(static_cast<std::int64_t>(names.size()));
}

// SINTERSTORE destination key [key ...]
void sinterstore(Call& call) { store_result(call, SetOperation::inter, "sinterstore"); }

// SUNIONSTORE destination key [key ...]
void sunionstore(Call& call) { store_result(call, SetOperation::unite, "sunionstore"); }

// SDIFFSTORE destination key [key ...]
void sdiffstore(Call& call) { store_result(call, SetOperation::diff, "sdiffstore"); }

}  // namespace

std::span<const Command> set_algebra_commands() {
  static constexpr std::uint64_t kStore = flag::write | flag::denyoom;
  static constexpr KeyRange kRead = all_keys(access::ro | access::access);
  static constexpr KeyRange kStored{2, -1, 1, access::ro | access::access, 0, 1};
  static constexpr KeyRange kInterStored{
      2, -1, 1, access::ro | access::access, 0, 1, access::rw | access::update};
  static constexpr KeyRange kCounted{2, 0, 1, access::ro | access::access, 1};
  // clang-format off
  static constexpr Command kRows[] = {
      {"sinter", sinter, -2, flag::readonly, kRead, "set", "1.0.0",
       "key...", "Returns the members that all sets have."},
      {"sintercard", sintercard, -3, flag::readonly | flag::movablekeys, kCounted, "set", "7.0.0",
       "numkeys:count key... [LIMIT limit:int]",
       "Returns the number of members that all sets have."},
      {"sunion", sunion, -2, flag::readonly, kRead, "set", "1.0.0",
       "key...", "Returns the members that any of the sets has."},
      {"sdiff", sdiff, -2, flag::readonly, kRead, "set", "1.0.0",
       "key...", "Returns the members of the first set that no other set has."},
      {"sinterstore", sinterstore, -3, kStore, kInterStored, "set", "1.0.0",
       "destination:key key...", "Stores the members that all sets have."},
      {"sunionstore", sunionstore, -3, kStore, kStored, "set", "1.0.0",
       "destination:key key...", "Stores the members that any of the sets has."},
      {"sdiffstore", sdiffstore, -3, kStore, kStored, "set", "1.0.0",
       "destination:key key...", "Stores the members of the first set that no other set has."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
