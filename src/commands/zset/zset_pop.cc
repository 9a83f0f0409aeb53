// SPDX-License-Identifier: Apache-2.0
// ZPOPMIN, ZPOPMAX and ZMPOP, and BZPOPMIN, BZPOPMAX and BZMPOP, which wait for a member.
//
// A pop is propagated as ZPOPMIN or ZPOPMAX of the key, or as ZREM if a member has a deadline: a
// replica may still hold members that have expired here, and their scores may be lower or higher.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/pop_arguments.h"
#include "commands/wait_time.h"
#include "commands/zset/zset_ranges.h"
#include "commands/zset/zset_steps.h"

namespace mayfly {
namespace {

// How a list of popped members looks.
enum class PopReply {
  flat,          // [member, score, ...]
  nested,        // [[member, score], ...]
  flat_of_key,   // [key, member, score]
  nested_of_key  // [key, [[member, score], ...]]
};

struct PopRequest {
  Words keys = {};
  Direction from = Direction::forward;  // forward: the lowest score first
  std::size_t count = 1;
  PopReply reply = PopReply::flat;
};

constexpr std::int64_t kIntegerMax = std::numeric_limits<std::int64_t>::max();

void reply_head(Reply& reply, PopReply form, std::string_view key, std::size_t count) {
  switch (form) {
    case PopReply::flat:
      return reply.array(2 * count);
    case PopReply::nested:
      return reply.array(count);
    case PopReply::flat_of_key:
      reply.array(2 * count + 1);
      return reply.bulk(key);
    case PopReply::nested_of_key:
      reply.array(2);
      reply.bulk(key);
      return reply.array(count);
  }
}

// Propagates the pop of so many members of the key, in which no member has a deadline. The words of
// ZPOPMIN and ZPOPMAX say that already.
void propagate_pop(Call& call, std::string_view key, const PopRequest& request, std::size_t count) {
  const std::string_view name = request.from == Direction::forward ? "ZPOPMIN" : "ZPOPMAX";
  if (request.reply == PopReply::flat_of_key) call.propagate_as(name, key);
  if (request.reply == PopReply::nested_of_key) {
    call.propagate_as(name, key, std::to_string(count));
  }
}

void pop(Call& call, Slot slot, std::string_view key, const PopRequest& request) {
  MembersRef zset = call.members(slot);
  const bool has_deadlines = zset.has_deadlines();
  const bool is_min = request.from == Direction::forward;
  const bool is_nested =
      request.reply == PopReply::nested || request.reply == PopReply::nested_of_key;
  std::vector<std::string> names;
  const MembersOrder order = zset.order();
  const std::size_t count = std::min(request.count, order.size());
  names.reserve(count);
  reply_head(call.reply(), request.reply, key, count);
  order.visit(is_min ? 0 : order.size() - 1, count, request.from, [&](const Member& member) {
    if (is_nested) call.reply().array(2);
    call.reply().bulk(member.name);
    call.reply().number(member.score());
    names.emplace_back(member.name);
    return true;
  });
  remove_members(call, zset, key, is_min ? "zpopmin" : "zpopmax", names);
  if (has_deadlines) return propagate_removals(call, key, names);
  propagate_pop(call, key, request, count);
}

// Pops from the first key that exists. Returns false, without a reply, if none does.
bool pop_first(Call& call, const PopRequest& request) {
  for (const std::string_view key : request.keys) {
    const Slot slot = call.find_to_write(key, ValueType::zset);
    if (call.has_failed()) return true;
    if (slot == kNoSlot) continue;
    pop(call, slot, key, request);
    return true;
  }
  return false;
}

// ZPOPMIN key [count]
void pop_one_key(Call& call, Direction from) {
  if (call.count() > 3) return call.fail_syntax();
  const bool has_count = call.count() == 3;
  std::optional<std::int64_t> count = 1;
  if (has_count) {
    count = call.integer(2, 0, kIntegerMax, "ERR value is out of range, must be positive");
  }
  if (!count) return;
  if (*count == 0) {
    call.find_to_write(call.word(1), ValueType::zset);
    return call.has_failed() ? void() : call.reply().array(0);
  }
  const bool is_nested = has_count && call.reply().protocol() > 2;
  const PopRequest request{call.words().subspan(1, 1), from, static_cast<std::size_t>(*count),
                           is_nested ? PopReply::nested : PopReply::flat};
  if (!pop_first(call, request)) call.reply().array(0);
}

void zpopmin(Call& call) { pop_one_key(call, Direction::forward); }
void zpopmax(Call& call) { pop_one_key(call, Direction::backward); }

// numkeys key [key ...] <MIN | MAX> [COUNT count], from word `at` on; nothing after an error reply.
std::optional<PopRequest> read_mpop(Call& call, std::size_t at) {
  const std::optional<PopArguments> read = read_pop_arguments(call, at, "min", "max");
  if (!read) return std::nullopt;
  return PopRequest{read->keys, read->is_from_back ? Direction::backward : Direction::forward,
                    read->count, PopReply::nested_of_key};
}

// ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]
void zmpop(Call& call) {
  const std::optional<PopRequest> request = read_mpop(call, 1);
  if (request && !pop_first(call, *request)) call.reply().null_array();
}

// Pops, or waits until it is possible. `timeout` is the word with the seconds.
void pop_or_wait(Call& call, const PopRequest& request, std::size_t timeout) {
  const std::optional<Time> until = wait_end(call, timeout);
  if (!until || pop_first(call, request)) return;
  const KeyWait wait{{request.keys.begin(), request.keys.end()}, ValueType::zset, *until};
  if (!call.wait_for(wait)) call.reply().null_array();
}

void pop_one_or_wait(Call& call, Direction from) {
  const std::size_t timeout = call.count() - 1;
  const Words keys = call.words().subspan(1, timeout - 1);
  pop_or_wait(call, {keys, from, 1, PopReply::flat_of_key}, timeout);
}

// BZPOPMIN key [key ...] timeout
void bzpopmin(Call& call) { pop_one_or_wait(call, Direction::forward); }
void bzpopmax(Call& call) { pop_one_or_wait(call, Direction::backward); }

// BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]
void bzmpop(Call& call) {
  if (const std::optional<PopRequest> request = read_mpop(call, 2)) {
    pop_or_wait(call, *request, 1);
  }
}

}  // namespace

std::span<const Command> zset_pop_commands() {
  static constexpr std::uint32_t kPop = access::rw | access::access | access::remove;
  static constexpr std::uint64_t kFast = flag::write | flag::fast;
  static constexpr std::uint64_t kWait = kFast | flag::blocking;
  // clang-format off
  static constexpr Command kRows[] = {
      {"zpopmin", zpopmin, -2, kFast, one_key(kPop), "sorted-set", "5.0.0",
       "key [count:int]", "Removes and returns the members with the lowest scores."},
      {"zpopmax", zpopmax, -2, kFast, one_key(kPop), "sorted-set", "5.0.0",
       "key [count:int]", "Removes and returns the members with the highest scores."},
      {"zmpop", zmpop, -4, flag::write | flag::movablekeys, {2, 0, 1, kPop, 1}, "sorted-set",
       "7.0.0", "numkeys:count key... where:(MIN | MAX) [COUNT count:int]",
       "Removes and returns the lowest or highest members of the first key that exists."},
      {"bzpopmin", bzpopmin, -3, kWait, {1, -2, 1, kPop}, "sorted-set", "5.0.0",
       "key... timeout:double",
       "Removes and returns the member with the lowest score. Waits until there is one."},
      {"bzpopmax", bzpopmax, -3, kWait, {1, -2, 1, kPop}, "sorted-set", "5.0.0",
       "key... timeout:double",
       "Removes and returns the member with the highest score. Waits until there is one."},
      {"bzmpop", bzmpop, -5, flag::write | flag::blocking | flag::movablekeys,
       {3, 0, 1, kPop, 2}, "sorted-set", "7.0.0",
       "timeout:double numkeys:count key... where:(MIN | MAX) [COUNT count:int]",
       "Removes and returns the lowest or highest members. Waits until there are any."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
