// SPDX-License-Identifier: Apache-2.0
// The commands that look up members of sorted sets and count them. Only members alive count.

#include <optional>

#include "commands/command.h"
#include "commands/members/member_steps.h"
#include "commands/zset/zset_ranges.h"
#include "commands/zset/zset_steps.h"

namespace mayfly {
namespace {

void reply_score(Reply& reply, const std::optional<Member>& member) {
  if (!member) return reply.null();
  reply.number(member->score());
}

// ZCARD key
void zcard(Call& call) { count_members(call, ValueType::zset); }

// ZSCORE key member
void zscore(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();
  MembersRef zset = call.members(slot);
  reply_score(call.reply(), zset.find(call.word(2)));
  call.finish(zset, call.word(1));
}

// ZMSCORE key member [member ...]
void zmscore(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  const Words names = call.words().subspan(2);
  Reply& reply = call.reply();
  reply.array(names.size());
  if (slot == kNoSlot) {
    for (std::size_t i = 0; i < names.size(); ++i) reply.null();
    return;
  }
  MembersRef zset = call.members(slot);
  for (const std::string_view name : names) reply_score(reply, zset.find(name));
  call.finish(zset, call.word(1));
}

void reply_rank(Call& call, Direction direction) {
  if (call.count() > 4) return call.fail_arity();
  const bool with_score = call.count() == 4;
  if (with_score && !call.is(3, "withscore")) return call.fail_syntax();
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  const auto reply_none = [&] { with_score ? call.reply().null_array() : call.reply().null(); };
  if (slot == kNoSlot) return reply_none();

  MembersRef zset = call.members(slot);
  const std::optional<Member> member = zset.find(call.word(2));
  if (!member) {
    reply_none();
  } else {
    const double score = member->score();
    const MembersOrder order = zset.order();
    const std::size_t before = order.rank(score, call.word(2));
    const std::size_t rank = direction == Direction::forward ? before : order.size() - 1 - before;
    if (with_score) call.reply().array(2);
    call.reply().integer(static_cast<std::int64_t>(rank));
    if (with_score) call.reply().number(score);
  }
  call.finish(zset, call.word(1));
}

// ZRANK key member [WITHSCORE]
void zrank(Call& call) { reply_rank(call, Direction::forward); }

// ZREVRANK key member [WITHSCORE]
void zrevrank(Call& call) { reply_rank(call, Direction::backward); }

void reply_count(Call& call, RangeKind kind) {
  const std::optional<MemberRange> range = read_range(call, kind, 2, 3);
  if (!range) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  MembersRef zset = call.members(slot);
  const Ranks ranks = ranks_in(order_for(zset, *range), *range, Direction::forward);
  call.reply().integer(static_cast<std::int64_t>(ranks.count));
  call.finish(zset, call.word(1));
}

// ZCOUNT key min max
void zcount(Call& call) { reply_count(call, RangeKind::score); }

// ZLEXCOUNT key min max
void zlexcount(Call& call) { reply_count(call, RangeKind::name); }

}  // namespace

std::span<const Command> zset_read_commands() {
  static constexpr std::uint64_t kFast = flag::readonly | flag::fast;
  static constexpr KeyRange kLook = one_key(access::ro);
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"zcard", zcard, 2, kFast, kLook, "sorted-set", "1.2.0",
       "key", "Returns the number of members. Expired members do not count."},
      {"zscore", zscore, 3, kFast, kGet, "sorted-set", "1.2.0",
       "key member", "Returns the score of a member."},
      {"zmscore", zmscore, -3, kFast, kGet, "sorted-set", "6.2.0",
       "key member...", "Returns the scores of several members."},
      {"zrank", zrank, -3, kFast, kGet, "sorted-set", "2.0.0",
       "key member [WITHSCORE]", "Returns how many members come before a member."},
      {"zrevrank", zrevrank, -3, kFast, kGet, "sorted-set", "2.0.0",
       "key member [WITHSCORE]", "Returns how many members come after a member."},
      {"zcount", zcount, 4, kFast, kGet, "sorted-set", "2.0.0",
       "key min:double max:double", "Counts the members in a range of scores."},
      {"zlexcount", zlexcount, 4, kFast, kGet, "sorted-set", "2.8.9",
       "key min max", "Counts the members in a range of names, if all scores are equal."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
