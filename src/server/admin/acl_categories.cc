// SPDX-License-Identifier: Apache-2.0
// Which command belongs to which category.

#include "server/admin/acl_categories.h"

#include <algorithm>

namespace mayfly {
namespace {

constexpr std::string_view kCategories[] = {
    "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
    "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
    "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting"};

// Groups that are called otherwise as categories. "server" has none.
struct GroupName {
  std::string_view group;
  std::string_view category;
};
constexpr GroupName kGroups[] = {
    {"generic", "keyspace"}, {"transactions", "transaction"}, {"sorted-set", "sortedset"}};

struct FlagName {
  std::string_view category;
  std::uint32_t flags;
};
constexpr FlagName kFlags[] = {
    {"read", flag::readonly},
    {"write", flag::write},
    {"admin", flag::admin},
    {"pubsub", flag::pubsub},
    {"fast", flag::fast},
    {"blocking", flag::blocking},
    {"dangerous", flag::admin | flag::dangerous},
};

}  // namespace

std::span<const std::string_view> acl_categories() { return kCategories; }

bool is_in_category(const Command& command, std::string_view category) {
  if (category == "slow") return (command.flags & flag::fast) == 0;
  const auto by_flag = std::ranges::find(kFlags, category, &FlagName::category);
  if (by_flag != std::end(kFlags)) return (command.flags & by_flag->flags) != 0;
  const auto by_group = std::ranges::find(kGroups, command.group, &GroupName::group);
  return category == (by_group != std::end(kGroups) ? by_group->category : command.group);
}

}  // namespace mayfly
