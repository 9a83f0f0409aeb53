// SPDX-License-Identifier: Apache-2.0
// The commands that set and remove deadlines of members: HEXPIRE and HPERSIST in their variants,
// for hashes, sets and sorted sets. hash_setex.cc and its kin have the commands that set members
// together with a deadline.
//
// HEXPIRE, HPEXPIRE, HEXPIREAT and HPEXPIREAT are one command in four forms: the number counts
// seconds or milliseconds, from now or from the epoch. SEXPIRE and ZEXPIRE have the same forms.

#include "commands/members/member_expire.h"

#include "commands/command.h"

namespace mayfly {
namespace {

// What the commands reply about a member that exists.
constexpr std::int64_t kNotAllowed = 0;
constexpr std::int64_t kDone = 1;
constexpr std::int64_t kRemoved = 2;

// Everything but the key is checked before the key is read.
std::optional<ExpireRequest> read_expire_request(Call& call, const MemberWords& words,
                                                 TimeForm form) {
  const std::optional<std::size_t> at = list_position(call, words, 3);
  if (!at) return std::nullopt;
  Jitter jitter;
  const std::optional<When> conditions = read_conditions(call, 3, *at, jitter);
  if (!conditions) return std::nullopt;
  const std::optional<Words> names = counted_words(call, *at, 1, words.wrong_count);
  if (!names) return std::nullopt;
  const std::optional<Time> deadline = deadline_argument(call, 2, form, 0);
  if (!deadline) return std::nullopt;
  return ExpireRequest{*deadline, *names, *conditions, jitter};
}

std::int64_t expire_member(MembersRef& members, std::string_view name, When conditions,
                           Time deadline, bool is_past) {
  const std::optional<Member> found = members.find(name);
  if (!found) return kNoMember;
  if (!allows(conditions, found->deadline, deadline)) return kNotAllowed;
  if (is_past) {
    members.expire(name, deadline);
    return kRemoved;
  }
  members.set_deadline(name, deadline);
  return kDone;
}

// HEXPIRE key number [NX | XX | GT | LT ...] [JITTER percent] FIELDS numfields field [field ...]
template <const MemberWords& words, TimeForm form>
void expire_members(Call& call) {
  const std::optional<ExpireRequest> request = read_expire_request(call, words, form);
  if (!request) return;
  const Slot slot = call.find_to_write(call.word(1), words.type);
  if (call.has_failed()) return;
  reply_codes(call, expire_named(call, slot, *request));
}

std::int64_t persist_member(MembersRef& members, std::string_view name) {
  const std::optional<Member> found = members.find(name);
  if (!found) return kNoMember;
  if (found->deadline == kNever) return -1;
  members.set_deadline(name, kNever);
  return kDone;
}

// HPERSIST key FIELDS numfields field [field ...]
template <const MemberWords& words>
void persist_members(Call& call) {
  const std::optional<Words> names = only_members(call, words.wrong_count);
  if (!names) return;
  const Slot slot = call.find_to_write(call.word(1), words.type);
  if (call.has_failed()) return;
  MemberCodes codes(names->size(), kNoMember);
  if (slot == kNoSlot) return reply_codes(call, codes);

  MembersRef members = call.members(slot);
  MemberNames changed;
  for (std::size_t i = 0; i < names->size(); ++i) {
    codes[i] = persist_member(members, (*names)[i]);
    if (codes[i] == kDone) changed.push_back((*names)[i]);
  }
  reply_codes(call, codes);
  finish_members(call, members, changed, MemberChange::remove_deadline);
}

}  // namespace

MemberCodes expire_named(Call& call, Slot slot, const ExpireRequest& request) {
  MemberCodes codes(request.names.size(), kNoMember);
  if (slot == kNoSlot) return codes;
  MembersRef members = call.members(slot);
  const bool is_past = call.context().expires_at_once(request.deadline);
  MemberDeadlines deadlines(request.deadline, request.jitter);
  MemberNames changed;
  for (std::size_t i = 0; i < request.names.size(); ++i) {
    const Time deadline = deadlines.draw(call);
    codes[i] = expire_member(members, request.names[i], request.conditions, deadline, is_past);
    if (codes[i] <= 0) continue;
    changed.push_back(request.names[i]);
    deadlines.keep(deadline);
  }
  const MemberChange change = is_past ? MemberChange::expire : MemberChange::set_deadline;
  finish_members(call, members, changed, change, deadlines);
  return codes;
}

void reply_codes(Call& call, const MemberCodes& codes) {
  call.reply().array(codes.size());
  for (const std::int64_t code : codes) call.reply().integer(code);
}

std::span<const Command> member_expire_commands() {
  static constexpr std::uint64_t kWrite = flag::write | flag::fast;
  static constexpr KeyRange kUpdate = one_key(access::rw | access::update);
  // clang-format off
  static constexpr Command kRows[] = {
      {"hexpire", expire_members<kHashWords, kInSeconds>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key seconds:int [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] FIELDS numfields:count field...",
       "Sets the TTL of fields in seconds."},
      {"hpexpire", expire_members<kHashWords, kInMillis>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key milliseconds:int [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] FIELDS numfields:count field...",
       "Sets the TTL of fields in milliseconds."},
      {"hexpireat", expire_members<kHashWords, kAtSecond>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key unix-time-seconds:time [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] FIELDS numfields:count field...",
       "Sets the time at which fields expire, as a Unix time in seconds."},
      {"hpexpireat", expire_members<kHashWords, kAtMilli>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] FIELDS numfields:count field...",
       "Sets the time at which fields expire, as a Unix time in milliseconds."},
      {"hpersist", persist_members<kHashWords>, -5, kWrite, kUpdate, "hash", "9.0.0",
       "key FIELDS numfields:count field...", "Removes the TTL of fields."},
      {"sexpire", expire_members<kSetWords, kInSeconds>, -6, kWrite, kUpdate, "set", kOnlyHere,
       "key seconds:int [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the TTL of members of a set in seconds."},
      {"spexpire", expire_members<kSetWords, kInMillis>, -6, kWrite, kUpdate, "set", kOnlyHere,
       "key milliseconds:int [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the TTL of members of a set in milliseconds."},
      {"sexpireat", expire_members<kSetWords, kAtSecond>, -6, kWrite, kUpdate, "set", kOnlyHere,
       "key unix-time-seconds:time [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the time at which members of a set expire, as a Unix time in seconds."},
      {"spexpireat", expire_members<kSetWords, kAtMilli>, -6, kWrite, kUpdate, "set", kOnlyHere,
       "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the time at which members of a set expire, as a Unix time in milliseconds."},
      {"spersist", persist_members<kSetWords>, -5, kWrite, kUpdate, "set", kOnlyHere,
       "key MEMBERS nummembers:count member...", "Removes the TTL of members of a set."},
      {"zexpire", expire_members<kZsetWords, kInSeconds>, -6, kWrite, kUpdate, "sorted-set",
       kOnlyHere,
       "key seconds:int [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the TTL of members of a sorted set in seconds."},
      {"zpexpire", expire_members<kZsetWords, kInMillis>, -6, kWrite, kUpdate, "sorted-set",
       kOnlyHere,
       "key milliseconds:int [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the TTL of members of a sorted set in milliseconds."},
      {"zexpireat", expire_members<kZsetWords, kAtSecond>, -6, kWrite, kUpdate, "sorted-set",
       kOnlyHere,
       "key unix-time-seconds:time [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the time at which members of a sorted set expire, as a Unix time in seconds."},
      {"zpexpireat", expire_members<kZsetWords, kAtMilli>, -6, kWrite, kUpdate, "sorted-set",
       kOnlyHere,
       "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)] "
       "[JITTER percent:double] MEMBERS nummembers:count member...",
       "Sets the time at which members of a sorted set expire, as a Unix time in milliseconds."},
      {"zpersist", persist_members<kZsetWords>, -5, kWrite, kUpdate, "sorted-set", kOnlyHere,
       "key MEMBERS nummembers:count member...", "Removes the TTL of members of a sorted set."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
