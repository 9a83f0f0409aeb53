// SPDX-License-Identifier: Apache-2.0
// The values of keys by type: the one place that knows all types and forms of storage.
//
// visit_value() is the one switch over them. A visitor has an overload for each form, and so the
// compiler finds every place that a new form concerns:
//
//   visit_value(node, Overloaded{[](std::string_view text) { ... },
//                                [](const auto& members) { ... }});   // PackedView, IntSetView,
//                                                                     // MemberTable

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "keyspace/key_node.h"
#include "keyspace/members/int_set.h"
#include "keyspace/members/member_table.h"
#include "keyspace/members/packed_view.h"

namespace mayfly {

enum class ValueForm : std::uint8_t { bytes, packed, ints, table };

// What an encoding means. A row for each; a new type adds its rows here.
struct EncodingRow {
  ValueType type;
  ValueForm form;
  Payload payload;  // of its members
};
inline constexpr EncodingRow kEncodings[] = {
    {ValueType::string, ValueForm::bytes, Payload::none},
    {ValueType::hash, ValueForm::packed, Payload::value},
    {ValueType::hash, ValueForm::table, Payload::value},
    {ValueType::set, ValueForm::ints, Payload::none},
    {ValueType::set, ValueForm::packed, Payload::none},
    {ValueType::set, ValueForm::table, Payload::none},
    {ValueType::zset, ValueForm::packed, Payload::score},
    {ValueType::zset, ValueForm::table, Payload::score},
};

constexpr const EncodingRow& row_of(Encoding encoding) {
  return kEncodings[static_cast<std::size_t>(encoding)];
}
inline ValueType type_of(const KeyNode& node) { return row_of(node.encoding()).type; }
inline ValueForm form_of(const KeyNode& node) { return row_of(node.encoding()).form; }
inline bool has_members(const KeyNode& node) { return form_of(node) != ValueForm::bytes; }

// REQUIRES: the type has this form.
constexpr Encoding encoding_of(ValueType type, ValueForm form) {
  std::size_t i = 0;
  while (kEncodings[i].type != type || kEncodings[i].form != form) ++i;
  return static_cast<Encoding>(i);
}
static_assert(encoding_of(ValueType::string, ValueForm::bytes) == Encoding::string);
static_assert(encoding_of(ValueType::hash, ValueForm::packed) == Encoding::packed_hash);
static_assert(encoding_of(ValueType::hash, ValueForm::table) == Encoding::table_hash);
static_assert(encoding_of(ValueType::set, ValueForm::ints) == Encoding::int_set);
static_assert(encoding_of(ValueType::set, ValueForm::packed) == Encoding::packed_set);
static_assert(encoding_of(ValueType::set, ValueForm::table) == Encoding::table_set);
static_assert(encoding_of(ValueType::zset, ValueForm::packed) == Encoding::packed_zset);
static_assert(encoding_of(ValueType::zset, ValueForm::table) == Encoding::table_zset);

template <class... Visitor>
struct Overloaded : Visitor... {
  using Visitor::operator()...;
};
template <class... Visitor>
Overloaded(Visitor...) -> Overloaded<Visitor...>;

// Calls `visit` with the members: PackedView, IntSetView or const MemberTable&. REQUIRES:
// has_members(node).
template <class Visit>
decltype(auto) visit_members(const KeyNode& node, Visit&& visit) {
  const ValueForm form = form_of(node);
  if (form == ValueForm::packed) return visit(PackedView(node.value()));
  if (form == ValueForm::ints) return visit(IntSetView(node.value()));
  return visit(std::as_const(node.member_table()));
}

// Calls `visit` with the value: std::string_view, or the members.
template <class Visit>
decltype(auto) visit_value(const KeyNode& node, Visit&& visit) {
  switch (form_of(node)) {
    case ValueForm::packed:
    case ValueForm::ints:
    case ValueForm::table:
      return visit_members(node, visit);
    case ValueForm::bytes:
      break;
  }
  return visit(node.value());
}

// "string", "hash", ...: what TYPE replies and SCAN's TYPE takes; nothing for an unknown name.
std::string_view type_name(ValueType type);
std::optional<ValueType> parse_type(std::string_view name);  // in lower case

// What OBJECT ENCODING replies. Packed members with deadlines, or beyond the limits of
// KeyspaceOptions, are a hashtable or a skiplist for clients, as Valkey would have made them.
std::string_view encoding_name(const KeyNode& node);

// Bytes of the value: in the node, or in its table.
std::size_t value_bytes(const KeyNode& node);

// All that the key and its value have allocated, the database's own structures apart.
std::size_t allocated_bytes(const KeyNode& node);

// Empty if the value is valid, else what is wrong with it. For tests.
std::string check_value(const KeyNode& node);

}  // namespace mayfly
