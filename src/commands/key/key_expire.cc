// SPDX-License-Identifier: Apache-2.0
// The commands that set, read and remove the deadline of a key.
//
// EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT are one command in four forms: the number counts seconds
// or milliseconds, from now or from the epoch. So are TTL and its variants.

#include <optional>

#include "commands/command.h"
#include "commands/members/member_expire.h"
#include "commands/steps.h"
#include "commands/ttl/expire_time.h"
#include "commands/ttl/ttl_policy.h"
#include "mayfly/condition.h"

namespace mayfly {
namespace {

// EXPIRE key number [NX | XX | GT | LT] [JITTER percent]
//
// A deadline in the past is no error: the key expires at once. GT and LT compare the deadline with
// its jitter.
template <TimeForm form>
void expire(Call& call) {
  Jitter jitter;
  const std::optional<When> conditions = read_conditions(call, 3, call.count(), jitter);
  if (!conditions) return;
  const std::optional<Time> time = deadline_argument(call, 2, form, kAnyTime);
  if (!time) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key);
  if (slot == kNoSlot) return call.reply().integer(0);
  const std::optional<Time> deadline = ruled_deadline(call, key, *time, jitter);
  if (!deadline) return;
  if (!allows(*conditions, call.database().deadline(slot), *deadline)) {
    return call.reply().integer(0);
  }
  set_key_deadline(call, slot, key, *deadline);
  call.reply().integer(1);
}

// TTL key: -2 if the key does not exist, -1 if it has no deadline.
template <TimeForm form>
void ttl(Call& call) {
  const Slot slot = call.find_untouched(call.word(1));
  if (slot == kNoSlot) return call.reply().integer(-2);
  call.reply().integer(ttl_reply(call.database().deadline(slot), call.now(), form));
}

// TTL key [member]
//
// The form of KeyDB with a member is about a hash, set or sorted set. -2 if the member does not
// exist, -1 if it has no deadline.
template <TimeForm form>
void ttl_of_any(Call& call) {
  if (call.count() == 2) return ttl<form>(call);
  if (call.count() > 3) return call.fail_arity();
  const Slot slot = call.find_untouched(call.word(1));
  if (slot == kNoSlot) return call.reply().integer(-2);
  if (!has_members(call.database().type(slot))) return call.fail_wrong_type();
  call.reply().integer(member_time(call, slot, call.word(2), form));
}

// PERSIST key
void persist(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key);
  const bool has = slot != kNoSlot && call.database().deadline(slot) != kNever;
  if (has && !may_persist(call, key)) return;
  call.reply().integer(has && clear_key_deadline(call, slot, key));
}

}  // namespace

std::span<const Command> key_expire_commands() {
  static constexpr std::uint64_t kRead = flag::readonly | flag::fast;
  static constexpr std::uint64_t kWrite = flag::write | flag::fast | flag::asks_rules;
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  static constexpr KeyRange kUpdate = one_key(access::rw | access::update);
  // clang-format off
  static constexpr Command kRows[] = {
      {"expire", expire<kInSeconds>, -3, kWrite, kUpdate, "generic", "1.0.0",
       "key seconds:int [condition:(NX | XX | GT | LT)] [JITTER percent:double]",
       "Sets the TTL of a key in seconds."},
      {"pexpire", expire<kInMillis>, -3, kWrite, kUpdate, "generic", "2.6.0",
       "key milliseconds:int [condition:(NX | XX | GT | LT)] [JITTER percent:double]",
       "Sets the TTL of a key in milliseconds."},
      {"expireat", expire<kAtSecond>, -3, kWrite, kUpdate, "generic", "1.2.0",
       "key unix-time-seconds:time [condition:(NX | XX | GT | LT)] [JITTER percent:double]",
       "Sets the time at which a key expires, as a Unix time in seconds."},
      {"pexpireat", expire<kAtMilli>, -3, kWrite, kUpdate, "generic", "2.6.0",
       "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)] [JITTER percent:double]",
       "Sets the time at which a key expires, as a Unix time in milliseconds."},
      {"ttl", ttl_of_any<kInSeconds>, -2, kRead, kGet, "generic", "1.0.0",
       "key [member]", "Returns the TTL of a key, or of a member, in seconds."},
      {"pttl", ttl_of_any<kInMillis>, -2, kRead, kGet, "generic", "2.6.0",
       "key [member]", "Returns the TTL of a key, or of a member, in milliseconds."},
      {"expiretime", ttl<kAtSecond>, 2, kRead, kGet, "generic", "7.0.0",
       "key", "Returns the time at which a key expires, as a Unix time in seconds."},
      {"pexpiretime", ttl<kAtMilli>, 2, kRead, kGet, "generic", "7.0.0",
       "key", "Returns the time at which a key expires, as a Unix time in milliseconds."},
      {"persist", persist, 2, kWrite, kUpdate, "generic", "2.2.0",
       "key", "Removes the TTL of a key."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
