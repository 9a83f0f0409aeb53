// SPDX-License-Identifier: Apache-2.0
// Reading lists from their RDB encodings.

#include <fmt/format.h>

#include <utility>

#include "persist/encodings/listpack.h"
#include "persist/rdb/rdb_parser.h"
#include "persist/values/rdb_values.h"

namespace mayfly {
namespace {

// What is handed over at once, about: a node is never divided.
constexpr std::size_t kBatchElements = 4096;
constexpr std::size_t kListBatchBytes = 1 << 20;  // 1 MiB

}  // namespace

Status RdbValues::begin_list(const RdbKey& key) {
  using enum rdb::Type;
  const std::uint64_t least = key.type == list_quicklist2 ? 2 : 1;  // bytes of an element or node
  const std::uint64_t count = key.type == list_ziplist ? 1 : reader_.count(least);
  if (reader_.failed()) return Done{};
  if (Status status = handler_.list_begin(key); !status) return status;
  left_ = count;
  return read_elements();
}

// Old servers have written lists without elements. They are left out.
Status RdbValues::read_elements() {
  while (left_ > 0 && elements_.size() < kBatchElements && reader_.held() < kListBatchBytes) {
    --left_;
    read_node();
    if (reader_.failed()) break;
  }
  Status status = hand_over_elements();
  if (!status || reader_.failed()) left_ = 0;
  return status && left_ == 0 && !reader_.failed() ? handler_.list_end() : status;
}

void RdbValues::read_node() {
  switch (type_) {
    case rdb::Type::list_ziplist:
    case rdb::Type::list_quicklist:
      return read_texts<Ziplist>();
    case rdb::Type::list_quicklist2: {
      const std::uint64_t kind = reader_.length();
      if (kind == rdb::kPackedNode) return read_texts<Listpack>();
      if (kind != rdb::kPlainNode)
        damaged(fmt::format("a node of a list of the unknown kind {}", kind));
      break;
    }
    default:
      break;
  }
  const std::string_view element = reader_.string();
  if (element.empty() && type_ == rdb::Type::list_quicklist2) damaged("an empty node of a list");
  elements_.push_back(element);
}

template <class Blob>
void RdbValues::read_texts() {
  const std::string_view bytes = reader_.string();
  if (reader_.failed()) return;
  Blob blob(bytes, numbers_);
  while (const std::optional<std::string_view> text = blob.next()) elements_.push_back(*text);
  if (!blob.wrong().empty()) damaged(blob.wrong());
}

// Nothing of a batch in which something is wrong.
Status RdbValues::hand_over_elements() {
  Status status = Done{};
  if (!elements_.empty() && !reader_.failed()) status = handler_.list_elements(elements_);
  elements_.clear();
  numbers_.clear();
  reader_.release();
  return status;
}

}  // namespace mayfly
