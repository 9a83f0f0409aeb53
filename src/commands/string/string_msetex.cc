// SPDX-License-Identifier: Apache-2.0
// MSETEX: several keys at once, under one condition and with one TTL.

#include <climits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "commands/steps.h"
#include "commands/ttl/expire_time.h"
#include "commands/ttl/ttl_policy.h"

namespace mayfly {
namespace {

constexpr std::size_t kFirstKey = 2;

struct MsetexRequest {
  std::size_t end = 0;      // of the keys and values, which begin at kFirstKey
  bool if_absent = false;   // NX
  bool if_present = false;  // XX
  ExpiryOption expiry;      // EX, PX, EXAT, PXAT, or KEEPTTL
};

// Reads the option at word `i` and returns how many words it takes; 0 if it is not allowed there.
std::size_t read_msetex_option(const Call& call, std::size_t i, MsetexRequest& request) {
  if (const std::size_t taken = request.expiry.read(call, i, call.count(), "keepttl")) return taken;
  if (call.is(i, "nx") && !request.if_present) {
    request.if_absent = true;
  } else if (call.is(i, "xx") && !request.if_absent) {
    request.if_present = true;
  } else {
    return 0;
  }
  return 1;
}

std::optional<MsetexRequest> read_msetex(Call& call) {
  const std::optional<std::int64_t> keys =
      call.integer(1, 1, INT_MAX, "ERR invalid numkeys value or out of range");
  if (!keys) return std::nullopt;
  MsetexRequest request;
  request.end = kFirstKey + static_cast<std::size_t>(*keys) * 2;
  std::size_t i = request.end;
  while (i < call.count()) {
    const std::size_t taken = read_msetex_option(call, i, request);
    if (taken == 0) break;
    i += taken;
  }
  if (i != call.count()) {
    call.fail_syntax();
    return std::nullopt;
  }
  if (!request.expiry.finish(call)) return std::nullopt;
  return request;
}

// Sets all or none: not if one key exists (NX) or is missing (XX).
bool is_msetex_allowed(Call& call, const MsetexRequest& request) {
  if (!request.if_absent && !request.if_present) return true;
  for (std::size_t i = kFirstKey; i < request.end; i += 2) {
    const bool is_there = call.find_to_write(call.word(i)) != kNoSlot;
    if (is_there ? request.if_absent : request.if_present) return false;
  }
  return true;
}

// Whether each key is propagated alone, with the deadline that it got.
bool is_each_alone(const Call& call, const MsetexRequest& request) {
  return request.expiry.jitter.is_given || call.judges_ttls();
}

// The deadline of a key in the end; nothing after an error reply.
std::optional<Time> msetex_deadline(Call& call, std::string_view key, Slot slot,
                                    const MsetexRequest& request, std::optional<Time> time) {
  if (time) return ruled_deadline(call, key, *time, request.expiry.jitter);
  const bool keeps = request.expiry.is_instead && slot != kNoSlot;
  return ruled_kept(call, key, keeps ? call.database().deadline(slot) : kNever);
}

// Before anything is changed.
bool rules_allow_msetex(Call& call, const MsetexRequest& request, std::optional<Time> time) {
  for (std::size_t i = kFirstKey; call.judges_ttls() && i < request.end; i += 2) {
    const Slot slot = call.find_to_write(call.word(i));
    if (!msetex_deadline(call, call.word(i), slot, request, time)) return false;
  }
  return true;
}

void set_key(Call& call, std::size_t i, const MsetexRequest& request, std::optional<Time> time) {
  const std::string_view key = call.word(i);
  const Slot slot = call.find_to_write(key);
  KeyLife life = request.expiry.is_instead ? life_of(call, slot) : KeyLife{};
  const Time until = msetex_deadline(call, key, slot, request, time).value_or(kNever);
  if (until != life.deadline) life = {.deadline = until};
  replace_value(call, slot, key, call.word(i + 1), life);
  report_set(call, key);
  if (time) call.notify(Event::generic, "expire", key);
  if (is_each_alone(call, request)) propagate_set(call, key, call.word(i + 1), life);
}

// Replicas get the result: no condition, and an absolute time.
void propagate_msetex(Call& call, const MsetexRequest& request, std::optional<Time> deadline) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  const Words kept = call.words().first(request.end);
  Propagated words(kept.begin(), kept.end());
  if (deadline) words.insert(words.end(), {"PXAT", in_millis(*deadline)});
  if (request.expiry.is_instead) words.emplace_back("KEEPTTL");
  call.propagate_list(std::move(words));
}

// MSETEX numkeys key value [key value ...] [NX | XX]
//        [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL] [JITTER percent]
//
// With a deadline in the past the keys are set all the same, and expire.
void msetex(Call& call) {
  const std::optional<MsetexRequest> request = read_msetex(call);
  if (!request) return;
  const std::optional<Time> deadline = request->expiry.deadline(call, 1);
  if (call.has_failed()) return;
  const bool may = is_msetex_allowed(call, *request);
  if (may && !rules_allow_msetex(call, *request, deadline)) return;
  call.reply().integer(may);
  if (!may) return;

  for (std::size_t i = kFirstKey; i < request->end; i += 2) set_key(call, i, *request, deadline);
  if (is_each_alone(call, *request)) return;
  const bool has_condition = request->if_absent || request->if_present;
  const bool is_exact = !deadline || *request->expiry.form == kAtMilli;
  if (has_condition || !is_exact) propagate_msetex(call, *request, deadline);
}

}  // namespace

std::span<const Command> string_msetex_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"msetex", msetex, -4, flag::write | flag::denyoom | flag::movablekeys | flag::asks_rules,
       {2, 0, 2, access::ow | access::update, 1},
       "string", "9.1.0",
       "numkeys:count (key value)... [condition:(NX | XX)] [expiration:(EX seconds:int | "
       "PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
       "KEEPTTL)] [JITTER percent:double]",
       "Sets several keys to strings, with one TTL or under one condition."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
