// SPDX-License-Identifier: Apache-2.0
// Words of a request compared as options are: in any case.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// `option` is in lower case.
constexpr bool equals(std::string_view word, std::string_view option) {
  if (word.size() != option.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower(word[i]) != option[i]) return false;
  }
  return true;
}

inline std::string lowered(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = lower(c);
  return text;
}

}  // namespace mayfly
