// SPDX-License-Identifier: Apache-2.0
// TextArena: memory for many short texts that all go at once. It is used again and again, so that
// a text costs no allocation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace mayfly {

class TextArena {
 public:
  // Room that is good until clear().
  char* room(std::size_t size) {
    if (left_ < size) return more(size);
    left_ -= size;
    return at_ + left_;
  }

  // A number in decimals, good until clear().
  std::string_view text(std::int64_t number);

  void clear();

 private:
  static constexpr std::size_t kBlock = 64 * 1024;

  char* more(std::size_t size);

  std::vector<std::unique_ptr<char[]>> blocks_;  // of kBlock bytes; the last one is in use
  std::vector<std::unique_ptr<char[]>> large_;   // rooms of their own
  char* at_ = nullptr;                           // the block in use is filled from its end
  std::size_t left_ = 0;
};

}  // namespace mayfly
