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
  return visit_value(
      node, Overloaded{name_of_string, name_of_packed, name_of_ints, name_of_table,
                       [](const PackedListView&) -> std::string_view { return "listpack"; },
                       [](const ChunkedList&) -> std::string_view { return "quicklist"; },
                       [](const Stream&) -> std::string_view { return "stream"; }});
}

std::size_t value_bytes(const KeyNode& node) {
  return visit_value(node, Overloaded{[](std::string_view text) { return text.size(); },
                                      [](const auto& value) { return value.bytes(); }});
}

std::size_t allocated_bytes(const KeyNode& node) {
  const ValueForm form = form_of(node);
  const bool is_outside =
      form == ValueForm::table || form == ValueForm::chunks || form == ValueForm::stream;
  return node_bytes(&node) + (is_outside ? value_bytes(node) : 0);
}

OutsideValue take_outside(KeyNode& node) {
  OutsideValue value;
  if (form_of(node) == ValueForm::table) {
    value = std::unique_ptr<MemberTable>(&node.member_table());
  } else if (form_of(node) == ValueForm::chunks) {
    value = std::unique_ptr<ChunkedList>(&node.chunked_list());
  } else if (form_of(node) == ValueForm::stream) {
    value = std::unique_ptr<Stream>(&node.stream());
  }
  node.set_encoding(Encoding::string);
  return value;
}

std::size_t weight_of(const OutsideValue& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::size_t{0}; },
                 [](const std::unique_ptr<Stream>& stream) { return stream->weight(); },
                 [](const auto& counted) { return counted->count(); }},
      value);
}

std::size_t free_some(OutsideValue& value, std::size_t limit) {
  const std::size_t before = weight_of(value);
  const std::size_t left =
      std::visit(Overloaded{[](std::monostate) { return std::size_t{0}; },
                            [&](auto& freed) { return freed->free_some(limit); }},
                 value);
  if (left == 0) value = std::monostate();
  return before - left;
}

std::string check_value(const KeyNode& node) {
  return visit_value(node, Overloaded{[](std::string_view) { return std::string(); },
                                      [](const auto& value) { return value.check_invariants(); }});
}

}  // namespace mayfly
