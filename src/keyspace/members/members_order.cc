// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/members_order.h"

#include <algorithm>
#include <cassert>

namespace mayfly {

// A name is read only if the score does not decide: it may be far away in memory.
template <class IsBefore>
std::size_t MembersOrder::count_before(IsBefore is_before) const {
  if (order_ != nullptr) {
    return order_->count_before([&](ScoreOrder::Entry entry) {
      return is_before(entry.score, [&] { return table_->name_at(entry.slot); });
    });
  }
  const auto end = std::ranges::partition_point(members_, [&](const Member& member) {
    return is_before(member.score(), [&] { return member.name; });
  });
  return static_cast<std::size_t>(end - members_.begin());
}

std::size_t MembersOrder::below(double score) const {
  return count_before([&](double other, const auto&) { return other < score; });
}

std::size_t MembersOrder::up_to(double score) const {
  return count_before([&](double other, const auto&) { return other <= score; });
}

std::size_t MembersOrder::below_name(std::string_view name) const {
  return count_before([&](double, const auto& other) { return other() < name; });
}

std::size_t MembersOrder::up_to_name(std::string_view name) const {
  return count_before([&](double, const auto& other) { return other() <= name; });
}

std::size_t MembersOrder::rank(double score, std::string_view name) const {
  return count_before([&](double other_score, const auto& other_name) {
    return other_score != score ? other_score < score : other_name() < name;
  });
}

Member MembersOrder::at(std::size_t rank) const {
  return order_ != nullptr ? table_->member_at(order_->at(rank).slot) : members_[rank];
}

void MembersOrder::visit(std::size_t first, std::size_t count, Direction direction,
                         const Visit& visit) const {
  if (count == 0) return;
  assert(first < size());
  const bool backward = direction == Direction::backward;
  if (order_ != nullptr) {
    // Nodes lie anywhere in memory. Those beyond the last one visited are worth it, too: a request
    // that pops the first member is often followed by another.
    return order_->visit(
        first, count, backward,
        [&](ScoreOrder::Entry entry) { return visit(table_->member_at(entry.slot)); },
        [&](ScoreOrder::Entry entry, std::size_t distance) __attribute__((always_inline)) {
          if (distance == ScoreOrder::kLater) {
            table_->prefetch_place(entry.slot);
          } else {
            table_->prefetch_node(entry.slot);
          }
        });
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!visit(members_[backward ? first - i : first + i])) return;
  }
}

}  // namespace mayfly
