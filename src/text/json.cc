// SPDX-License-Identifier: Apache-2.0
#include "text/json.h"

#include <fmt/format.h>

#include <cmath>

namespace mayfly {

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // where what needs no escape begins
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) continue;
    out += text.substr(plain, i - plain);
    plain = i + 1;
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\r') {
      out += "\\r";
    } else {
      out += fmt::format("\\u{:04x}", byte);
    }
  }
  out += text.substr(plain);
  out += '"';
}

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
  append_json_text(text_, name);
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
  append_json_text(text_, text);
}

void Json::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last == ' ' || last == '[') return;
  text_ += ", ";
}

}  // namespace mayfly
