// SPDX-License-Identifier: Apache-2.0
// MembersOrder: the members of a sorted set that are alive, in the order of scores, and of names
// where scores are equal.
//
//   const MembersOrder order = members.order();
//   const std::size_t first = order.below(10), end = order.up_to(20);    // ZRANGEBYSCORE 10 20
//   if (first < end) order.visit(first, end - first, Direction::forward, visit);
//
// Every range is a range of ranks: so a bound is a number of members before it.
//
//   rank, below, up_to    O(log n); packed O(n)
//   visit                 O(log n + visited)

#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "keyspace/members/member_table.h"
#include "keyspace/members/score_order.h"

namespace mayfly {

enum class Direction { forward, backward };

// Valid until the key is changed.
class MembersOrder {
 public:
  // Of packed members, which are sorted.
  explicit MembersOrder(std::vector<Member> members) : members_(std::move(members)) {}
  MembersOrder(const MemberTable& table, const ScoreOrder& order)
      : table_(&table), order_(&order) {}

  std::size_t size() const { return order_ != nullptr ? order_->size() : members_.size(); }

  // How many members have a lower score; or a score that is not higher.
  std::size_t below(double score) const;
  std::size_t up_to(double score) const;

  // How many members have a lesser name; or a name that is not greater. If not all scores are
  // equal, the result is some number from 0 to size().
  std::size_t below_name(std::string_view name) const;
  std::size_t up_to_name(std::string_view name) const;

  // How many members come before this one, which may or may not be among them.
  std::size_t rank(double score, std::string_view name) const;

  // REQUIRES: rank < size().
  Member at(std::size_t rank) const;

  // Members from rank `first` on, `count` of them, in this direction: backward, the next one after
  // `first` is first - 1. Until `visit` returns false. REQUIRES: so many there are.
  using Visit = std::function<bool(const Member&)>;
  void visit(std::size_t first, std::size_t count, Direction direction, const Visit& visit) const;

 private:
  // How many members there are before the first for which `is_before(score, name)` is false; the
  // name is a function.
  template <class IsBefore>
  std::size_t count_before(IsBefore is_before) const;

  std::vector<Member> members_;
  const MemberTable* table_ = nullptr;  // if they are not packed
  const ScoreOrder* order_ = nullptr;
};

}  // namespace mayfly
