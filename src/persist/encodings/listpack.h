// SPDX-License-Identifier: Apache-2.0
// Listpack: reads the blob in which Redis 7 and Valkey write small collections, whatever its bytes
// are. listpack_writer.h draws the form.
//
//   Listpack list(blob, numbers);
//   while (const auto text = list.next()) ...
//   if (!list.wrong().empty()) ...                    // damaged; ask when next() gave nothing
//
//   next   O(1), no allocation; integers are written out into the arena

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "persist/encodings/blob_bytes.h"
#include "persist/rdb/text_arena.h"

namespace mayfly {

class Listpack {
 public:
  // Both must outlive it, and the texts.
  Listpack(std::string_view blob, TextArena& numbers);

  // Nothing at the end, and when something is wrong. Good as long as blob and arena are.
  std::optional<std::string_view> next();

  // Empty if all was well so far.
  std::string_view wrong() const { return wrong_; }

  // How many there are, if the header is right; nothing if it does not say.
  std::optional<std::size_t> claimed() const;

 private:
  std::optional<std::string_view> stop(std::string_view wrong);
  std::string_view text(std::uint8_t first);

  BlobBytes bytes_;
  TextArena& numbers_;
  std::uint16_t claimed_ = 0;
  std::size_t seen_ = 0;
  bool is_unknown_ = false;  // the encoding of a text
  std::string_view wrong_;
};

}  // namespace mayfly
