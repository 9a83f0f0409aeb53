// SPDX-License-Identifier: Apache-2.0
// HSETEX in both its forms: fields set together with their deadline.
//
//   HSETEX key [NX | XX] [FNX | FXX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//          FIELDS numfields field value [field value ...]
//
// All fields are set or none. NX and XX are about the key, FNX and FXX about the fields. Replies 1
// if the fields were set (or removed, if the time is in the past) and 0 if a condition did not
// hold. A condition on the key is checked before the time is read, one on the fields after it.
//
//   HSETEX key [NX] seconds field value [field value ...]
//
// The short form of Dragonfly, which the RFC lists. It has a number where the other form has an
// option or FIELDS. With NX, fields that exist keep their values and deadlines, and the others are
// set. Replies, as HSET does, how many fields are new. It is propagated in the long form, so that
// replicas need to know only that one.

#include "commands/command.h"
#include "commands/hash/hash_steps.h"
#include "commands/members/member_put.h"

namespace mayfly {
namespace {

// The word with the seconds.
std::size_t seconds_position(const Call& call) { return call.is(2, "nx") ? 3 : 2; }

// Sets the fields and replies how many are new; `only_new` leaves existing ones unchanged.
void set_short(Call& call, MembersRef& hash, const PutItems& pairs, Time deadline, bool only_new) {
  std::int64_t added = 0;
  std::vector<std::string_view> written;
  written.reserve(pairs.words().size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (only_new && hash.find(pairs.name(i))) continue;
    if (hash.put(pairs.name(i), pairs.payload(i), deadline)) ++added;
    written.insert(written.end(), {pairs.name(i), pairs.payload(i)});
  }
  call.reply().integer(added);
  if (written.empty()) {
    call.finish(hash, call.word(1));
    return;
  }
  const MemberView names(written, 2);
  finish_write(call, hash, "hset", written.size() / 2, names);
  call.notify(Event::hash, "hexpire", call.word(1), names);
  propagate_put(call, kHashWords, deadline, false, written);
}

void hsetex_short(Call& call) {
  const std::size_t seconds = seconds_position(call);
  const bool only_new = seconds == 3;
  const Words words = call.words().subspan(seconds + 1);
  if (words.empty() || words.size() % 2 != 0) return call.fail_arity();
  Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  const auto deadline = deadline_argument(call, seconds, kInSeconds, 0);
  if (!deadline) return;

  const bool is_past = call.context().expires_at_once(*deadline);
  if (is_past && only_new) return call.reply().integer(0);
  if (slot == kNoSlot) slot = call.make_members(ValueType::hash, call.word(1));
  MembersRef hash = call.members(slot);
  const PutItems pairs(kHashWords, words);
  if (!is_past) return set_short(call, hash, pairs, *deadline, only_new);
  remove_items(call, hash, pairs, *deadline);
  call.reply().integer(0);
}

void set_long(Call& call, MembersRef& hash, const PutRequest& request, Time deadline) {
  const PutItems& pairs = request.items;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (request.keeps_deadlines()) {
      hash.put_keeping_deadline(pairs.name(i), pairs.payload(i));
    } else {
      hash.put(pairs.name(i), pairs.payload(i), deadline);
    }
  }
  finish_put(call, hash, request, deadline, pairs.size(), pairs.names());
}

void hsetex(Call& call) {
  if (looks_like_number(call.word(seconds_position(call)))) return hsetex_short(call);
  if (call.count() < 6) return call.fail_arity();
  const std::optional<PutRequest> request = read_put_request(call, kHashWords);
  if (!request) return;
  std::optional<PutTarget> target = find_put_target(call, kHashWords, *request);
  if (call.has_failed()) return;
  if (!target) return call.reply().integer(0);
  if (target->is_past) {
    remove_items(call, target->members, request->items, target->deadline);
  } else {
    set_long(call, target->members, *request, target->deadline);
  }
  call.reply().integer(1);
}

}  // namespace

std::span<const Command> hash_setex_commands() {
  static constexpr Command kRows[] = {
      // The long form has six words at least, and checks that itself.
      {"hsetex", hsetex, -5, flag::write | flag::denyoom | flag::fast,
       one_key(access::rw | access::insert), "hash", "9.0.0",
       "key (([condition:(NX | XX)] [fields-condition:(FNX | FXX)] [expiration:(EX seconds:int | "
       "PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
       "KEEPTTL)] FIELDS numfields:count (field value)...) | ([NX] seconds:int (field value)...))",
       "Sets fields together with their TTL, under conditions if given."},
  };
  return kRows;
}

}  // namespace mayfly
