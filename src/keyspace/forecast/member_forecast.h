// SPDX-License-Identifier: Apache-2.0
// MemberForecast: what keys free when members of theirs expire, until given moments.
//
// The bytes of members are known (EntrySums). But packed members are in the key's node, which
// shrinks only when half of it is unused; a table frees each member's node, and its own places in
// steps; and the last member frees the rest of the key. That is found out for some keys, and taken
// in proportion for all.
//
//   add     O(members); of a large table some thousand are looked at
//   memory  some numbers for each moment

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "keyspace/key_node.h"
#include "mayfly/random.h"
#include "mayfly/time.h"

namespace mayfly {

class Database;

class MemberForecast {
 public:
  // Until a moment, of the keys that were added.
  struct Point {
    double packed_bytes = 0;   // of members, as they are counted in EntrySums
    double packed_freed = 0;   // really
    double table_members = 0;  // in tables
    double table_freed = 0;    // besides their nodes
    double emptied = 0;        // keys without a member
    double settled = 0;        // keys without a deadline of a member
  };

  // REQUIRES: ends in order, and they outlive this.
  explicit MemberForecast(std::span<const Time> ends) : ends_(ends), points_(ends.size()) {}

  // All keys whose members have deadlines if they are few, else some.
  void sample(const Database& database);
  void add(const KeyNode& node);

  const std::vector<Point>& points() const { return points_; }
  std::size_t keys() const { return keys_; }

 private:
  struct Leaving {
    Time deadline;
    std::size_t bytes;    // in the node
    std::size_t counted;  // in EntrySums
  };

  void begin();
  bool wants_more() const;
  bool wants(const KeyNode& node) const;
  void add_table(const KeyNode& node);
  void add_packed(const KeyNode& node);
  void list_leaving(const KeyNode& node);

  std::span<const Time> ends_;
  std::vector<Point> points_;
  std::size_t keys_ = 0;
  std::size_t tables_ = 0;        // of the keys
  std::size_t visited_ = 0;       // members
  std::vector<Leaving> leaving_;  // of a key, in order
  Random random_{1};
};

}  // namespace mayfly
