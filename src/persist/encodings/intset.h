// SPDX-License-Identifier: Apache-2.0
// Intset: reads the blob in which Redis and Valkey write a set of integers. The bytes may be
// damaged. It is used like a Listpack (listpack.h).
//
//   | bytes of an integer: 2, 4 or 8, in 4 | integers 4 | integer | integer ... |
//
// Least byte first; the integers ascend.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "persist/encodings/listpack.h"

namespace mayfly {

class Intset {
 public:
  // Both must outlive it, and the texts.
  Intset(std::string_view blob, TextArena& numbers);

  // Nothing at the end, and on damage. Valid as long as the arena is.
  std::optional<std::string_view> next();

  // Empty if there was no damage so far.
  std::string_view wrong() const { return wrong_; }

  std::optional<std::size_t> claimed() const { return claimed_; }

 private:
  std::int64_t integer();

  BlobBytes bytes_;
  TextArena& numbers_;
  std::uint32_t width_;
  std::uint32_t claimed_;
  std::optional<std::int64_t> last_;
  std::string_view wrong_;
};

}  // namespace mayfly
