// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/text_arena.h"

#include <charconv>
#include <cstring>

namespace mayfly {

char* TextArena::more(std::size_t size) {
  if (size > kBlock / 4) {
    large_.push_back(std::make_unique_for_overwrite<char[]>(size));
    return large_.back().get();
  }
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlock));
  at_ = blocks_.back().get();
  left_ = kBlock - size;
  return at_ + left_;
}

std::string_view TextArena::text(std::int64_t number) {
  char digits[24];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
  const auto size = static_cast<std::size_t>(end.ptr - digits);
  return {static_cast<char*>(std::memcpy(room(size), digits, size)), size};
}

void TextArena::clear() {
  large_.clear();
  if (blocks_.empty()) return;
  blocks_.resize(1);
  at_ = blocks_.front().get();
  left_ = kBlock;
}

}  // namespace mayfly
