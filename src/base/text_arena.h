// SPDX-License-Identifier: Apache-2.0
// TextArena: memory for many short texts that are freed together. It is reused, so that a text
// costs no allocation.

#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace mayfly {

class TextArena {
 public:
  // It allocates so many bytes at a time.
  explicit TextArena(std::size_t block = 64 * 1024) : block_(block) {}
  TextArena(TextArena&&) noexcept = default;
  TextArena& operator=(TextArena&&) noexcept = default;

  // Valid until clear().
  char* room(std::size_t size) {
    if (left_ < size) return more(size);
    left_ -= size;
    return at_ + left_;
  }

  // A number in decimals, valid until clear().
  std::string_view text(std::int64_t number) {
    char digits[24];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
    const auto size = static_cast<std::size_t>(end.ptr - digits);
    return {static_cast<char*>(std::memcpy(room(size), digits, size)), size};
  }

  void clear() {
    large_.clear();
    if (blocks_.empty()) return;
    blocks_.resize(1);
    at_ = blocks_.front().get();
    left_ = block_;
  }

 private:
  char* more(std::size_t size) {
    if (size > block_ / 4) {
      large_.push_back(std::make_unique_for_overwrite<char[]>(size));
      return large_.back().get();
    }
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_));
    at_ = blocks_.back().get();
    left_ = block_ - size;
    return at_ + left_;
  }

  std::size_t block_;
  std::vector<std::unique_ptr<char[]>> blocks_;  // of block_ bytes; the last one is in use
  std::vector<std::unique_ptr<char[]>> large_;   // blocks of their own
  char* at_ = nullptr;                           // the block in use is filled from its end
  std::size_t left_ = 0;
};

}  // namespace mayfly
