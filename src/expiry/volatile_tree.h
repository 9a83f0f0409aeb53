// SPDX-License-Identifier: Apache-2.0
// VolatileTree: the tree of buckets in a VolatileSet, whose header has the drawing.
//
// Levels 0 to 10 are the digits of the deadline, from the highest; levels 11 to 16 those of a hash
// of the slot. The root stands at the lowest level that covers all deadlines present: it is raised
// when one arrives from outside and lowered when only one branch is left, so that the digits all
// deadlines share cost nothing.
//
// Deadlines are not in the tree, but in a column by slot. So is each slot's position in its bucket:
// the bucket itself is found again by the deadline.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "expiry/pool.h"
#include "expiry/volatile_bucket.h"
#include "mayfly/deadline_column.h"
#include "mayfly/expiry_index.h"

namespace mayfly::internal {

class VolatileTree {
 public:
  using See = std::function<bool(Slot, Time)>;

  // `slots` has the deadline of every slot in the tree, and the tree keeps each one's position
  // there. It is handed in, since it may move.
  void insert(PlacedColumn& slots, Slot slot, Time deadline);
  void remove(PlacedColumn& slots, Slot slot, Time deadline);
  // The deadlines in `out` are left to the caller, who has to look at the column anyway.
  std::size_t take_due(PlacedColumn& slots, Time now, std::size_t limit, std::vector<Due>& out);

  // No deadline is before it; kNever if there is none. It is the least one, unless that was removed
  // and take_due() has not looked since.
  Time earliest() const;
  Time first_deadline(const PlacedColumn& slots, Time from) const;
  std::size_t count_due(const PlacedColumn& slots, Time now) const;
  std::size_t estimate_due(Time now) const;
  void visit(const PlacedColumn& slots, Time from, Time to, const See& see) const;
  std::string check_invariants(const PlacedColumn& slots) const;

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kFanout = 1u << kDigitBits;
  static constexpr unsigned kTimeLevels = 11;
  static constexpr unsigned kLevels = 17;
  static_assert(kTimeLevels * kDigitBits >= 64 && (kLevels - kTimeLevels) * kDigitBits >= 32);

  // A node with this many slots or fewer becomes a bucket; so do two neighbouring buckets. Half of
  // what a bucket holds, so that it takes as many changes again to split it.
  static constexpr std::size_t kJoin = VolatileBucket::kMost / 2;

  // After a removal that leaves a multiple of so many in a bucket, the tree looks whether the
  // bucket has too much room, or, if it is small, whether it can be joined with others. After
  // every removal would be too often.
  static constexpr std::size_t kFitEvery = 64;
  static constexpr std::size_t kTidyEvery = 16;

  // Nothing, a node or a bucket, by its number in a pool. A bucket stands in every range of the
  // node that it covers.
  class Child {
   public:
    static Child of_node(std::uint32_t id) { return Child(id << 2 | 1); }
    static Child of_bucket(std::uint32_t id) { return Child(id << 2 | 2); }
    Child() = default;

    bool is_empty() const { return bits_ == 0; }
    bool is_node() const { return (bits_ & 1) != 0; }
    bool is_bucket() const { return (bits_ & 2) != 0; }
    std::uint32_t id() const { return bits_ >> 2; }
    bool operator==(const Child&) const = default;

   private:
    explicit Child(std::uint32_t bits) : bits_(bits) {}
    std::uint32_t bits_ = 0;
  };

  struct Node {
    explicit Node(unsigned at_level = 0);
    bool is_hash() const { return level >= kTimeLevels; }
    unsigned first_full() const;  // the least digit whose child is not empty

    std::uint8_t level;
    std::uint8_t shift;  // of its digit, in the deadline's ordinal or in the hash
    std::array<Child, kFanout> children;
  };

  // What a slot's place is computed from.
  struct Key {
    std::uint64_t time;
    std::uint32_t hash;
    unsigned digit(const Node& node) const {
      return (node.is_hash() ? hash : time) >> node.shift & (kFanout - 1);
    }
  };

  // The deadlines that a child covers, both ends included.
  struct Range {
    Time first;
    Time last;
  };

  // A node and the digits on the way to it.
  struct Branch {
    std::uint32_t node;
    std::uint64_t base;  // the least ordinal below the node
  };

  using Path = std::array<std::uint32_t, kLevels>;  // nodes, by level

  static Key key_of(Slot slot, Time deadline);
  std::uint32_t descend(const Key& key);
  Branch root() const { return {root_.id(), root_base_}; }
  Branch child_of(Branch at, unsigned digit) const;
  Range range_of(Branch at, unsigned digit) const;
  std::size_t count_of(Child child) const;
  std::size_t count_up_to(std::uint32_t at, std::size_t enough) const;
  unsigned span_of(Child child) const;  // how many ranges of its node it covers

  bool covers(const Key& key) const;
  void raise_root(PlacedColumn& slots, const Key& key);
  void lower_root();

  void push(PlacedColumn& slots, std::uint32_t bucket, Slot slot, Time deadline);
  void pour(PlacedColumn& slots, std::uint32_t from, std::uint32_t into);
  void remove_at(PlacedColumn& slots, std::uint32_t bucket, std::size_t position);

  bool is_free(const Node& node, unsigned first, unsigned span) const;
  void set(Node& node, unsigned digit, std::uint32_t bucket);
  void unset(Node& node, unsigned digit);
  std::uint32_t add_bucket(Node& node, unsigned digit);
  void split(PlacedColumn& slots, std::uint32_t at, unsigned digit);
  void halve(PlacedColumn& slots, Node& node, unsigned digit);
  void join_neighbours(PlacedColumn& slots, Node& node, unsigned digit);
  void gather(PlacedColumn& slots, std::uint32_t at, std::uint32_t into);
  void tidy_child(PlacedColumn& slots, std::uint32_t parent, unsigned digit);
  void tidy_path(PlacedColumn& slots, const Key& key, std::uint32_t at);

  template <class Boundary>
  std::size_t count_with(Time now, Boundary boundary) const;
  std::size_t take(PlacedColumn& slots, Branch at, Time now, std::size_t limit,
                   std::vector<Due>& out);
  std::size_t take_bucket(PlacedColumn& slots, Branch at, unsigned digit, Time now,
                          std::size_t limit, std::vector<Due>& out);
  Time first_below(const PlacedColumn& slots, Branch at, Time from) const;
  bool visit_branch(const PlacedColumn& slots, Branch at, Range wanted, const See& see) const;
  bool visit_bucket(const PlacedColumn& slots, const VolatileBucket& bucket, Range wanted,
                    const See& see) const;
  std::string check_branch(const PlacedColumn& slots, Branch at, bool is_root) const;
  std::string check_bucket(const PlacedColumn& slots, Branch at, unsigned digit) const;

  Pool<Node> nodes_;
  Pool<VolatileBucket> buckets_;
  VolatileBucket spare_;         // empty; saves an allocation where a bucket comes and goes
  Child root_;                   // a node of a time level, or empty
  std::uint64_t root_base_ = 0;  // the least ordinal that the root covers
  std::size_t size_ = 0;         // slots in all buckets

  // The deepest way that was gone since the shape last changed: from the root to finger_level_.
  static constexpr unsigned kNoFinger = kLevels;
  unsigned finger_level_ = kNoFinger;
  std::uint64_t finger_time_ = 0;
  Path finger_{};
};

}  // namespace mayfly::internal
