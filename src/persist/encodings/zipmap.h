// SPDX-License-Identifier: Apache-2.0
// Zipmap: reads the blob in which Redis up to 2.4 wrote small hashes, whatever its bytes are.
//
//   | fields, if fewer than 254 1 | field | value | field | value ... | FF |
//
//   a field   | size 1, or FE and 4 | bytes |
//   a value   | size 1, or FE and 4 | unused bytes 1 | bytes | so many unused ones |
//
// It is used like a Listpack (listpack.h): fields and values come in turn.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "persist/encodings/blob_bytes.h"
#include "persist/rdb/text_arena.h"

namespace mayfly {

class Zipmap {
 public:
  // It has no integers; the arena is there for the likeness of all blobs.
  Zipmap(std::string_view blob, TextArena& numbers);

  std::optional<std::string_view> next();
  std::string_view wrong() const { return wrong_; }
  std::optional<std::size_t> claimed() const;  // texts: twice the fields

 private:
  std::optional<std::string_view> stop(std::string_view wrong);

  BlobBytes bytes_;
  std::uint8_t claimed_ = 0;
  std::size_t seen_ = 0;
  std::string_view wrong_;
};

}  // namespace mayfly
