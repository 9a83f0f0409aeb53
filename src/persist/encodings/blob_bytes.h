// SPDX-License-Identifier: Apache-2.0
// BlobBytes: reads over the bytes of a blob that may be damaged. What is not there is zero or
// empty, and is_short() tells; so a reader may take several things and check once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mayfly {

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

}  // namespace mayfly
