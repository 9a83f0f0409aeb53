// SPDX-License-Identifier: Apache-2.0
// Lists and streams: read over, checked as far as that goes, and counted. And names of types.

#include <fmt/format.h>

#include "keyspace/value.h"
#include "persist/encodings/listpack.h"
#include "persist/rdb/rdb_parser.h"
#include "persist/rdb/rdb_values.h"

namespace mayfly {
namespace {

// Of a list that is written as nodes: what a node is.
constexpr std::uint64_t kPlainNode = 1;
constexpr std::uint64_t kPackedNode = 2;

constexpr std::uint64_t kStreamId = 16;  // bytes
constexpr std::uint64_t kMoment = 8;     // bytes

}  // namespace

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

std::string_view name_of(rdb::Type type) {
  if (const std::optional<ValueType> known = value_type_of(type)) return type_name(*known);
  const bool is_module = type == rdb::Type::module_pre_ga || type == rdb::Type::module2;
  return is_module ? "module" : "unknown";
}

std::string_view member_word(ValueType type) {
  return type == ValueType::hash ? "field" : "member";
}

Error duplicate_member(ValueType type) {
  return {Code::corrupt, fmt::format("duplicate {} in a {}", member_word(type), type_name(type))};
}

Status RdbValues::skip(const RdbKey& key) {
  using enum rdb::Type;
  const std::uint64_t begin = reader_.offset();
  std::uint64_t elements = 0;
  switch (key.type) {
    case list:
      elements = skip_strings(1);
      break;
    case list_ziplist:
      elements = count_texts<Ziplist>();
      break;
    case list_quicklist:
    case list_quicklist2:
      elements = skip_quicklist(key.type == list_quicklist2);
      break;
    case stream:
    case stream2:
    case stream3:
      elements = skip_stream(key.type);
      break;
    case module_pre_ga:
    case module2:
      return Error{Code::unsupported, "modules cannot be loaded"};
    default:
      return Error{Code::unsupported,
                   fmt::format("the type {} is unknown", static_cast<unsigned>(key.type))};
  }
  if (reader_.failed()) return Done{};
  return handler_.skipped(key, name_of(key.type), elements, reader_.offset() - begin);
}

// A count, then so many times `strings` strings.
std::uint64_t RdbValues::skip_strings(std::uint64_t strings) {
  const std::uint64_t count = reader_.count(strings);
  for (std::uint64_t i = 0; i < count && !reader_.failed(); ++i) {
    for (std::uint64_t j = 0; j < strings; ++j) reader_.skip_string();
    reader_.release();
  }
  return count;
}

template <class Blob>
std::uint64_t RdbValues::count_texts() {
  const std::string_view bytes = reader_.string();
  if (reader_.failed()) return 0;
  Blob blob(bytes, numbers_);
  std::uint64_t count = 0;
  for (; blob.next(); ++count) {
    if (count % 1024 == 0) numbers_.clear();  // the texts are not wanted
  }
  if (!blob.wrong().empty()) damaged(blob.wrong());
  numbers_.clear();
  reader_.release();
  return count;
}

std::uint64_t RdbValues::skip_quicklist(bool has_containers) {
  const std::uint64_t nodes = reader_.count(has_containers ? 2 : 1);
  std::uint64_t elements = 0;
  for (std::uint64_t i = 0; i < nodes && !reader_.failed(); ++i) {
    const std::uint64_t container = has_containers ? reader_.length() : kPackedNode;
    if (container == kPlainNode) {
      reader_.skip_string();
      ++elements;
    } else if (container != kPackedNode) {
      damaged(fmt::format("a node of a list of the unknown kind {}", container));
    } else {
      elements += has_containers ? count_texts<Listpack>() : count_texts<Ziplist>();
    }
    reader_.release();
  }
  return elements;
}

std::uint64_t RdbValues::skip_stream(rdb::Type type) {
  skip_strings(2);  // the first identifier of each node, and the node
  const std::uint64_t elements = reader_.length();
  reader_.length();  // the last identifier, in two parts
  reader_.length();
  if (type != rdb::Type::stream) {
    for (int i = 0; i < 5; ++i) reader_.length();  // first one, greatest one deleted, ever added
  }
  const std::uint64_t groups = reader_.count(1);
  for (std::uint64_t i = 0; i < groups && !reader_.failed(); ++i) skip_group(type);
  return elements;
}

void RdbValues::skip_group(rdb::Type type) {
  reader_.skip_string();  // its name
  reader_.length();       // the last identifier delivered, in two parts
  reader_.length();
  if (type != rdb::Type::stream) reader_.length();  // entries read
  const std::uint64_t pending = reader_.count(kStreamId + kMoment + 1);
  for (std::uint64_t i = 0; i < pending && !reader_.failed(); ++i) {
    reader_.skip(kStreamId + kMoment);
    reader_.length();  // deliveries
  }
  const std::uint64_t consumers = reader_.count(1);
  for (std::uint64_t i = 0; i < consumers && !reader_.failed(); ++i) {
    reader_.skip_string();
    reader_.skip(type == rdb::Type::stream3 ? 2 * kMoment : kMoment);  // seen, and active
    reader_.skip(kStreamId * reader_.count(kStreamId));
    reader_.release();
  }
}

}  // namespace mayfly
