// SPDX-License-Identifier: Apache-2.0
// ZRANGE in all its forms, ZRANGESTORE, and the older commands for each form.
//
//   ZRANGE key min max [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
//
// With REV a range of scores or names begins with its maximum.

#include <optional>
#include <utility>

#include "commands/command.h"
#include "commands/zset/zset_ranges.h"
#include "commands/zset/zset_steps.h"

namespace mayfly {
namespace {

// What the name of the command leaves to its options.
struct RangeForm {
  std::optional<RangeKind> kind = {};
  std::optional<Direction> direction = {};
  bool stores = false;
};

struct RangeRequest {
  MemberRange range;
  Direction direction = Direction::forward;
  bool with_scores = false;
  std::int64_t offset = 0;
  std::int64_t limit = -1;  // no limit
};

// Reads the option at word `i`, and returns how many words it takes; 0 after an error reply.
std::size_t read_range_option(Call& call, std::size_t i, const RangeForm& fixed, RangeForm& form,
                              RangeRequest& request) {
  if (!fixed.stores && call.is(i, "withscores")) {
    request.with_scores = true;
    return 1;
  }
  if (call.is(i, "limit") && i + 2 < call.count()) {
    const std::optional<std::int64_t> offset = call.integer(i + 1);
    const std::optional<std::int64_t> limit = offset ? call.integer(i + 2) : std::nullopt;
    if (!limit) return 0;
    request.offset = *offset;
    request.limit = *limit;
    return 3;
  }
  // A form that was chosen by an option cannot be changed by another one.
  if (!form.direction && call.is(i, "rev")) {
    form.direction = Direction::backward;
    return 1;
  }
  if (!form.kind && (call.is(i, "bylex") || call.is(i, "byscore"))) {
    form.kind = call.is(i, "bylex") ? RangeKind::name : RangeKind::score;
    return 1;
  }
  call.fail_syntax();
  return 0;
}

// The key of the range is word `at`. Nothing after an error reply.
std::optional<RangeRequest> read_request(Call& call, const RangeForm& fixed, std::size_t at) {
  RangeForm form = fixed;
  RangeRequest request;
  for (std::size_t i = at + 3; i < call.count();) {
    const std::size_t taken = read_range_option(call, i, fixed, form, request);
    if (taken == 0) return std::nullopt;
    i += taken;
  }
  const RangeKind kind = form.kind.value_or(RangeKind::rank);
  request.direction = form.direction.value_or(Direction::forward);
  if (request.limit != -1 && kind == RangeKind::rank) {
    call.fail(
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    return std::nullopt;
  }
  if (request.with_scores && kind == RangeKind::name) {
    call.fail("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    return std::nullopt;
  }
  std::size_t min = at + 1;
  std::size_t max = at + 2;
  if (request.direction == Direction::backward && kind != RangeKind::rank) std::swap(min, max);
  const std::optional<MemberRange> range = read_range(call, kind, min, max);
  if (!range) return std::nullopt;
  request.range = *range;
  return request;
}

Ranks chosen_ranks(const MembersOrder& order, const RangeRequest& request) {
  const Ranks ranks = ranks_in(order, request.range, request.direction);
  if (std::holds_alternative<RankRange>(request.range)) return ranks;
  return limited(ranks, request.direction, request.offset, request.limit);
}

void reply_range(Call& call, const RangeForm& form) {
  const std::optional<RangeRequest> request = read_request(call, form, 1);
  if (!request) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  Reply& reply = call.reply();
  if (slot == kNoSlot) return reply.array(0);

  MembersRef zset = call.members(slot);
  const MembersOrder order = order_for(zset, request->range);
  const Ranks ranks = chosen_ranks(order, *request);
  const bool with_scores = request->with_scores;
  reply_members_head(reply, ranks.count, with_scores);
  visit_ranks(order, ranks, request->direction, [&](const Member& member) {
    reply_member(reply, member.name, with_scores ? member.score() : 0, with_scores);
    return true;
  });
  call.finish(zset, call.word(1));
}

// ZRANGE key min max [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
void zrange(Call& call) { reply_range(call, {}); }

// ZREVRANGE key start stop [WITHSCORES]
void zrevrange(Call& call) {
  reply_range(call, {.kind = RangeKind::rank, .direction = Direction::backward});
}

// ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]
void zrangebyscore(Call& call) {
  reply_range(call, {.kind = RangeKind::score, .direction = Direction::forward});
}

// ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]
void zrevrangebyscore(Call& call) {
  reply_range(call, {.kind = RangeKind::score, .direction = Direction::backward});
}

// ZRANGEBYLEX key min max [LIMIT offset count]
void zrangebylex(Call& call) {
  reply_range(call, {.kind = RangeKind::name, .direction = Direction::forward});
}

// ZREVRANGEBYLEX key max min [LIMIT offset count]
void zrevrangebylex(Call& call) {
  reply_range(call, {.kind = RangeKind::name, .direction = Direction::backward});
}

// ZRANGESTORE target key min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]
//
// If members of the source have deadlines, the result is propagated: a replica may still hold
// members that have expired here.
void zrangestore(Call& call) {
  const std::optional<RangeRequest> request = read_request(call, {.stores = true}, 2);
  if (!request) return;
  const std::string_view source = call.word(2);
  const Slot slot = call.find_to_read(source, ValueType::zset);
  if (call.has_failed()) return;

  ScoredNames result;
  bool had_deadlines = false;
  if (slot != kNoSlot) {
    MembersRef zset = call.members(slot);
    had_deadlines = zset.has_deadlines();
    const MembersOrder order = order_for(zset, request->range);
    const Ranks ranks = chosen_ranks(order, *request);
    result.items().reserve(ranks.count);
    // The result has no direction: it is stored in ascending order.
    visit_ranks(order, ranks, Direction::forward, [&](const Member& member) {
      result.add(member.name, member.score());
      return true;
    });
    call.finish(zset, source);
    if (source == call.word(1)) result.copy_all();
  }
  store_result(call, call.word(1), "zrangestore", result, had_deadlines);
}

}  // namespace

std::span<const Command> zset_range_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  static constexpr KeyRange kStore = {2, 2, 1, access::ro | access::access, 0, 1};
  // clang-format off
  static constexpr Command kRows[] = {
      {"zrange", zrange, -4, flag::readonly, kGet, "sorted-set", "1.2.0",
       "key start stop [sortby:(BYSCORE | BYLEX)] [REV] [LIMIT offset:int count:int] "
       "[WITHSCORES]",
       "Returns the members in a range of ranks, scores or names."},
      {"zrangestore", zrangestore, -5, flag::write | flag::denyoom, kStore, "sorted-set", "6.2.0",
       "dst:key src:key min max [sortby:(BYSCORE | BYLEX)] [REV] [LIMIT offset:int count:int]",
       "Stores the members in a range of ranks, scores or names in another key."},
      {"zrevrange", zrevrange, -4, flag::readonly, kGet, "sorted-set", "1.2.0",
       "key start:int stop:int [WITHSCORES]",
       "Returns the members in a range of ranks, highest score first."},
      {"zrangebyscore", zrangebyscore, -4, flag::readonly, kGet, "sorted-set", "1.0.5",
       "key min:double max:double [WITHSCORES] [LIMIT offset:int count:int]",
       "Returns the members in a range of scores."},
      {"zrevrangebyscore", zrevrangebyscore, -4, flag::readonly, kGet, "sorted-set", "2.2.0",
       "key max:double min:double [WITHSCORES] [LIMIT offset:int count:int]",
       "Returns the members in a range of scores, highest score first."},
      {"zrangebylex", zrangebylex, -4, flag::readonly, kGet, "sorted-set", "2.8.9",
       "key min max [LIMIT offset:int count:int]",
       "Returns the members in a range of names, if all scores are equal."},
      {"zrevrangebylex", zrevrangebylex, -4, flag::readonly, kGet, "sorted-set", "2.8.9",
       "key max min [LIMIT offset:int count:int]",
       "Returns the members in a range of names, last name first, if all scores are equal."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
