// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

inline std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

}  // namespace mayfly
