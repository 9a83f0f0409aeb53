// SPDX-License-Identifier: Apache-2.0
#include "text/json_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>

#include "text/byte_text.h"

namespace mayfly {
namespace {

using Kind = JsonValue::Kind;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

// Each function takes what it reads off the front and returns whether it was right. The first
// mistake is kept.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<JsonValue> read() {
    JsonValue value;
    if (!read_value(value, 0)) return error();
    skip_spaces();
    if (at_ < text_.size()) {
      fail("unexpected text after the value");
      return error();
    }
    return value;
  }

 private:
  Error error() const {
    return {Code::invalid, fmt::format("column {}: {}", wrong_at_ + 1, wrong_)};
  }

  bool fail_at(std::size_t where, std::string what) {
    wrong_at_ = where;
    wrong_ = std::move(what);
    return false;
  }
  bool fail(std::string what) { return fail_at(at_, std::move(what)); }

  bool has(char letter) const { return at_ < text_.size() && text_[at_] == letter; }
  bool take(char letter) {
    if (!has(letter)) return false;
    ++at_;
    return true;
  }

  void skip_spaces() {
    while (has(' ') || has('\t') || has('\n') || has('\r')) ++at_;
  }

  bool read_value(JsonValue& value, std::size_t depth) {
    skip_spaces();
    if (at_ == text_.size()) return fail("missing value");
    const char first = text_[at_];
    if (first == '{' || first == '[') {
      if (depth == kJsonDepthMax) {
        return fail(fmt::format("arrays and objects nested deeper than {}", kJsonDepthMax));
      }
      return first == '{' ? read_object(value, depth) : read_array(value, depth);
    }
    if (first == '"') {
      value.kind = Kind::string;
      return read_string(value.text);
    }
    if (first == '-' || is_digit(first)) return read_number(value);
    return read_word(value);
  }

  bool read_word(JsonValue& value) {
    const auto take_word = [&](std::string_view word) {
      if (!text_.substr(at_).starts_with(word)) return false;
      at_ += word.size();
      return true;
    };
    if (take_word("null")) return true;
    value.kind = Kind::boolean;
    value.truth = take_word("true");
    if (value.truth || take_word("false")) return true;
    return fail("invalid value (use \"text\", a number, true, false, null, {...} or [...])");
  }

  bool read_array(JsonValue& value, std::size_t depth) {
    value.kind = Kind::array;
    ++at_;
    skip_spaces();
    if (take(']')) return true;
    while (true) {
      if (!read_value(value.values.emplace_back(), depth + 1)) return false;
      skip_spaces();
      if (take(']')) return true;
      if (!take(',')) return fail("expected ',' or ']' in the array");
    }
  }

  bool read_object(JsonValue& value, std::size_t depth) {
    value.kind = Kind::object;
    ++at_;
    skip_spaces();
    if (take('}')) return true;
    std::set<std::string, std::less<>> names;
    while (true) {
      skip_spaces();
      const std::size_t start = at_;
      if (!has('"')) return fail("missing member name (use \"name\": value)");
      std::string name;
      if (!read_string(name)) return false;
      if (!names.insert(name).second) return fail_at(start, "duplicate member '" + name + "'");
      skip_spaces();
      if (!take(':')) return fail("expected ':' after '" + name + "'");
      JsonValue& member = value.values.emplace_back();
      member.name = std::move(name);
      if (!read_value(member, depth + 1)) return false;
      skip_spaces();
      if (take('}')) return true;
      if (!take(',')) return fail("expected ',' or '}' in the object");
    }
  }

  bool read_string(std::string& out) {
    const std::size_t start = at_++;
    while (true) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) >= 0x20) {
        ++at_;
      }
      const std::string_view plain = text_.substr(begin, at_ - begin);
      if (!is_utf8(plain)) {
        return fail_at(begin, "invalid UTF-8 (use {\"base64\": \"...\"})");
      }
      out += plain;
      if (at_ == text_.size()) return fail_at(start, "unterminated string");
      if (take('"')) return true;
      if (!has('\\')) {
        return fail(
            fmt::format("unescaped control character (write \\u{:04x})", unsigned(text_[at_])));
      }
      if (!read_escape(out)) return false;
    }
  }

  bool read_escape(std::string& out) {
    const std::size_t start = at_++;
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) return read_code(out, start);
    const std::size_t which = at_ < text_.size() ? kLetters.find(text_[at_]) : kLetters.npos;
    if (which == kLetters.npos) return fail_at(start, "unknown escape");
    out += kMeanings[which];
    ++at_;
    return true;
  }

  // What comes behind \u, with the second half of a pair if there is one.
  bool read_code(std::string& out, std::size_t start) {
    std::uint32_t code = 0;
    if (!read_hex(code)) return fail_at(start, "\\u requires four hexadecimal digits");
    if (code >= 0xD800 && code < 0xDC00) {
      std::uint32_t low = 0;
      const bool is_pair = take('\\') && take('u') && read_hex(low) && low >= 0xDC00;
      if (!is_pair || low > 0xDFFF) return fail_at(start, "half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return fail_at(start, "half of a surrogate pair");
    }
    append_utf8(out, code);
    return true;
  }

  bool read_hex(std::uint32_t& code) {
    const char* const begin = text_.data() + at_;
    const char* const end = begin + std::min<std::size_t>(4, text_.size() - at_);
    const auto [stopped, failure] = std::from_chars(begin, end, code, 16);
    if (failure != std::errc() || stopped != begin + 4) return false;
    at_ += 4;
    return true;
  }

  bool read_number(JsonValue& value) {
    const std::size_t start = at_;
    const auto take_digits = [&] {
      const std::size_t before = at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      return at_ > before;
    };
    take('-');
    bool is_right = take('0') || take_digits();
    if (is_right && take('.')) is_right = take_digits();
    if (is_right && (take('e') || take('E'))) {
      if (!take('+')) take('-');
      is_right = take_digits();
    }
    if (!is_right) return fail_at(start, "invalid number");
    value.kind = Kind::number;
    value.text = text_.substr(start, at_ - start);
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t wrong_at_ = 0;
  std::string wrong_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view member) const {
  if (kind != Kind::object) return nullptr;
  for (const JsonValue& value : values) {
    if (value.name == member) return &value;
  }
  return nullptr;
}

std::optional<double> JsonValue::number() const {
  if (kind != Kind::number) return std::nullopt;
  double read = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (failure != std::errc()) return std::nullopt;
  return read;
}

std::optional<std::int64_t> JsonValue::whole_number() const {
  if (kind != Kind::number) return std::nullopt;
  std::int64_t read = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, read);
  if (failure == std::errc() && stopped == end) return read;
  const std::optional<double> rounded = number();  // 1e3, or too large
  constexpr double kExact = 9007199254740992.0;    // 2^53
  if (!rounded || std::abs(*rounded) > kExact || std::trunc(*rounded) != *rounded) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*rounded);
}

std::string_view kind_text(Kind kind) {
  constexpr std::string_view kTexts[] = {"null",     "true or false", "a number",
                                         "a string", "an array",      "an object"};
  return kTexts[static_cast<std::size_t>(kind)];
}

Result<JsonValue> read_json(std::string_view text) { return Reader(text).read(); }

}  // namespace mayfly
