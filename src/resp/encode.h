// SPDX-License-Identifier: Apache-2.0
// Requests as bytes: what a client sends, and what goes to replicas and the append-only file.

#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace mayfly {

// "*3\r\n" and "$3\r\n": a letter and a number.
inline void append_length(std::string& out, char letter, std::size_t number) {
  char digits[24] = {letter};
  char* const end = std::to_chars(digits + 1, digits + 21, number).ptr;
  end[0] = '\r';
  end[1] = '\n';
  out.append(digits, static_cast<std::size_t>(end - digits) + 2);
}

inline void append_bulk(std::string& out, std::string_view word) {
  append_length(out, '$', word.size());
  out.append(word);
  out.append("\r\n", 2);
}

// Appends a request of these words; any range of texts.
template <class Texts>
void append_request(std::string& out, const Texts& words) {
  append_length(out, '*', std::size(words));
  for (const std::string_view word : words) append_bulk(out, word);
}

}  // namespace mayfly
