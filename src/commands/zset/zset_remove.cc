// SPDX-License-Identifier: Apache-2.0
// ZREM, and ZREMRANGEBYRANK, ZREMRANGEBYSCORE and ZREMRANGEBYLEX.
//
// If members have deadlines, the removal of a range is propagated by names: a replica may still
// hold members that have expired here.

#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/members/member_steps.h"
#include "commands/zset/zset_ranges.h"
#include "commands/zset/zset_steps.h"

namespace mayfly {
namespace {

// ZREM key member [member ...]
void zrem(Call& call) { remove_named(call, kZsetWords); }

// Removes the key, all of whose `count` members are in the range.
void remove_all(Call& call, MembersRef& zset, std::string_view key, std::string_view event,
                std::size_t count) {
  std::vector<std::string> names;
  if (call.wants_members(Event::zset)) {
    zset.each([&](const Member& member) {
      names.emplace_back(member.name);
      return true;
    });
  }
  zset.finish();
  call.database().erase(zset.slot());
  call.changed(key, static_cast<std::int64_t>(count));
  call.notify(Event::zset, event, key, views_of(names));
  call.notify(Event::generic, "del", key);
}

void remove_range(Call& call, RangeKind kind, std::string_view event) {
  const std::optional<MemberRange> range = read_range(call, kind, 2, 3);
  if (!range) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);

  MembersRef zset = call.members(slot);
  const bool had_deadlines = zset.has_deadlines();
  std::vector<std::string> names;
  const MembersOrder order = order_for(zset, *range);
  const Ranks ranks = ranks_in(order, *range, Direction::forward);
  call.reply().integer(static_cast<std::int64_t>(ranks.count));
  if (ranks.count == 0) return call.finish(zset, key);
  if (ranks.count == zset.stored()) {
    remove_all(call, zset, key, event, ranks.count);
    if (had_deadlines) call.propagate_as("DEL", key);
    return;
  }
  names.reserve(ranks.count);
  visit_ranks(order, ranks, Direction::forward, [&](const Member& member) {
    names.emplace_back(member.name);
    return true;
  });
  remove_members(call, zset, key, event, names);
  if (had_deadlines) propagate_removals(call, key, names);
}

// ZREMRANGEBYRANK key start stop
void zremrangebyrank(Call& call) { remove_range(call, RangeKind::rank, "zremrangebyrank"); }

// ZREMRANGEBYSCORE key min max
void zremrangebyscore(Call& call) { remove_range(call, RangeKind::score, "zremrangebyscore"); }

// ZREMRANGEBYLEX key min max
void zremrangebylex(Call& call) { remove_range(call, RangeKind::name, "zremrangebylex"); }

}  // namespace

std::span<const Command> zset_remove_commands() {
  static constexpr KeyRange kRemove = one_key(access::rw | access::remove);
  // clang-format off
  static constexpr Command kRows[] = {
      {"zrem", zrem, -3, flag::write | flag::fast, kRemove, "sorted-set", "1.2.0",
       "key member...",
       "Removes members of a sorted set. Removes the sorted set with its last member."},
      {"zremrangebyrank", zremrangebyrank, 4, flag::write, kRemove, "sorted-set", "2.0.0",
       "key start:int stop:int", "Removes the members in a range of ranks."},
      {"zremrangebyscore", zremrangebyscore, 4, flag::write, kRemove, "sorted-set", "1.2.0",
       "key min:double max:double", "Removes the members in a range of scores."},
      {"zremrangebylex", zremrangebylex, 4, flag::write, kRemove, "sorted-set", "2.8.9",
       "key min max", "Removes the members in a range of names."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
