// SPDX-License-Identifier: Apache-2.0
#include "cli/store/line_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "resp/inline_words.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

bool is_ascii_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool looks_like_option(std::string_view word) {
  const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : 0;
  return dashes > 0 && word.size() > dashes && is_ascii_letter(word[dashes]);
}

std::string_view without_spaces_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(kSpaces));
}

// The size of the quoted text at the front, with its quotes; nothing if it has no end.
std::optional<std::size_t> quoted_size(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return i + 1;
    }
  }
  return std::nullopt;
}

// The position of the first word that `is_wanted`; npos if there is none.
template <class Wanted>
std::size_t find_word(std::string_view text, Wanted is_wanted) {
  std::size_t at = text.find_first_not_of(kSpaces);
  while (at < text.size()) {
    const std::string_view word = first_word(text.substr(at));
    if (is_wanted(word)) return at;
    at = text.find_first_not_of(kSpaces, at + word.size());
  }
  return text.npos;
}

}  // namespace

// Also skips a --, after which nothing is an option.
void LineWords::skip_spaces() {
  const auto skip = [this] {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size()));
  };
  rest_ = without_spaces_behind(rest_);
  skip();
  if (is_behind_dashes_ || first_word(rest_) != "--") return;
  is_behind_dashes_ = true;
  rest_.remove_prefix(2);
  skip();
}

bool LineWords::at_option() const {
  return !is_behind_dashes_ && looks_like_option(first_word(rest_));
}

std::optional<std::string_view> LineWords::known_option(std::string_view word) const {
  const auto found = std::ranges::find(options_, word.substr(0, word.find('=')));
  if (found == options_.end()) return std::nullopt;
  return *found;
}

Error LineWords::unknown_option(std::string_view word) const {
  const std::string_view name = word.substr(0, word.find('='));
  const std::string_view meant = nearest(name, options_);
  std::string message = fmt::format("'{}' is not an option", name);
  if (known_option(word)) {
    message = fmt::format("option '{}' is not allowed here", name);
  } else if (!meant.empty()) {
    message += fmt::format("; did you mean '{}'?", meant);
  } else if (!options_.empty()) {
    message += fmt::format("; choose one of {}", listed(options_));
  }
  message += message.ends_with('?') ? " " : ". ";
  return {Code::invalid, message + "Quote an argument that starts with '-' or put '--' before it"};
}

Result<std::string> LineWords::take_quoted(std::string_view what) {
  const std::optional<std::size_t> size = quoted_size(rest_);
  if (!size) return Error{Code::invalid, fmt::format("{}: missing closing quote", what)};
  std::vector<std::string_view> words;
  std::string unquoted;
  const bool ends = *size == rest_.size() || kSpaces.find(rest_[*size]) != kSpaces.npos;
  if (!ends || !split_inline(rest_.substr(0, *size), words, unquoted)) {
    return Error{Code::invalid, fmt::format("{}: expected a space after the closing quote", what)};
  }
  std::string text(words.front());
  rest_.remove_prefix(*size);
  skip_spaces();
  return text;
}

Result<std::string> LineWords::next(std::string_view what) {
  if (at_end()) return Error{Code::invalid, fmt::format("{} is missing", what)};
  if (is_quoted()) return take_quoted(what);
  const std::string_view word = first_word(rest_);
  if (at_option()) return unknown_option(word);
  rest_.remove_prefix(word.size());
  skip_spaces();
  return std::string(word);
}

Result<std::string> LineWords::next_text(std::string_view what) {
  if (at_end()) return Error{Code::invalid, fmt::format("{} is missing", what)};
  if (is_quoted()) return take_quoted(what);
  const std::size_t option =
      is_behind_dashes_
          ? rest_.npos
          : find_word(rest_, [](std::string_view word) { return looks_like_option(word); });
  if (option == rest_.npos) return std::string(std::exchange(rest_, {}));
  const std::string_view before = rest_.substr(0, option);
  const std::size_t dashes = find_word(before, [](std::string_view word) { return word == "--"; });
  if (dashes != before.npos) {  // it only protects what looks like an option
    const std::string_view behind = rest_.substr(rest_.find_first_not_of(kSpaces, dashes + 2));
    std::string text = std::string(rest_.substr(0, dashes)).append(behind);
    rest_ = {};
    return text;
  }
  const std::string_view word = first_word(rest_.substr(option));
  if (option == 0 || !known_option(word)) return unknown_option(word);
  rest_.remove_prefix(option);
  return std::string(without_spaces_behind(before));
}

Result<std::optional<LineOption>> LineWords::next_option() {
  if (!at_option()) return std::optional<LineOption>();
  const std::string_view word = first_word(rest_);
  const std::optional<std::string_view> name = known_option(word);
  if (!name) return unknown_option(word);
  LineOption option{*name};
  if (word.size() > name->size()) option.value = word.substr(name->size() + 1);
  rest_.remove_prefix(word.size());
  skip_spaces();
  return std::optional(std::move(option));
}

Result<std::string> LineWords::value_of(const LineOption& option, std::string_view what) {
  if (option.value) return *option.value;
  if (at_end()) return Error{Code::invalid, fmt::format("{} requires {}", option.name, what)};
  return next(what);
}

Status LineWords::finish() const {
  if (at_end()) return Done{};
  if (at_option()) return unknown_option(first_word(rest_));
  return Error{Code::invalid, fmt::format("unexpected argument '{}'", rest_)};
}

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else if (letter == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_utf8(bytes))) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += letter;
    }
  }
  return text + "\"";
}

std::string quoted_if_needed(std::string_view bytes) {
  const bool is_plain = std::ranges::none_of(bytes, [](char letter) {
    return static_cast<unsigned char>(letter) <= 0x20 || letter == 0x7F;
  });
  const bool is_word = !bytes.empty() && bytes[0] != '"' && bytes[0] != '\'' && bytes != "--" &&
                       !looks_like_option(bytes);
  return is_plain && is_word && is_utf8(bytes) ? std::string(bytes) : quoted(bytes);
}

}  // namespace mayfly
