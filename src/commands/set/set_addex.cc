// SPDX-License-Identifier: Apache-2.0
// SADDEX in both its forms: members added together with their deadline.
//
//   SADDEX key [NX | XX] [FNX | FXX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//          [JITTER percent] MEMBERS nummembers member [member ...]
//
// All members are added or none. NX and XX are about the key, FNX and FXX about the members.
// Without a time the members have no deadline; with KEEPTTL those that are there keep theirs.
//
//   SADDEX key [KEEPTTL] [JITTER percent] seconds member [member ...]
//
// The short form of Dragonfly. With KEEPTTL, members that are there are not changed. It is
// propagated in the long form.
//
// Both reply, as SADD does, how many members are new. Members whose time is in the past are
// removed, and none is new. A member that is there and gets another deadline is a change, with the
// same events.

#include "commands/command.h"
#include "commands/members/member_put.h"

namespace mayfly {
namespace {

// Members that were new or got another deadline.
struct Added {
  std::int64_t count = 0;  // of new ones
  MemberNames changed;
};

Added add_members(Call& call, MembersRef& set, Words names, MemberDeadlines& deadlines,
                  bool keeps_deadlines) {
  Added added;
  for (const std::string_view name : names) {
    const std::optional<Member> found = set.find(name);
    const Time deadline = deadlines.draw(call);
    if (found && (keeps_deadlines || found->deadline == deadline)) continue;
    if (set.put(name, {}, deadline)) ++added.count;
    added.changed.push_back(name);
    deadlines.keep(deadline);
  }
  return added;
}

void saddex_long(Call& call) {
  const std::optional<PutRequest> request = read_put_request(call, kSetWords);
  if (!request) return;
  std::optional<PutTarget> target = find_put_target(call, kSetWords, *request);
  if (call.has_failed()) return;
  if (!target) return call.reply().integer(0);
  if (target->is_past) {
    remove_items(call, target->members, request->items, target->deadlines.base());
    return call.reply().integer(0);
  }
  const Added added = add_members(call, target->members, request->items.words(), target->deadlines,
                                  request->keeps_deadlines());
  call.reply().integer(added.count);
  if (added.changed.empty()) return call.finish(target->members, call.word(1));
  finish_put(call, target->members, *request, target->deadlines, added.changed, added.changed);
}

// `seconds` is the word with the seconds.
void saddex_short(Call& call, std::size_t seconds) {
  const bool keeps_deadlines = seconds == 3;
  Jitter jitter;
  if (!read_short_jitter(call, seconds, jitter)) return;
  const Words names = call.words().subspan(seconds + 1);
  if (names.empty()) return call.fail_arity();
  Slot slot = call.find_to_write(call.word(1), ValueType::set);
  if (call.has_failed()) return;
  const auto deadline = deadline_argument(call, seconds, kInSeconds, 0);
  if (!deadline) return;

  const bool is_past = call.context().expires_at_once(*deadline);
  if (is_past && keeps_deadlines) return call.reply().integer(0);
  if (slot == kNoSlot) slot = call.make_members(ValueType::set, call.word(1));
  MembersRef set = call.members(slot);
  if (is_past) {
    remove_items(call, set, PutItems(kSetWords, names), *deadline);
    return call.reply().integer(0);
  }
  MemberDeadlines deadlines(*deadline, jitter);
  const Added added = add_members(call, set, names, deadlines, keeps_deadlines);
  call.reply().integer(added.count);
  if (added.changed.empty()) return call.finish(set, call.word(1));
  finish_write(call, set, "sadd", added.changed.size(), added.changed);
  call.notify(Event::set, "sexpire", call.word(1), added.changed);
  propagate_put(call, kSetWords, deadlines, false, added.changed);
}

void saddex(Call& call) {
  const std::size_t seconds = call.is(2, "keepttl") ? 3 : 2;
  const std::size_t number = call.is(seconds, "jitter") ? seconds + 2 : seconds;
  if (number < call.count() && looks_like_number(call.word(number)))
    return saddex_short(call, seconds);
  if (call.count() < 5) return call.fail_arity();
  saddex_long(call);
}

}  // namespace

std::span<const Command> set_addex_commands() {
  static constexpr Command kRows[] = {
      // The long form has five words at least, and checks that itself.
      {"saddex", saddex, -4, flag::write | flag::denyoom | flag::fast,
       one_key(access::rw | access::insert), "set", kOnlyHere,
       "key (([condition:(NX | XX)] [members-condition:(FNX | FXX)] [expiration:(EX seconds:int | "
       "PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
       "KEEPTTL)] [JITTER percent:double] MEMBERS nummembers:count member...) | "
       "([KEEPTTL] [JITTER percent:double] seconds:int member...))",
       "Adds members together with their TTL, under conditions if given."},
  };
  return kRows;
}

}  // namespace mayfly
