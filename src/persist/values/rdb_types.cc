// SPDX-License-Identifier: Apache-2.0
// The types of the RDB format: which type of value each one is, and names for messages.

#include <fmt/format.h>

#include "keyspace/value.h"
#include "persist/values/rdb_values.h"

namespace mayfly {

std::optional<ValueType> value_type_of(rdb::Type type) {
  using enum rdb::Type;
  switch (type) {
    case string:
      return ValueType::string;
    case list:
    case list_ziplist:
    case list_quicklist:
    case list_quicklist2:
      return ValueType::list;
    case set:
    case set_intset:
    case set_listpack:
    case set_deadlines:
      return ValueType::set;
    case zset:
    case zset2:
    case zset_ziplist:
    case zset_listpack:
    case zset_deadlines:
      return ValueType::zset;
    case hash:
    case hash_zipmap:
    case hash_ziplist:
    case hash_listpack:
    case hash2:
    case hash_listpackex_pre:
    case hash_metadata:
    case hash_listpackex:
      return ValueType::hash;
    case stream:
    case stream2:
    case stream3:
      return ValueType::stream;
    case module_pre_ga:
    case module2:
      break;
  }
  return std::nullopt;
}

std::string_view member_word(ValueType type) {
  return type == ValueType::hash ? "field" : "member";
}

Error duplicate_member(ValueType type) {
  return {Code::corrupt, fmt::format("duplicate {} in a {}", member_word(type), type_name(type))};
}

}  // namespace mayfly
