// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/entry_sums.h"

#include "keyspace/value.h"

namespace mayfly {
namespace {

// Before a member in packed form: its sizes and its deadline.
constexpr std::size_t kPackedHead = 6;

DeadlineSum sum_of(const MemberTable& table, std::uint64_t entries) {
  return {entries, entries * table.average_member_bytes()};
}

}  // namespace

std::size_t member_bytes(const KeyNode& node, std::size_t name_size, std::size_t value_size) {
  const Payload payload = row_of(node.encoding()).payload;
  if (form_of(node) == ValueForm::table) {
    return MemberTable::member_bytes(name_size, value_size, payload);
  }
  return kPackedHead + name_size + value_size;
}

std::size_t key_bytes(const KeyNode& node) {
  if (is_plain_string(node)) return plain_string_bytes(node);
  const std::size_t whole = allocated_bytes(node);
  if (node.has_member_deadlines == 0) return whole;
  std::size_t leaving = 0;  // with the members
  if (form_of(node) == ValueForm::table) {
    const MemberTable& table = node.member_table();
    leaving = table.deadline_count() * table.average_member_bytes();
  } else {
    PackedView(node.value()).each([&](const Member& member) {
      if (member.deadline != kNever) {
        leaving += member_bytes(node, member.name.size(), member.value.size());
      }
      return true;
    });
  }
  return leaving < whole ? whole - leaving : 0;
}

DeadlineSums& EntrySums::members_in(const KeyNode& node) {
  return form_of(node) == ValueForm::table ? table_members : packed_members;
}

DeadlineSum EntrySums::table_total() const {
  DeadlineSum total = table_members.total();
  for (const MemberTable* const table : leaving) {
    const DeadlineSum gone = sum_of(*table, table->deadline_count());
    total.entries -= gone.entries;
    total.bytes -= std::min(gone.bytes, total.bytes);
  }
  return total;
}

std::vector<DeadlineSum> EntrySums::tables_until(std::span<const Time> moments) const {
  std::vector<DeadlineSum> sums = table_members.until(moments);
  for (const MemberTable* const table : leaving) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const DeadlineSum gone = sum_of(*table, table->count_due(moments[i] - Millis(1)));
      sums[i].entries -= gone.entries;
      sums[i].bytes -= std::min(gone.bytes, sums[i].bytes);
    }
  }
  return sums;
}

std::vector<std::size_t> EntrySums::freed_until(std::span<const Time> moments) const {
  std::vector<std::size_t> freed(moments.size());
  for (const DeadlineSums* const sums : {&key_deadlines, &packed_members, &table_members}) {
    const std::vector<std::size_t> part = sums->freed_until(moments);
    for (std::size_t i = 0; i < freed.size(); ++i) freed[i] += part[i];
  }
  return freed;
}

}  // namespace mayfly
