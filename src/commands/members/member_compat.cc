// SPDX-License-Identifier: Apache-2.0
// The commands of other servers on deadlines of members. They take a hash, a set or a sorted set,
// whichever the key is, and are propagated as HPEXPIREAT, SPEXPIREAT or ZPEXPIREAT.
//
//   EXPIREMEMBER key member delay [s | ms]     KeyDB; 1 if the member exists, 0 if not
//   EXPIREMEMBERAT key member seconds
//   PEXPIREMEMBERAT key member milliseconds
//   FIELDEXPIRE key seconds field [field ...]  Dragonfly; the codes of HEXPIRE
//   FIELDTTL key field                         the TTL, -1 none, -2 no key, -3 no field
//
// Those of KeyDB end with JITTER percent, if they have it, and FIELDEXPIRE has it before the
// seconds.
//
// KeyDB's TTL key member is in key/key_expire.cc.

#include "commands/command.h"
#include "commands/members/member_expire.h"
#include "commands/members/member_put.h"

namespace mayfly {
namespace {

constexpr std::int64_t kNoSuchField = -3;  // of FIELDTTL

// The slot of a key that must have members. Check has_failed().
Slot with_members(Call& call, Slot slot) {
  if (slot == kNoSlot || has_members(call.database().type(slot))) return slot;
  call.fail_wrong_type();
  return kNoSlot;
}

// A time in the past removes the member. Unlike HEXPIRE this takes negative times.
// JITTER may begin at word `jitter_at`.
void expire_one(Call& call, TimeForm form, std::size_t jitter_at = 4) {
  Jitter jitter;
  if (!jitter.read_trailing(call, jitter_at)) return;
  const std::optional<Time> deadline = deadline_argument(call, 3, form, kAnyTime);
  if (!deadline) return;
  const Slot slot = with_members(call, call.find_to_write(call.word(1)));
  if (call.has_failed()) return;
  const MemberCodes codes =
      expire_named(call, slot, {*deadline, call.words().subspan(2, 1), When::always, jitter});
  call.reply().integer(codes.front() > 0 ? 1 : 0);
}

// EXPIREMEMBER key member delay [s | ms] [JITTER percent]
void expiremember(Call& call) {
  const bool has_jitter = call.count() > 5 && call.is(call.count() - 2, "jitter");
  const std::size_t end = has_jitter ? call.count() - 2 : call.count();
  if (end > 5) return call.fail_arity();
  if (!call.integer(3)) return;
  const bool is_millis = call.is(4, "ms");
  if (end == 5 && !is_millis && !call.is(4, "s")) return call.fail("ERR Invalid unit arg");
  expire_one(call, is_millis ? kInMillis : kInSeconds, end);
}

// EXPIREMEMBERAT key member unix-time-seconds [JITTER percent]
void expirememberat(Call& call) { expire_one(call, kAtSecond); }

// PEXPIREMEMBERAT key member unix-time-milliseconds [JITTER percent]
void pexpirememberat(Call& call) { expire_one(call, kAtMilli); }

// FIELDEXPIRE key [JITTER percent] seconds field [field ...]
void fieldexpire(Call& call) {
  std::size_t seconds = 2;
  Jitter jitter;
  if (!read_short_jitter(call, seconds, jitter)) return;
  if (seconds + 1 >= call.count()) return call.fail_arity();
  const std::optional<Time> deadline = deadline_argument(call, seconds, kInSeconds, 0);
  if (!deadline) return;
  const Slot slot = with_members(call, call.find_to_write(call.word(1)));
  if (call.has_failed()) return;
  reply_codes(call,
              expire_named(call, slot,
                           {*deadline, call.words().subspan(seconds + 1), When::always, jitter}));
}

// FIELDTTL key field
void fieldttl(Call& call) {
  const Slot slot = with_members(call, call.find_to_read(call.word(1)));
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(-2);
  const std::int64_t time = member_time(call, slot, call.word(2), kInSeconds);
  call.reply().integer(time == kNoMember ? kNoSuchField : time);
}

}  // namespace

std::span<const Command> member_compat_commands() {
  static constexpr std::uint64_t kWrite = flag::write | flag::fast;
  static constexpr KeyRange kUpdate = one_key(access::rw | access::update);
  // clang-format off
  static constexpr Command kRows[] = {
      {"expiremember", expiremember, -4, kWrite, kUpdate, "generic", kOnlyHere,
       "key member delay:int [unit:(S | MS)] [JITTER percent:double]",
       "Sets the TTL of a member of a hash, set or sorted set (of KeyDB)."},
      {"expirememberat", expirememberat, -4, kWrite, kUpdate, "generic", kOnlyHere,
       "key member unix-time-seconds:time [JITTER percent:double]",
       "Sets the time at which a member expires, as a Unix time in seconds (of KeyDB)."},
      {"pexpirememberat", pexpirememberat, -4, kWrite, kUpdate, "generic", kOnlyHere,
       "key member unix-time-milliseconds:time [JITTER percent:double]",
       "Sets the time at which a member expires, as a Unix time in milliseconds (of KeyDB)."},
      {"fieldexpire", fieldexpire, -4, kWrite, kUpdate, "generic", kOnlyHere,
       "key [JITTER percent:double] seconds:int field...",
       "Sets the TTL of members of a hash, set or sorted set (of Dragonfly)."},
      {"fieldttl", fieldttl, 3, flag::readonly | flag::fast,
       one_key(access::ro | access::access), "generic", kOnlyHere, "key field",
       "Returns the TTL of a member in seconds (of Dragonfly)."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
