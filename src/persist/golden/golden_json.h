// SPDX-License-Identifier: Apache-2.0
// For tests: reads the JSON beside the files of tests/data/golden. It takes what those have: no
// fractions, and characters below 256, which stand for bytes. Wrong text ends the test.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

struct GoldenJson {
  std::map<std::string, GoldenJson> members;
  std::vector<GoldenJson> items;
  std::string text;  // of a string, or the digits of a number

  bool has(const std::string& name) const { return members.contains(name); }
  const GoldenJson& operator[](const std::string& name) const { return members.at(name); }
  std::int64_t number() const { return std::strtoll(text.c_str(), nullptr, 10); }
};

class GoldenJsonReader {
 public:
  explicit GoldenJsonReader(std::string_view text) : rest_(text) {}

  GoldenJson value() {
    GoldenJson json;
    const char first = peek();
    if (first == '{') {
      list('}', [&] {
        std::string name = text();
        expect(':');
        json.members.emplace(std::move(name), value());
      });
    } else if (first == '[') {
      list(']', [&] { json.items.push_back(value()); });
    } else if (first == '"') {
      json.text = text();
    } else {
      const std::size_t size = rest_.find_first_of(",]} \n");
      json.text = rest_.substr(0, size);
      rest_.remove_prefix(std::min(size, rest_.size()));
    }
    return json;
  }

 private:
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_.front();
  }
  void expect(char character) {
    if (peek() != character) std::abort();
    rest_.remove_prefix(1);
  }
  template <class Item>
  void list(char end, Item item) {
    rest_.remove_prefix(1);
    while (peek() != end) {
      item();
      if (peek() != end) expect(',');
    }
    rest_.remove_prefix(1);
  }
  std::string text() {
    expect('"');
    std::string out;
    while (rest_.at(0) != '"') out += character();
    rest_.remove_prefix(1);
    return out;
  }
  char character() {
    const char first = take();
    if (first != '\\') return first;
    const char kind = take();
    if (kind == 'u') {
      const std::string digits(rest_.substr(0, 4));
      rest_.remove_prefix(4);
      return static_cast<char>(std::strtol(digits.c_str(), nullptr, 16));
    }
    constexpr std::string_view kEscapes = "n\nt\tr\rb\bf\f";
    const std::size_t found = kEscapes.find(kind);
    return found == std::string_view::npos || found % 2 == 1 ? kind : kEscapes[found + 1];
  }
  char take() {
    const char first = rest_.at(0);
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
};

inline std::string read_golden(const std::string& name) {
  std::ifstream file("tests/data/golden/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace mayfly
