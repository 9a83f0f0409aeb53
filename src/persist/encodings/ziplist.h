// SPDX-License-Identifier: Apache-2.0
// Ziplist: reads the blob in which Redis up to 6 wrote small collections, whatever its bytes are.
//
//   | bytes in all 4 | where the last entry begins 4 | entries 2 | entry | entry ... | FF |
//
//   | size of the entry before 1, or FE and 4 | how it is encoded, its size or a part | the rest |
//
// It is used like a Listpack (listpack.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "persist/encodings/blob_bytes.h"
#include "persist/rdb/text_arena.h"

namespace mayfly {

class Ziplist {
 public:
  Ziplist(std::string_view blob, TextArena& numbers);

  std::optional<std::string_view> next();
  std::string_view wrong() const { return wrong_; }
  std::optional<std::size_t> claimed() const;

 private:
  std::optional<std::string_view> stop(std::string_view wrong);
  std::string_view text(std::uint8_t first);

  BlobBytes bytes_;
  TextArena& numbers_;
  std::size_t size_;
  std::uint32_t tail_ = 0;  // where the last entry begins, as the header says
  std::uint16_t claimed_ = 0;
  std::size_t seen_ = 0;
  std::size_t last_ = 0;  // where the last entry seen begins
  std::size_t last_size_ = 0;
  bool is_unknown_ = false;
  std::string_view wrong_;
};

}  // namespace mayfly
