// SPDX-License-Identifier: Apache-2.0
#include "server/http/reply_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "text/byte_text.h"
#include "text/json.h"

namespace mayfly {
namespace {

constexpr int kDepthMax = 128;
constexpr std::int64_t kExactMost = std::int64_t{1} << 53;

// As JSON writes them: RESP3 has inf and nan too, and a client can have a script reply with any
// text as a big number.
bool is_json_number(std::string_view text) {
  const auto take_digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  const auto take_one_of = [&](std::string_view letters) {
    const bool has = !text.empty() && letters.find(text.front()) != letters.npos;
    if (has) text.remove_prefix(1);
    return has;
  };
  take_one_of("-");
  const bool has_zero = text.starts_with('0');
  const std::size_t whole = take_digits();
  if (whole == 0 || (has_zero && whole > 1)) return false;
  if (take_one_of(".") && take_digits() == 0) return false;
  if (take_one_of("eE")) {
    take_one_of("+-");
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

// Reads a reply from the front of `rest` and writes it. Whatever the bytes are: what is written is
// JSON, or the reply is refused.
class ReplyJson {
 public:
  ReplyJson(std::string& out, std::string_view bytes, std::size_t most)
      : out_(out), rest_(bytes), most_(most) {}

  bool value(int depth) {
    const std::optional<std::string_view> line = take_line();
    if (!line || line->empty() || depth > kDepthMax || out_.size() > most_) return false;
    const std::string_view text = line->substr(1);
    switch (line->front()) {
      case '+':
        append_json_bytes(out_, text);
        return true;
      case '-':
        return error(text);
      case ':':
        return integer(text);
      case '(':
        return big_number(text);
      case '_':
        out_ += "null";
        return true;
      case '#':
        out_ += text == "t" ? "true" : "false";
        return true;
      case ',':
        return number(text);
      case '$':
      case '=':
      case '!':
        return bulk(line->front(), text);
      case '*':
      case '~':
      case '>':
        return array(text, depth);
      case '%':
        return map(text, depth);
      default:
        return false;
    }
  }

 private:
  std::optional<std::string_view> take_line() {
    const std::size_t end = rest_.find("\r\n");
    if (end == rest_.npos) return std::nullopt;
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  static std::optional<std::int64_t> read(std::string_view text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc() || stopped != end) return std::nullopt;
    return number;
  }

  // The bytes of a bulk whose length has been read.
  std::optional<std::string_view> take_bulk(std::string_view length) {
    const std::optional<std::int64_t> size = read(length);
    if (!size || *size < 0 || rest_.size() < static_cast<std::uint64_t>(*size) + 2) {
      return std::nullopt;
    }
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(*size));
    rest_.remove_prefix(bytes.size() + 2);
    return bytes;
  }

  bool error(std::string_view text) {
    out_ += "{\"error\":";
    append_json_bytes(out_, text);
    out_ += '}';
    return true;
  }

  bool integer(std::string_view text) {
    const std::optional<std::int64_t> number = read(text);
    if (!number) return false;
    if (*number > kExactMost || *number < -kExactMost) return big_number(text);
    out_ += fmt::format("{}", *number);
    return true;
  }

  bool big_number(std::string_view text) {
    const bool is_whole = text.find_first_of(".eE") == text.npos && is_json_number(text);
    if (is_whole) out_ += "{\"$int\":";
    append_json_bytes(out_, text);
    if (is_whole) out_ += '}';
    return true;
  }

  bool number(std::string_view text) {
    if (is_json_number(text)) {
      out_ += text;
    } else {
      append_json_bytes(out_, text);
    }
    return true;
  }

  bool bulk(char kind, std::string_view length) {
    if (length == "-1") {
      out_ += "null";
      return true;
    }
    const std::optional<std::string_view> bytes = take_bulk(length);
    if (!bytes) return false;
    if (kind == '!') return error(*bytes);
    append_json_bytes(out_, kind == '=' && bytes->size() >= 4 ? bytes->substr(4) : *bytes);
    return out_.size() <= most_;
  }

  bool array(std::string_view length, int depth) {
    const std::optional<std::int64_t> count = read(length);
    if (!count) return false;
    if (*count < 0) {
      out_ += "null";
      return true;
    }
    out_ += '[';
    for (std::int64_t i = 0; i < *count; ++i) {
      if (i > 0) out_ += ',';
      if (!value(depth + 1)) return false;
    }
    out_ += ']';
    return true;
  }

  bool map(std::string_view length, int depth) {
    const std::optional<std::int64_t> count = read(length);
    if (!count) return false;
    if (*count < 0) {
      out_ += "null";
      return true;
    }
    const bool is_object = has_text_keys(*count, depth);
    out_ += is_object ? "{" : "{\"$map\":[";
    for (std::int64_t i = 0; i < *count; ++i) {
      if (i > 0) out_ += ',';
      if (!is_object) out_ += '[';
      if (!value(depth + 1)) return false;
      out_ += is_object ? ':' : ',';
      if (!value(depth + 1)) return false;
      if (!is_object) out_ += ']';
    }
    out_ += is_object ? "}" : "]}";
    return true;
  }

  // Reads ahead, without taking anything.
  bool has_text_keys(std::int64_t count, int depth) {
    const std::string_view before = rest_;
    bool has = true;
    for (std::int64_t i = 0; i < count && has; ++i) has = skip_text() && skip(depth + 1);
    rest_ = before;
    return has;
  }

  bool skip_text() {
    const std::optional<std::string_view> line = take_line();
    if (!line || line->empty()) return false;
    const bool is_bulk = line->front() == '$';
    if (!is_bulk && line->front() != '+') return false;
    const std::optional<std::string_view> bytes =
        is_bulk ? take_bulk(line->substr(1)) : line->substr(1);
    return bytes && is_utf8(*bytes) && !bytes->starts_with('$');  // those are markers
  }

  bool skip(int depth) {
    const std::optional<std::string_view> line = take_line();
    if (!line || line->empty() || depth > kDepthMax) return false;
    const char kind = line->front();
    const std::string_view text = line->substr(1);
    if (kind == '$' || kind == '=' || kind == '!') return text == "-1" || take_bulk(text);
    if (kind != '*' && kind != '~' && kind != '>' && kind != '%') return true;
    const std::optional<std::int64_t> count = read(text);
    if (!count) return false;
    for (std::int64_t i = 0; i < *count; ++i) {
      if (!skip(depth + 1) || (kind == '%' && !skip(depth + 1))) return false;
    }
    return true;
  }

  std::string& out_;
  std::string_view rest_;
  const std::size_t most_;
};

}  // namespace

void append_json_bytes(std::string& out, std::string_view bytes) {
  if (is_utf8(bytes)) return append_json_text(out, bytes);
  out += "{\"$base64\":\"";
  out += base64(bytes);
  out += "\"}";
}

bool append_reply_json(std::string& out, std::string_view bytes, std::size_t most) {
  return ReplyJson(out, bytes, most).value(0);
}

Result<std::string> word_of_json(const JsonValue& value) {
  using Kind = JsonValue::Kind;
  if (value.is(Kind::string) || value.is(Kind::number)) return value.text;
  const JsonValue* const coded = value.find("$base64");
  if (coded != nullptr && value.values.size() == 1 && coded->is(Kind::string)) {
    return from_base64(coded->text);
  }
  return Error{Code::invalid, "an argument must be a string, a number or {\"$base64\": \"...\"}"};
}

}  // namespace mayfly
