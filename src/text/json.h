// SPDX-License-Identifier: Apache-2.0
// Json: writes a document piece by piece, and minds the commas.
//
//   Json json;
//   json.open('{');
//   json.member("size", 100);
//   json.key("shares"); json.open('['); json.value(0.5); json.close(']');
//   json.close('}');
//   save(json.text());
//
// REQUIRES of its user: what is opened is closed, and in an object each value has a key.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mayfly {

// A string in quotes, on one line. REQUIRES: `text` is UTF-8.
void append_json_text(std::string& out, std::string_view text);

class Json {
 public:
  void open(char bracket);  // { or [
  void close(char bracket);
  void key(std::string_view name);

  // Numbers are written so that reading them gives the same number again. Those that JSON cannot
  // write, and what is absent, become null.
  void value(double number);
  void value(std::uint64_t number);
  void value(std::int64_t number);
  void value(int number) { value(static_cast<std::int64_t>(number)); }
  void value(bool truth);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  template <class T>
  void value(const std::optional<T>& maybe) {
    if (maybe) return value(*maybe);
    separate();
    text_ += "null";
  }

  template <class T>
  void member(std::string_view name, const T& what) {
    key(name);
    value(what);
  }

  const std::string& text() const { return text_; }

 private:
  void separate();  // what is needed between the piece before and the next one

  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace mayfly
