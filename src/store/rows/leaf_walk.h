// SPDX-License-Identifier: Apache-2.0
// LeafWalk: goes through the rows of one leaf page of LMDB without asking LMDB for each.
//
// A scan of small rows spends most of its time on finding out, for each, that the next one stands
// on the same page. The page says where its rows are (page_format.h), and in a read transaction it
// does not change. So a cursor that LMDB has put on the first row of a page walks the rest here.
// LMDB's own cursor stays behind meanwhile; before it is used it has to be put on key().
//
// Only for read transactions: the pages that a write transaction has changed are not in the map.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "store/lmdb/page_format.h"

namespace mayfly::internal {

class LeafWalk {
 public:
  static constexpr std::size_t kCacheLine = 64;

  // `page_bytes` is a power of two; 0 if there is nothing to walk.
  void open(std::size_t page_bytes) { page_bytes_ = page_bytes; }
  void leave() { page_ = nullptr; }

  // LMDB's cursor stands on the row with this key. Walks its page if it is the first there.
  void enter(std::string_view key) {
    page_ = nullptr;
    if (page_bytes_ == 0) return;
    const auto address = reinterpret_cast<std::uintptr_t>(key.data());
    const char* const page = key.data() - (address & (page_bytes_ - 1));
    const std::uint16_t lower = word(page + 12);
    if (word(page + 10) != kLeafPage || lower < kPageHeaderBytes + 2) return;
    count_ = (lower - kPageHeaderBytes) / 2;
    page_ = page;
    at_ = 0;
    if (node(0) + kNodeHeaderBytes != key.data()) return leave();
    // Rows stand on their page in the order in which they were put, so that going through them in
    // the order of keys would wait for memory at each.
    for (std::size_t line = 0; line < page_bytes_; line += kCacheLine) {
      __builtin_prefetch(page + line);
    }
  }

  bool active() const { return page_ != nullptr; }
  bool lags() const { return page_ != nullptr && at_ != 0; }  // whether LMDB's cursor does

  // The key of the row it is on. REQUIRES: active().
  std::string_view key() const {
    const char* const here = node(at_);
    return {here + kNodeHeaderBytes, word(here + 6)};
  }

  // Goes on, if there is another row here and it is a plain one: its value stands beside its key,
  // and the key has less than `key_limit` bytes.
  bool next(std::size_t key_limit, std::string_view& key, std::string_view& value) {
    if (page_ == nullptr || at_ + 1 >= count_) return false;
    const char* const there = node(at_ + 1);
    const std::size_t key_bytes = word(there + 6);
    if (word(there + 4) != 0 || key_bytes >= key_limit) return false;
    ++at_;
    const char* const name = there + kNodeHeaderBytes;
    const auto high = static_cast<std::size_t>(word(there + 2));
    key = {name, key_bytes};
    value = {name + key_bytes, word(there) | high << 16};
    return true;
  }

 private:
  static std::uint16_t word(const char* at) {
    std::uint16_t result = 0;
    std::memcpy(&result, at, sizeof result);
    return result;
  }
  const char* node(std::size_t number) const {
    return page_ + word(page_ + kPageHeaderBytes + 2 * number);
  }

  std::size_t page_bytes_ = 0;
  const char* page_ = nullptr;  // null: not walking
  std::size_t count_ = 0;       // rows on the page
  std::size_t at_ = 0;          // the one it is on
};

}  // namespace mayfly::internal
