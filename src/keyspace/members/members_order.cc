// SPDX-License-Identifier: Apache-2.0
#include "keyspace/members/members_order.h"

#include <algorithm>
#include <cassert>

namespace mayfly {
namespace {

// How many members of the sorted ones come before the first for which `is_before` is false.
template <class IsBefore>
std::size_t count_before(const std::vector<Member>& members, IsBefore is_before) {
  const auto end = std::ranges::partition_point(members, is_before);
  return static_cast<std::size_t>(end - members.begin());
}

}  // namespace

std::size_t MembersOrder::below(double score) const {
  return count_before(members_, [&](const Member& member) { return member.score() < score; });
}

std::size_t MembersOrder::up_to(double score) const {
  return count_before(members_, [&](const Member& member) { return member.score() <= score; });
}

std::size_t MembersOrder::below_name(std::string_view name) const {
  return count_before(members_, [&](const Member& member) { return member.name < name; });
}

std::size_t MembersOrder::up_to_name(std::string_view name) const {
  return count_before(members_, [&](const Member& member) { return member.name <= name; });
}

std::size_t MembersOrder::rank(double score, std::string_view name) const {
  return count_before(members_, [&](const Member& member) {
    return member.score() < score || (member.score() == score && member.name < name);
  });
}

void MembersOrder::visit(std::size_t first, std::size_t count, Direction direction,
                         const Visit& visit) const {
  assert(first < size() || count == 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (!visit(at(direction == Direction::forward ? first + i : first - i))) return;
  }
}

}  // namespace mayfly
