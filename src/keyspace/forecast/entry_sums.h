// SPDX-License-Identifier: Apache-2.0
// EntrySums: what a database holds, by type and by deadline, kept up to date with every change.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "keyspace/forecast/deadline_sums.h"
#include "keyspace/forecast/size_column.h"
#include "keyspace/key_node.h"
#include "mayfly/time.h"

namespace mayfly {

struct Member;

inline constexpr std::size_t kValueTypes = 6;

struct EntrySums {
  std::array<std::size_t, kValueTypes> keys{};     // stored, by type
  std::array<std::size_t, kValueTypes> members{};  // stored, by the type of their key
  DeadlineSums key_deadlines;
  DeadlineSums packed_members;  // those of keys whose members are packed
  DeadlineSums table_members;   // those of the other keys, and of `leaving`
  SizeColumn sizes;             // of keys with deadlines, as in key_deadlines; not of plain strings

  // Tables that were removed and are freed later. Their members leave the sums one by one.
  std::vector<const MemberTable*> leaving;

  std::size_t& keys_of(ValueType type) { return keys[static_cast<std::size_t>(type)]; }
  std::size_t& members_of(ValueType type) { return members[static_cast<std::size_t>(type)]; }
  std::size_t keys_of(ValueType type) const { return keys[static_cast<std::size_t>(type)]; }
  std::size_t members_of(ValueType type) const { return members[static_cast<std::size_t>(type)]; }

  // Of members in a key like this one.
  DeadlineSums& members_in(const KeyNode& node);

  // Members in tables, without those of `leaving`; for each moment, see DeadlineSums.
  DeadlineSum table_total() const;
  std::vector<DeadlineSum> tables_until(std::span<const Time> moments) const;

  // Of all sums of deadlines: see DeadlineSums.
  std::vector<std::size_t> freed_until(std::span<const Time> moments) const;
};

// What the member has for itself: about so many bytes of the key's node, or a node of its own.
std::size_t member_bytes(const KeyNode& node, std::size_t name_size, std::size_t value_size);

// A string whose node has the size that the value needs.
inline bool is_plain_string(const KeyNode& node) {
  return node.encoding() == Encoding::string && node.is_raw == 0;
}
inline std::size_t plain_string_bytes(const KeyNode& node) {
  return allocated_size(sizeof(KeyNode) + node.key_size + node.value_size);
}

// What is freed when the key expires, without its members that have deadlines of their own, and
// without its places in the structures of the database.
std::size_t key_bytes(const KeyNode& node);

}  // namespace mayfly
