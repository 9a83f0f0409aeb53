// SPDX-License-Identifier: Apache-2.0
// What a MemberTable frees besides the nodes of members that expire: places in its table, its slab,
// its index and its order. Those follow the number of members in steps and not at once.

#pragma once

#include <span>
#include <vector>

#include "keyspace/members/member_table.h"
#include "keyspace/table.h"
#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

// Until a moment.
struct TablePlaces {
  double members = 0;  // that expire
  double freed = 0;    // bytes
  bool is_empty = false;
  bool has_deadlines = true;  // some of the members that are left
};

// From all deadlines, or from a sample if they are many. REQUIRES: ends in order.
std::vector<TablePlaces> table_places(const MemberTable& table, std::span<const Time> ends,
                                      Random& random);

// What is freed of a Table with so many bytes and slots when so many slots are left.
double freed_of_table(std::size_t bytes, std::size_t slots, double left);

}  // namespace mayfly
