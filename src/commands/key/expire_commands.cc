// SPDX-License-Identifier: Apache-2.0
// The commands that give a key a deadline, tell it and take it away.
//
// EXPIRE and its kin are one command in four spellings, TTL and its kin another: their numbers are
// seconds or milliseconds, from now or from the epoch.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "commands/call.h"
#include "commands/expire_time.h"
#include "commands/key/key_steps.h"
#include "mayfly/condition.h"

namespace mayfly {
namespace {

constexpr TimeForm kSeconds{.is_seconds = true, .is_absolute = false};
constexpr TimeForm kMillis{.is_seconds = false, .is_absolute = false};
constexpr TimeForm kSecondsAt{.is_seconds = true, .is_absolute = true};
constexpr TimeForm kMillisAt{.is_seconds = false, .is_absolute = true};

// NX, XX, GT and LT from word 3 on, together; nothing if they are not right, which has been said.
std::optional<When> read_conditions(Call& call) {
  When conditions = When::always;
  for (std::size_t i = 3; i < call.count(); ++i) {
    const std::optional<When> one = when_option(call.word(i));
    if (!one) {
      call.fail(fmt::format("ERR Unsupported option {}", call.word(i)));
      return std::nullopt;
    }
    conditions = conditions | *one;
  }
  if (compatible(conditions)) return conditions;
  call.fail(contains(conditions, When::unset)
                ? "ERR NX and XX, GT or LT options at the same time are not compatible"
                : "ERR GT and LT options at the same time are not compatible");
  return std::nullopt;
}

// EXPIRE key number [NX | XX | GT | LT]
//
// A deadline that is over is no error: the key expires here and now.
void expire(Call& call, TimeForm form) {
  const std::optional<When> conditions = read_conditions(call);
  if (!conditions) return;
  const std::optional<Time> deadline = deadline_argument(call, 2, form, kAnyTime);
  if (!deadline) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key);
  if (slot == kNoSlot || !allows(*conditions, call.database().deadline(slot), *deadline)) {
    return call.reply().integer(0);
  }
  set_key_deadline(call, slot, key, *deadline);
  call.reply().integer(1);
}

void expire_in_seconds(Call& call) { expire(call, kSeconds); }
void expire_in_millis(Call& call) { expire(call, kMillis); }
void expire_at_second(Call& call) { expire(call, kSecondsAt); }
void expire_at_milli(Call& call) { expire(call, kMillisAt); }

// TTL key: -2 if it is not there, -1 if it has no deadline. Seconds are rounded to the nearest.
void tell_deadline(Call& call, TimeForm form) {
  const Slot slot = find_untouched(call, call.word(1));
  if (slot == kNoSlot) return call.reply().integer(-2);
  const Time deadline = call.database().deadline(slot);
  if (deadline == kNever) return call.reply().integer(-1);

  const Millis left =
      form.is_absolute ? deadline.time_since_epoch() : remaining(deadline, call.now());
  const std::int64_t ms = std::max<std::int64_t>(left.count(), 0);
  call.reply().integer(form.is_seconds ? ms / 1000 + (ms % 1000 >= 500) : ms);
}

void ttl(Call& call) { tell_deadline(call, kSeconds); }
void pttl(Call& call) { tell_deadline(call, kMillis); }
void expiretime(Call& call) { tell_deadline(call, kSecondsAt); }
void pexpiretime(Call& call) { tell_deadline(call, kMillisAt); }

void persist(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key);
  call.reply().integer(slot != kNoSlot && clear_key_deadline(call, slot, key));
}

constexpr std::uint32_t kRead = flag::readonly | flag::fast;
constexpr std::uint32_t kWrite = flag::write | flag::fast;
constexpr KeyRange kTold{1, 1, 1, access::ro | access::access};
constexpr KeyRange kChanged{1, 1, 1, access::rw | access::update};
constexpr std::string_view kGeneric = "generic";

// clang-format off
constexpr Command kCommands[] = {
    {"expire", expire_in_seconds, -3, kWrite, kChanged, kGeneric, "1.0.0",
     "key seconds:int [condition:(NX | XX | GT | LT)]",
     "Lets a key expire in some seconds."},
    {"pexpire", expire_in_millis, -3, kWrite, kChanged, kGeneric, "2.6.0",
     "key milliseconds:int [condition:(NX | XX | GT | LT)]",
     "Lets a key expire in some milliseconds."},
    {"expireat", expire_at_second, -3, kWrite, kChanged, kGeneric, "1.2.0",
     "key unix-time-seconds:time [condition:(NX | XX | GT | LT)]",
     "Lets a key expire at a Unix time in seconds."},
    {"pexpireat", expire_at_milli, -3, kWrite, kChanged, kGeneric, "2.6.0",
     "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)]",
     "Lets a key expire at a Unix time in milliseconds."},
    {"ttl", ttl, 2, kRead, kTold, kGeneric, "1.0.0",
     "key",
     "Tells in how many seconds a key expires."},
    {"pttl", pttl, 2, kRead, kTold, kGeneric, "2.6.0",
     "key",
     "Tells in how many milliseconds a key expires."},
    {"expiretime", expiretime, 2, kRead, kTold, kGeneric, "7.0.0",
     "key",
     "Tells the Unix time in seconds at which a key expires."},
    {"pexpiretime", pexpiretime, 2, kRead, kTold, kGeneric, "7.0.0",
     "key",
     "Tells the Unix time in milliseconds at which a key expires."},
    {"persist", persist, 2, kWrite, kChanged, kGeneric, "2.2.0",
     "key",
     "Takes the deadline of a key away."},
};
// clang-format on

}  // namespace

std::span<const Command> expire_commands() { return kCommands; }

}  // namespace mayfly
