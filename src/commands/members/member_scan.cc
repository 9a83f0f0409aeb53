// SPDX-License-Identifier: Apache-2.0
// HSCAN, SSCAN and ZSCAN: iteration over the members alive.
//
//   HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]
//
// COUNT is about members alive, whether they match or not. A packed key is returned whole. ZSCAN
// has NOSCORES instead of NOVALUES.

#include <string>

#include "commands/command.h"
#include "commands/scan_options.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// Empty buckets that are visited for each member of COUNT: a table that has shrunk is not walked to
// its end in one command.
constexpr std::size_t kStepsPerMember = 10;

void reply_scan(Call& call, std::uint64_t cursor, std::size_t count, std::string_view items) {
  call.reply().array(2);
  call.reply().bulk(std::to_string(cursor));
  call.reply().array(count);
  call.reply().raw(items);
}

// The value or the score. Scores are bulks in RESP3, too.
void reply_payload(Reply& reply, const Member& member, ScanKind kind) {
  if (kind == ScanKind::hash) reply.bulk(member.value);
  if (kind == ScanKind::zset) reply.bulk(format_double(member.score()));
}

template <ValueType type, ScanKind kind>
void scan_members(Call& call) {
  if (!scan_cursor(call, 2)) return;
  const Slot slot = call.find_to_read(call.word(1), type);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return reply_scan(call, 0, 0, "");
  const std::optional<ScanOptions> options = scan_options(call, 3, kind);
  if (!options) return;

  const bool with_payload = kind != ScanKind::set && !options->names_only;
  std::string bytes;
  Reply items(bytes, call.reply().protocol());
  std::size_t seen = 0;
  std::size_t matched = 0;
  const MembersRef members = call.members(slot);
  const auto visit = [&](const Member& member) {
    ++seen;
    if (!options->matches(member.name)) return true;
    ++matched;
    items.bulk(member.name);
    if (with_payload) reply_payload(items, member, kind);
    return true;
  };
  std::uint64_t cursor = options->cursor;
  std::size_t steps = 0;
  do {
    cursor = members.scan(cursor, visit);
  } while (cursor != 0 && seen < options->count && ++steps / kStepsPerMember < options->count);
  reply_scan(call, cursor, with_payload ? matched * 2 : matched, bytes);
}

}  // namespace

std::span<const Command> member_scan_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"hscan", scan_members<ValueType::hash, ScanKind::hash>, -3, flag::readonly, kGet,
       "hash", "2.8.0", "key cursor:int [MATCH pattern:pattern] [COUNT count:int] [NOVALUES]",
       "Iterates over the fields of a hash."},
      {"sscan", scan_members<ValueType::set, ScanKind::set>, -3, flag::readonly, kGet,
       "set", "2.8.0", "key cursor:int [MATCH pattern:pattern] [COUNT count:int]",
       "Iterates over the members of a set."},
      {"zscan", scan_members<ValueType::zset, ScanKind::zset>, -3, flag::readonly, kGet,
       "sorted-set", "2.8.0",
       "key cursor:int [MATCH pattern:pattern] [COUNT count:int] [NOSCORES]",
       "Iterates over the members and scores of a sorted set."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
