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
  DeadlineSums member_deadlines;  // those of `leaving` included
  SizeColumn sizes;               // of keys with deadlines, as in key_deadlines

  // Tables that were removed and are freed later. Their members leave the sums one by one.
  std::vector<const MemberTable*> leaving;

  std::size_t& keys_of(ValueType type) { return keys[static_cast<std::size_t>(type)]; }
  std::size_t& members_of(ValueType type) { return members[static_cast<std::size_t>(type)]; }
  std::size_t keys_of(ValueType type) const { return keys[static_cast<std::size_t>(type)]; }
  std::size_t members_of(ValueType type) const { return members[static_cast<std::size_t>(type)]; }

  // Members with a deadline, without those of `leaving`; for each moment, see DeadlineSums.
  DeadlineSum member_total() const;
  std::vector<DeadlineSum> members_until(std::span<const Time> moments) const;
};

// Of a key in the table, and in a bucket of the index of its deadline.
inline constexpr std::size_t kKeyPlaceBytes = 9 + 7;

// What is freed when the member expires.
std::size_t member_bytes(const KeyNode& node, std::size_t name_size, std::size_t value_size);

// What is freed when the key expires, without its members that have deadlines of their own.
std::size_t key_bytes(const KeyNode& node);

}  // namespace mayfly
