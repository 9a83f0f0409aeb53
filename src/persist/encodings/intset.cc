// SPDX-License-Identifier: Apache-2.0
#include "persist/encodings/intset.h"

namespace mayfly {

Intset::Intset(std::string_view blob, TextArena& numbers)
    : bytes_(blob),
      numbers_(numbers),
      width_(bytes_.fixed<std::uint32_t>()),
      claimed_(bytes_.fixed<std::uint32_t>()) {
  if (width_ != 2 && width_ != 4 && width_ != 8) {
    wrong_ = "a set of integers of an unknown width";
  } else if (bytes_.left() != std::uint64_t{width_} * claimed_) {
    wrong_ = "a set of integers of another size than it says";
  }
}

std::int64_t Intset::integer() {
  if (width_ == 2) return bytes_.fixed<std::int16_t>();
  if (width_ == 4) return bytes_.fixed<std::int32_t>();
  return bytes_.fixed<std::int64_t>();
}

std::optional<std::string_view> Intset::next() {
  if (!wrong_.empty() || bytes_.left() == 0) return std::nullopt;
  const std::int64_t number = integer();
  if (last_ && *last_ >= number) {
    wrong_ = "a set of integers that do not ascend";
    return std::nullopt;
  }
  last_ = number;
  return numbers_.text(number);
}

}  // namespace mayfly
