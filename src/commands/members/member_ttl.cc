// SPDX-License-Identifier: Apache-2.0
// The commands that return deadlines of members: HTTL, HPTTL, HEXPIRETIME and HPEXPIRETIME, which
// are one command in four forms, for hashes, sets and sorted sets.

#include "commands/command.h"
#include "commands/members/member_expire.h"

namespace mayfly {
namespace {

std::int64_t find_time(Call& call, MembersRef& members, std::string_view name, TimeForm form) {
  const std::optional<Member> found = members.find(name);
  return found ? ttl_reply(found->deadline, call.now(), form) : kNoMember;
}

// HTTL key FIELDS numfields field [field ...]
template <const MemberWords& words, TimeForm form>
void member_times(Call& call) {
  const std::optional<Words> names = only_members(call, "ERR syntax error");
  if (!names) return;
  const Slot slot = call.find_to_read(call.word(1), words.type);
  if (call.has_failed()) return;
  MemberCodes times(names->size(), kNoMember);
  if (slot == kNoSlot) return reply_codes(call, times);

  MembersRef members = call.members(slot);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = find_time(call, members, (*names)[i], form);
  }
  reply_codes(call, times);
  call.finish(members, call.word(1));
}

}  // namespace

std::int64_t member_time(Call& call, Slot slot, std::string_view name, TimeForm form) {
  MembersRef members = call.members(slot);
  const std::int64_t time = find_time(call, members, name, form);
  call.finish(members, call.word(1));
  return time;
}

std::span<const Command> member_ttl_commands() {
  static constexpr std::uint64_t kRead = flag::readonly | flag::fast;
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  static constexpr std::string_view kFields = "key FIELDS numfields:count field...";
  static constexpr std::string_view kMembers = "key MEMBERS nummembers:count member...";
  // clang-format off
  static constexpr Command kRows[] = {
      {"httl", member_times<kHashWords, kInSeconds>, -5, kRead, kGet, "hash",
       "9.0.0", kFields,
       "Returns the TTL of fields in seconds."},
      {"hpttl", member_times<kHashWords, kInMillis>, -5, kRead, kGet, "hash",
       "9.0.0", kFields,
       "Returns the TTL of fields in milliseconds."},
      {"hexpiretime", member_times<kHashWords, kAtSecond>, -5, kRead, kGet, "hash",
       "9.0.0", kFields,
       "Returns the times at which fields expire, as Unix times in seconds."},
      {"hpexpiretime", member_times<kHashWords, kAtMilli>, -5, kRead, kGet, "hash",
       "9.0.0", kFields,
       "Returns the times at which fields expire, as Unix times in milliseconds."},
      {"sttl", member_times<kSetWords, kInSeconds>, -5, kRead, kGet, "set",
       kOnlyHere, kMembers,
       "Returns the TTL of members of a set in seconds."},
      {"spttl", member_times<kSetWords, kInMillis>, -5, kRead, kGet, "set",
       kOnlyHere, kMembers,
       "Returns the TTL of members of a set in milliseconds."},
      {"sexpiretime", member_times<kSetWords, kAtSecond>, -5, kRead, kGet, "set",
       kOnlyHere, kMembers,
       "Returns the times at which members of a set expire, as Unix times in seconds."},
      {"spexpiretime", member_times<kSetWords, kAtMilli>, -5, kRead, kGet, "set",
       kOnlyHere, kMembers,
       "Returns the times at which members of a set expire, as Unix times in milliseconds."},
      {"zttl", member_times<kZsetWords, kInSeconds>, -5, kRead, kGet, "sorted-set",
       kOnlyHere, kMembers,
       "Returns the TTL of members of a sorted set in seconds."},
      {"zpttl", member_times<kZsetWords, kInMillis>, -5, kRead, kGet, "sorted-set",
       kOnlyHere, kMembers,
       "Returns the TTL of members of a sorted set in milliseconds."},
      {"zexpiretime", member_times<kZsetWords, kAtSecond>, -5, kRead, kGet, "sorted-set",
       kOnlyHere, kMembers,
       "Returns the times at which members of a sorted set expire, as Unix times in seconds."},
      {"zpexpiretime", member_times<kZsetWords, kAtMilli>, -5, kRead, kGet, "sorted-set",
       kOnlyHere, kMembers,
       "Returns the times at which members of a sorted set expire, as Unix times in milliseconds."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
