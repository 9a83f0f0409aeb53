// SPDX-License-Identifier: Apache-2.0
// The values of keys by type: the one place that knows all types and forms of storage.
//
// visit_value() is the one switch over them. A visitor has an overload for each form, and so the
// compiler finds every place that a new form concerns:
//
//   visit_value(node, Overloaded{[](std::string_view text) { ... },
//                                [](const MembersValue auto& members) { ... },
//                                [](const ListValue auto& list) { ... },
//                                [](const Stream& stream) { ... }});

#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "keyspace/key_node.h"
#include "keyspace/list/chunked_list.h"
#include "keyspace/list/packed_list.h"
#include "keyspace/members/int_set.h"
#include "keyspace/members/member_table.h"
#include "keyspace/members/packed_view.h"
#include "keyspace/stream/stream.h"

namespace mayfly {

enum class ValueForm : std::uint8_t { bytes, packed, ints, table, packed_list, chunks, stream };

// The forms of values with members, and of lists.
template <class Value>
concept MembersValue = std::same_as<Value, PackedView> || std::same_as<Value, IntSetView> ||
    std::same_as<Value, MemberTable>;
template <class Value>
concept ListValue = std::same_as<Value, PackedListView> || std::same_as<Value, ChunkedList>;

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
    {ValueType::list, ValueForm::packed_list, Payload::none},
    {ValueType::list, ValueForm::chunks, Payload::none},
    {ValueType::stream, ValueForm::stream, Payload::none},
};

constexpr const EncodingRow& row_of(Encoding encoding) {
  return kEncodings[static_cast<std::size_t>(encoding)];
}
inline ValueType type_of(const KeyNode& node) { return row_of(node.encoding()).type; }
inline ValueForm form_of(const KeyNode& node) { return row_of(node.encoding()).form; }
inline bool has_members(const KeyNode& node) {
  const ValueForm form = form_of(node);
  return form == ValueForm::packed || form == ValueForm::ints || form == ValueForm::table;
}

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
static_assert(encoding_of(ValueType::list, ValueForm::packed_list) == Encoding::packed_list);
static_assert(encoding_of(ValueType::list, ValueForm::chunks) == Encoding::chunked_list);
static_assert(encoding_of(ValueType::stream, ValueForm::stream) == Encoding::stream);

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

// Calls `visit` with the value: std::string_view, the members, PackedListView, const ChunkedList&
// or const Stream&.
template <class Visit>
decltype(auto) visit_value(const KeyNode& node, Visit&& visit) {
  switch (form_of(node)) {
    case ValueForm::packed:
    case ValueForm::ints:
    case ValueForm::table:
      return visit_members(node, visit);
    case ValueForm::packed_list:
      return visit(PackedListView(node.value()));
    case ValueForm::chunks:
      return visit(std::as_const(node.chunked_list()));
    case ValueForm::stream:
      return visit(std::as_const(node.stream()));
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

// Bytes of the value: in the node, or outside of it.
std::size_t value_bytes(const KeyNode& node);

// All that the key and its value have allocated, the database's own structures apart.
std::size_t allocated_bytes(const KeyNode& node);

// A value outside of a node, in the hands of its owner.
using OutsideValue = std::variant<std::monostate, std::unique_ptr<MemberTable>,
                                  std::unique_ptr<ChunkedList>, std::unique_ptr<Stream>>;

// Takes the value out of the node, which is good for nothing but to be freed then. Nothing if the
// value is in the node.
OutsideValue take_outside(KeyNode& node);

// Of how many members, elements or entries it consists.
std::size_t weight_of(const OutsideValue& value);

// Frees at most about `limit` of them; returns how many. The value is gone when none is left.
std::size_t free_some(OutsideValue& value, std::size_t limit);

// Empty if the value is valid, else what is wrong with it. For tests.
std::string check_value(const KeyNode& node);

}  // namespace mayfly
