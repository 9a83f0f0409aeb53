// SPDX-License-Identifier: Apache-2.0
// What is said about values: names of types and encodings, sizes, checks.

#include "keyspace/value.h"

#include <algorithm>
#include <array>

namespace mayfly {
namespace {

constexpr std::array<std::string_view, 6> kTypeNames = {"string", "list", "set",
                                                        "zset",   "hash", "stream"};

constexpr std::size_t kEmbeddedMax = 44;  // longer strings are "raw" in Valkey

}  // namespace

std::string_view type_name(ValueType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

std::optional<ValueType> parse_type(std::string_view name) {
  const auto found = std::ranges::find(kTypeNames, name);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<ValueType>(found - kTypeNames.begin());
}

std::string_view encoding_name(const KeyNode& node) {
  const auto name_of_string = [&](std::string_view text) -> std::string_view {
    if (node.is_raw != 0) return "raw";
    if (parse_exact_integer(text)) return "int";
    return text.size() <= kEmbeddedMax ? "embstr" : "raw";
  };
  const auto name_of_table = [&](const MemberTable&) -> std::string_view {
    return type_of(node) == ValueType::zset ? "skiplist" : "hashtable";
  };
  const auto name_of_packed = [&](const PackedView&) -> std::string_view {
    const bool is_small = node.is_beyond_limits == 0 && node.has_member_deadlines == 0;
    if (is_small) return "listpack";
    return type_of(node) == ValueType::zset ? "skiplist" : "hashtable";
  };
  const auto name_of_ints = [](const IntSetView&) -> std::string_view { return "intset"; };
  return visit_value(node, Overloaded{name_of_string, name_of_packed, name_of_ints, name_of_table});
}

std::size_t value_bytes(const KeyNode& node) {
  return visit_value(node, Overloaded{[](std::string_view text) { return text.size(); },
                                      [](const auto& members) { return members.bytes(); }});
}

std::size_t allocated_bytes(const KeyNode& node) {
  const std::size_t own = node_bytes(&node);
  return form_of(node) == ValueForm::table ? own + node.member_table().bytes() : own;
}

std::string check_value(const KeyNode& node) {
  return visit_value(node,
                     Overloaded{[](std::string_view) { return std::string(); },
                                [](const auto& members) { return members.check_invariants(); }});
}

}  // namespace mayfly
