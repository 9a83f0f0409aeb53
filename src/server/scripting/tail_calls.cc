// SPDX-License-Identifier: Apache-2.0
#include "server/scripting/tail_calls.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

namespace mayfly {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Words and signs of Lua; comments are skipped.
class LuaTokens {
 public:
  explicit LuaTokens(std::string_view code) : code_(code) {}

  // Empty at the end, or if a text has no end; then is_broken().
  std::string_view next() {
    skip_blank();
    begin_ = at_;
    if (is_broken_ || at_ == code_.size()) return {};
    const char c = code_[at_];
    if (is_name(c)) {
      while (at_ < code_.size() && is_name(code_[at_])) ++at_;
    } else if (c == '"' || c == '\'') {
      skip_quoted(c);
    } else if (!skip_long()) {
      ++at_;
    }
    return code_.substr(begin_, at_ - begin_);
  }

  bool is_broken() const { return is_broken_; }
  std::size_t begin() const { return begin_; }  // of the token
  std::size_t end() const { return at_; }

 private:
  void skip_blank() {
    while (at_ < code_.size()) {
      if (std::isspace(static_cast<unsigned char>(code_[at_])) != 0) {
        ++at_;
      } else if (code_.substr(at_).starts_with("--")) {
        at_ += 2;
        if (!skip_long()) at_ = std::min(code_.find('\n', at_), code_.size());
      } else {
        return;
      }
    }
  }

  void skip_quoted(char quote) {
    for (++at_; at_ < code_.size() && code_[at_] != quote; ++at_) {
      if (code_[at_] == '\\') ++at_;
    }
    is_broken_ = at_ >= code_.size();
    at_ = std::min(at_ + 1, code_.size());
  }

  // "[==[ ... ]==]"; false if there is none here.
  bool skip_long() {
    if (at_ == code_.size() || code_[at_] != '[') return false;
    const std::size_t inner = code_.find_first_not_of('=', at_ + 1);
    if (inner == code_.npos || code_[inner] != '[') return false;
    const std::string end = "]" + std::string(inner - at_ - 1, '=') + "]";
    const std::size_t found = code_.find(end, inner + 1);
    is_broken_ = found == code_.npos;
    at_ = is_broken_ ? code_.size() : found + end.size();
    return true;
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  bool is_broken_ = false;
};

struct Insertion {
  std::size_t at;
  char what;
};

// The parentheses that are missing. Nothing if the code is none.
std::optional<std::vector<Insertion>> find_tail_calls(std::string_view code) {
  struct Before {
    std::string_view text;
    std::size_t begin = 0;
  };
  std::array<Before, 4> before;                  // the tokens before this one, the last at the end
  std::vector<std::optional<std::size_t>> open;  // where a returned call begins
  std::vector<Insertion> found;
  LuaTokens tokens(code);
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == "(") {
      const bool is_call =
          before[0].text == "return" && (before[1].text == "redis" || before[1].text == "server") &&
          before[2].text == "." && (before[3].text == "call" || before[3].text == "pcall");
      open.push_back(is_call ? std::optional(before[1].begin) : std::nullopt);
    } else if (token == ")") {
      if (open.empty()) return std::nullopt;
      if (open.back()) {
        found.push_back({*open.back(), '('});
        found.push_back({tokens.end(), ')'});
      }
      open.pop_back();
    }
    std::rotate(before.begin(), before.begin() + 1, before.end());
    before.back() = {token, tokens.begin()};
  }
  if (tokens.is_broken() || !open.empty()) return std::nullopt;
  return found;
}

}  // namespace

std::string without_tail_calls(std::string_view code) {
  std::optional<std::vector<Insertion>> found = find_tail_calls(code);
  if (!found) return std::string(code);
  std::ranges::stable_sort(*found, {}, &Insertion::at);
  std::string text;
  text.reserve(code.size() + found->size());
  std::size_t from = 0;
  for (const Insertion& one : *found) {
    text += code.substr(from, one.at - from);
    text += one.what;
    from = one.at;
  }
  text += code.substr(from);
  return text;
}

}  // namespace mayfly
