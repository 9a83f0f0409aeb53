// SPDX-License-Identifier: Apache-2.0
// HSCAN, SSCAN and ZSCAN: iteration over the members alive. HEXPIRESCAN, SEXPIRESCAN and
// ZEXPIRESCAN: the members that have deadlines, soonest first.
//
//   HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]
//   HEXPIRESCAN key cursor FROM moment TO moment [MATCH pattern] [COUNT count]
//
// COUNT is about members alive, whether they match or not. A packed key is returned whole. ZSCAN
// has NOSCORES instead of NOVALUES.

#include <algorithm>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/scan_options.h"
#include "commands/ttl/expire_scan.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// Empty buckets that are visited for each member of COUNT: a table that has shrunk is not walked to
// its end in one command.
constexpr std::size_t kStepsPerMember = 10;

void reply_scan(Call& call, std::string_view cursor, std::size_t count, std::string_view items) {
  call.reply().array(2);
  call.reply().bulk(cursor);
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
  if (slot == kNoSlot) return reply_scan(call, "0", 0, "");
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
  reply_scan(call, std::to_string(cursor), with_payload ? matched * 2 : matched, bytes);
}

// Packed members that expire within the time of the scan: all of them.
std::vector<Member> packed_expiring(const KeyNode& node, const ExpireScan& scan) {
  std::vector<Member> members;
  if (node.has_member_deadlines == 0) return members;
  PackedView(node.value()).each([&](const Member& member) {
    if (member.deadline >= scan.from && member.deadline < scan.to) members.push_back(member);
    return true;
  });
  std::ranges::stable_sort(members, {}, &Member::deadline);
  return members;
}

template <ValueType type>
void scan_expiring(Call& call) {
  const std::optional<ExpireScan> scan = expire_scan(call, 2, ScanKind::set);
  if (!scan) return;
  const Slot slot = call.find_to_read(call.word(1), type);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return reply_scan(call, "0", 0, "");

  std::string bytes;
  Reply items(bytes, call.reply().protocol());
  std::size_t count = 0;
  const auto add = [&](std::string_view name, Time deadline) {
    if (!scan->options.matches(name)) return;
    items.array(2);
    items.bulk(name);
    items.integer(deadline.time_since_epoch().count());
    ++count;
  };
  const KeyNode& node = call.database().node(slot);
  if (form_of(node) != ValueForm::table) {
    for (const Member& member : packed_expiring(node, *scan)) add(member.name, member.deadline);
    return reply_scan(call, "0", count, bytes);
  }
  const MemberTable& table = node.member_table();
  const ExpirePage page = expire_page(*scan, [&](Time from, Time to, const auto& see) {
    table.visit_deadlines(from, to, see);
    return to;
  });
  for (const auto& [member, deadline] : page.items) add(table.name_at(member), deadline);
  reply_scan(call, page.cursor, count, bytes);
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
      {"hexpirescan", scan_expiring<ValueType::hash>, -7, flag::readonly, kGet, "hash", kOnlyHere,
       "key cursor FROM from TO to [MATCH pattern:pattern] [COUNT count:int]",
       "Returns fields that expire between two moments, soonest first."},
      {"sexpirescan", scan_expiring<ValueType::set>, -7, flag::readonly, kGet, "set", kOnlyHere,
       "key cursor FROM from TO to [MATCH pattern:pattern] [COUNT count:int]",
       "Returns members of a set that expire between two moments, soonest first."},
      {"zexpirescan", scan_expiring<ValueType::zset>, -7, flag::readonly, kGet, "sorted-set",
       kOnlyHere, "key cursor FROM from TO to [MATCH pattern:pattern] [COUNT count:int]",
       "Returns members of a sorted set that expire between two moments, soonest first."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
