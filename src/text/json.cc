// SPDX-License-Identifier: Apache-2.0
#include "text/json.h"

#include <fmt/format.h>

#include <cmath>

namespace mayfly {

void Json::open(char bracket) {
  separate();
  text_ += bracket;
  ++depth_;
}

void Json::close(char bracket) {
  --depth_;
  // An array of numbers stays on its line; what holds members is spread out, for readers of diffs.
  if (bracket == '}' || text_.back() == '}') {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
  }
  text_ += bracket;
  if (depth_ == 0) text_ += '\n';
}

void Json::key(std::string_view name) {
  if (text_.back() != '{') text_ += ',';
  text_ += '\n';
  text_.append(2 * depth_, ' ');
  quote(name);
  text_ += ": ";
}

void Json::value(double number) {
  separate();
  text_ += std::isfinite(number) ? fmt::format("{}", number) : "null";
}

void Json::value(std::uint64_t number) {
  separate();
  text_ += fmt::format("{}", number);
}

void Json::value(std::int64_t number) {
  separate();
  text_ += fmt::format("{}", number);
}

void Json::value(bool truth) {
  separate();
  text_ += truth ? "true" : "false";
}

void Json::value(std::string_view text) {
  separate();
  quote(text);
}

void Json::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last == ' ' || last == '[') return;
  text_ += ", ";
}

void Json::quote(std::string_view text) {
  text_ += '"';
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      text_ += '\\';
      text_ += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
    } else {
      text_ += letter;
    }
  }
  text_ += '"';
}

}  // namespace mayfly
