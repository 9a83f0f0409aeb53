// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb_bytes.h"

#include <fmt/format.h>

#include <cstdint>

namespace mayfly {
namespace {

// How many bytes the character at the front has; 0 if they are no character.
std::size_t character_size(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < size) return 0;
  std::uint32_t code = first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[size] || code > 0x10FFFF || is_surrogate ? 0 : size;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= part.size() ? kDigits[bits >> (18 - 6 * i) & 0x3F] : '=';
    }
  }
  return text;
}

std::string bytes_as_json(std::string_view bytes) {
  if (!is_utf8(bytes)) return R"({"base64": ")" + base64(bytes) + "\"}";
  std::string text = "\"";
  for (const char letter : bytes) {
    if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      text += letter;
    }
  }
  return text + "\"";
}

}  // namespace mayfly
