// SPDX-License-Identifier: Apache-2.0
// The commands that read one set: members by name, all of them, and their number.

#include "commands/call.h"
#include "commands/command.h"
#include "commands/members/member_steps.h"

namespace mayfly {
namespace {

// SISMEMBER key member
void sismember(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::set);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);

  MembersRef set = call.members(slot);
  call.reply().integer(set.find(call.word(2)) ? 1 : 0);
  call.finish(set, call.word(1));
}

// SMISMEMBER key member [member ...]
void smismember(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::set);
  if (call.has_failed()) return;

  const Words names = call.words().subspan(2);
  call.reply().array(names.size());
  if (slot == kNoSlot) {
    for (std::size_t i = 0; i < names.size(); ++i) call.reply().integer(0);
    return;
  }
  MembersRef set = call.members(slot);
  for (const std::string_view name : names) call.reply().integer(set.find(name) ? 1 : 0);
  call.finish(set, call.word(1));
}

// SMEMBERS key
void smembers(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::set);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().set(0);

  const MembersRef set = call.members(slot);
  Reply& reply = call.reply();
  reply.set(set.size());
  set.each([&](const Member& member) {
    reply.bulk(member.name);
    return true;
  });
}

// SCARD key
void scard(Call& call) { count_members(call, ValueType::set); }

}  // namespace

std::span<const Command> set_read_commands() {
  static constexpr std::uint64_t kFast = flag::readonly | flag::fast;
  static constexpr KeyRange kLook = one_key(access::ro);
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"sismember", sismember, 3, kFast, kLook, "set", "1.0.0",
       "key member", "Returns whether a set has a member."},
      {"smismember", smismember, -3, kFast, kGet, "set", "6.2.0",
       "key member...", "Returns for each of several members whether a set has it."},
      {"smembers", smembers, 2, flag::readonly, kGet, "set", "1.0.0",
       "key", "Returns all members of a set."},
      {"scard", scard, 2, kFast, kLook, "set", "1.0.0",
       "key", "Returns the number of members. Expired members do not count."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
