// SPDX-License-Identifier: Apache-2.0
// Listpack, Ziplist, Zipmap: read the blobs in which Redis and Valkey write small collections. The
// bytes may be damaged. All three are used alike:
//
//   Listpack list(blob, numbers);
//   while (const auto text = list.next()) ...
//   if (!list.wrong().empty()) ...                    // damaged; check when next() gave nothing
//
//   next   O(1), no allocation; integers are formatted into the arena
//
// Listpack: Redis 7 and Valkey. listpack_entry.h draws the format.
//
// Ziplist: Redis up to 6.
//
//   | bytes in all 4 | where the last entry begins 4 | entries 2 | entry | entry ... | FF |
//   an entry  | size of the entry before 1, or FE and 4 | encoding and size | the rest |
//
// Zipmap: hashes of Redis up to 2.4. Fields and values alternate.
//
//   | fields, if fewer than 254 1 | field | value | field | value ... | FF |
//   a field   | size 1, or FE and 4 | bytes |
//   a value   | size 1, or FE and 4 | number of unused bytes 1 | bytes | unused bytes |

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text_arena.h"

namespace mayfly {

// Reads the bytes of a blob. Missing bytes are zero or empty, and is_short() tells; so a caller may
// read several things and check once.
class BlobBytes {
 public:
  explicit BlobBytes(std::string_view bytes) : rest_(bytes) {}

  // Least byte first.
  template <class Number>
  Number fixed() {
    Number number{};
    const std::string_view bytes = take(sizeof number);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  std::uint8_t byte() { return fixed<std::uint8_t>(); }

  // Three bytes with a sign.
  std::int32_t fixed24() {
    const std::string_view bytes = take(3);
    std::uint32_t number = 0;
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), 3);
    return static_cast<std::int32_t>(number << 8) >> 8;
  }

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      is_short_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::size_t left() const { return rest_.size(); }
  bool is_short() const { return is_short_; }

 private:
  std::string_view rest_;
  bool is_short_ = false;
};

// What the three have in common.
class BlobReader {
 public:
  // Empty if there was no damage so far.
  std::string_view wrong() const { return wrong_; }

  // The number of texts that the header claims; nothing if it has none.
  std::optional<std::size_t> claimed() const;

 protected:
  static constexpr std::uint16_t kNotCounted = 0xFFFF;

  explicit BlobReader(std::string_view blob) : bytes_(blob) {}

  std::optional<std::string_view> stop(std::string_view wrong);

  BlobBytes bytes_;
  std::uint16_t claimed_ = 0;
  std::size_t seen_ = 0;
  bool is_unknown_ = false;  // the encoding of a text
  std::string_view wrong_;
};

class Listpack : public BlobReader {
 public:
  // Both must outlive it, and the texts.
  Listpack(std::string_view blob, TextArena& numbers);

  // Nothing at the end, and on damage. Valid as long as blob and arena are.
  std::optional<std::string_view> next();

 private:
  std::string_view text(std::uint8_t first);

  TextArena& numbers_;
};

class Ziplist : public BlobReader {
 public:
  Ziplist(std::string_view blob, TextArena& numbers);

  std::optional<std::string_view> next();

 private:
  std::string_view text(std::uint8_t first);

  TextArena& numbers_;
  std::size_t size_;
  std::uint32_t tail_ = 0;  // where the last entry begins, as the header claims
  std::size_t last_ = 0;    // where the last entry seen begins
  std::size_t last_size_ = 0;
};

class Zipmap : public BlobReader {
 public:
  // It has no integers; the arena is only for the common interface.
  Zipmap(std::string_view blob, TextArena& numbers);

  std::optional<std::string_view> next();
  std::optional<std::size_t> claimed() const;  // twice the fields

 private:
  std::uint8_t fields_;
};

}  // namespace mayfly
