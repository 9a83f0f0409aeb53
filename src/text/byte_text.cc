// SPDX-License-Identifier: Apache-2.0
#include "text/byte_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "text/json.h"

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

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

Error not_written_so(std::string_view text, std::string_view what) {
  constexpr std::size_t kShown = 40;
  const bool is_long = text.size() > kShown;
  return {Code::invalid, fmt::format("'{}{}' is not valid {}", text.substr(0, kShown),
                                     is_long ? "..." : "", what)};
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

std::string escape_controls(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
    text.remove_prefix(character.size());
    const auto first = static_cast<unsigned char>(character[0]);
    const bool is_control =
        size == 1 ? first < 0x20 || first == 0x7F
                  : first == 0xC2 && static_cast<unsigned char>(character.back()) < 0xA0;
    if (size > 0 && (!is_control || kept.find(character[0]) != kept.npos)) {
      out += character;
      continue;
    }
    for (const char byte : character) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

std::string base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= part.size() ? kBase64[bits >> (18 - 6 * i) & 0x3F] : '=';
    }
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  const Error wrong = not_written_so(text, "base64");
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return wrong;
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const std::size_t digit = kBase64.find(letter);
    if (digit == std::string_view::npos) return wrong;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

Result<std::string> from_hex(std::string_view text) {
  const Error wrong = not_written_so(text, "hexadecimal (use pairs of digits 0-9 and a-f)");
  if (text.size() % 2 != 0) return wrong;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return wrong;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string bytes_as_json(std::string_view bytes) {
  if (!is_utf8(bytes)) return R"({"base64": ")" + base64(bytes) + "\"}";
  std::string text;
  append_json_text(text, bytes);
  return text;
}

}  // namespace mayfly
