// SPDX-License-Identifier: Apache-2.0
// Lists, sets, sorted sets and streams: read over, checked as far as that goes, and counted.

#include <fmt/format.h>

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
constexpr std::uint64_t kDoubleBytes = 8;

// A score as a text: its size in a byte, but for these.
constexpr std::uint8_t kFirstSpecialScore = 253;  // not a number; then infinity with either sign

}  // namespace

std::string_view name_of(rdb::Type type) {
  using enum rdb::Type;
  switch (type) {
    case string:
      return "string";
    case list:
    case list_ziplist:
    case list_quicklist:
    case list_quicklist2:
      return "list";
    case set:
    case set_intset:
    case set_listpack:
      return "set";
    case zset:
    case zset2:
    case zset_ziplist:
    case zset_listpack:
      return "zset";
    case hash:
    case hash_zipmap:
    case hash_ziplist:
    case hash_listpack:
    case hash2:
    case hash_listpackex_pre:
    case hash_metadata:
    case hash_listpackex:
      return "hash";
    case stream:
    case stream2:
    case stream3:
      return "stream";
    case module_pre_ga:
    case module2:
      return "module";
  }
  return "unknown";
}

Status RdbValues::skip(const RdbKey& key) {
  using enum rdb::Type;
  const std::uint64_t begin = reader_.offset();
  std::uint64_t elements = 0;
  switch (key.type) {
    case list:
    case set:
      elements = skip_strings(1, 0);
      break;
    case zset:
      elements = skip_scored();
      break;
    case zset2:
      elements = skip_strings(1, kDoubleBytes);
      break;
    case list_ziplist:
      elements = count_texts<Ziplist>();
      break;
    case zset_ziplist:
      elements = count_texts<Ziplist>() / 2;
      break;
    case zset_listpack:
      elements = count_texts<Listpack>() / 2;
      break;
    case set_listpack:
      elements = count_texts<Listpack>();
      break;
    case set_intset:
      elements = skip_intset();
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

// A count, then so many times a string and `bytes` bytes.
std::uint64_t RdbValues::skip_strings(std::uint64_t strings, std::uint64_t bytes) {
  const std::uint64_t count = reader_.count(strings + bytes);
  for (std::uint64_t i = 0; i < count && !reader_.failed(); ++i) {
    for (std::uint64_t j = 0; j < strings; ++j) reader_.skip_string();
    reader_.skip(bytes);
    reader_.release();
  }
  return count;
}

std::uint64_t RdbValues::skip_scored() {
  const std::uint64_t count = reader_.count(2);
  for (std::uint64_t i = 0; i < count && !reader_.failed(); ++i) {
    reader_.skip_string();
    const std::uint8_t size = reader_.byte();
    if (size < kFirstSpecialScore) reader_.skip(size);
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

std::uint64_t RdbValues::skip_intset() {
  BlobBytes bytes(reader_.string());
  if (reader_.failed()) return 0;
  const auto width = bytes.fixed<std::uint32_t>();
  const auto count = bytes.fixed<std::uint32_t>();
  if ((width != 2 && width != 4 && width != 8) || bytes.left() != std::uint64_t{width} * count) {
    damaged("a set of integers of another size than it says");
  }
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
  skip_strings(2, 0);  // the first identifier of each node, and the node
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
