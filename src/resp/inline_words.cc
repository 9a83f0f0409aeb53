// SPDX-License-Identifier: Apache-2.0
#include "resp/inline_words.h"

#include <cstddef>

namespace mayfly {
namespace {

bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

int hex_value(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

char unescape(char byte) {
  switch (byte) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return byte;
  }
}

// Reads one word at a time and appends those with quotes to `unquoted`.
class Splitter {
 public:
  Splitter(std::string_view line, std::string& unquoted) : line_(line), unquoted_(unquoted) {}

  void skip_spaces() {
    while (at_ < line_.size() && is_space(line_[at_])) ++at_;
  }
  bool done() const { return at_ == line_.size(); }

  // Returns whether the quotes are balanced.
  bool read(std::string_view& word) {
    const std::size_t start = at_;
    while (!done() && !is_space(line_[at_]) && line_[at_] != '"' && line_[at_] != '\'') ++at_;
    word = line_.substr(start, at_ - start);
    if (done() || is_space(line_[at_])) return true;

    const std::size_t begin = unquoted_.size();
    unquoted_ += word;
    while (!done() && !is_space(line_[at_])) {
      const char byte = line_[at_++];
      if (byte == '"' || byte == '\'') {
        if (!read_quoted(byte)) return false;
      } else {
        unquoted_ += byte;
      }
    }
    word = std::string_view(unquoted_).substr(begin);
    return true;
  }

 private:
  bool read_quoted(char quote) {
    while (!done()) {
      const char byte = line_[at_++];
      if (byte == quote) return true;
      if (byte == '\\' && !done()) {
        read_escape(quote);
      } else {
        unquoted_ += byte;
      }
    }
    return false;
  }

  void read_escape(char quote) {
    const std::string_view rest = line_.substr(at_);
    if (quote == '\'') {
      if (rest[0] == '\'') ++at_;
      unquoted_ += rest[0] == '\'' ? '\'' : '\\';
    } else if (rest.size() >= 3 && rest[0] == 'x' && hex_value(rest[1]) >= 0 &&
               hex_value(rest[2]) >= 0) {
      unquoted_ += static_cast<char>(hex_value(rest[1]) * 16 + hex_value(rest[2]));
      at_ += 3;
    } else {
      unquoted_ += unescape(rest[0]);
      ++at_;
    }
  }

  std::string_view line_;
  std::string& unquoted_;
  std::size_t at_ = 0;
};

}  // namespace

bool split_inline(std::string_view line, std::vector<std::string_view>& words,
                  std::string& unquoted) {
  words.clear();
  unquoted.clear();
  if (line.find_first_of("\"'") != std::string_view::npos) {
    unquoted.reserve(line.size());  // unquoting never makes longer, so that no word ever moves
  }
  Splitter splitter(line, unquoted);
  for (splitter.skip_spaces(); !splitter.done(); splitter.skip_spaces()) {
    std::string_view word;
    if (!splitter.read(word)) return false;
    words.push_back(word);
  }
  return true;
}

}  // namespace mayfly
