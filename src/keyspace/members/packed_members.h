// SPDX-License-Identifier: Apache-2.0
// Changes of packed members, in place, in bytes that the caller owns. packed_view.h has the layout.
//
// The caller asks first how many bytes there will be, and makes room:
//
//   const PackedPut put = packed_plan_put({blob, size}, name, value, deadline);
//   blob = realloc(blob, std::max(size, put.size));    // at least both
//   size = packed_apply(blob, size, put, name, value); // one walk in all
//
// Names, values and deadlines can be anything, empty and kNever included; but a score has eight
// bytes, and a payload of nothing none. Texts given to a function must not lie in the bytes that it
// changes. REQUIRES of all: the bytes are valid (PackedView::check_invariants), and there are at
// most kPackedMembersMax members.
//
//   all functions   O(n): a walk over the bytes

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/members/packed_view.h"

namespace mayfly {

// A change of one member that was planned but not made yet.
struct PackedPut {
  std::size_t size = 0;        // of the blob afterwards
  bool is_new = true;          // whether the member did not exist
  Time old_deadline = kNever;  // of a member that existed
  Time deadline = kNever;      // the one it gets
  std::size_t offset = 0;      // where its entry begins, or will begin
  PackedForm form = {};        // afterwards
};

// Writes the form without members and returns its size, kPackedEmptySize. REQUIRES: room for it.
std::size_t packed_create(char* out, Payload payload);

// Writes these members, in this order, and returns the size, packed_size(members, payload).
// REQUIRES: room for it, no name twice, at most kPackedMembersMax of them, and if they have scores
// their order.
std::size_t packed_size(std::span<const Member> members, Payload payload);
std::size_t packed_build(char* out, std::span<const Member> members, Payload payload);

// Sets the member's payload and its deadline; kNever means none.
PackedPut packed_plan_put(std::string_view blob, std::string_view name, std::string_view value,
                          Time deadline);

// Makes the change and returns the new size, put.size. REQUIRES: the blob, the name and the value
// are those of the plan, and there is room for the greater of the sizes before and after.
std::size_t packed_apply(char* blob, std::size_t size, const PackedPut& put, std::string_view name,
                         std::string_view value);

// The same for a deadline alone. REQUIRES: the member exists.
PackedPut packed_plan_deadline(std::string_view blob, std::string_view name, Time deadline);
std::size_t packed_apply_deadline(char* blob, std::size_t size, const PackedPut& put);

// Removes the member and returns the new size, which is less. REQUIRES: the member exists.
std::size_t packed_erase(char* blob, std::size_t size, std::string_view name);

// Removes at most `limit` members that are due, in the order in which they are stored, and appends
// their names to `names` and their deadlines to `deadlines`, unless it is null. `see` is shown each
// before it goes. Returns the new size. O(1) if none is due.
std::size_t packed_take_due(char* blob, std::size_t size, Time now, std::size_t limit,
                            std::vector<std::string>& names, std::vector<Time>* deadlines,
                            const SeeMember& see = {});

}  // namespace mayfly
