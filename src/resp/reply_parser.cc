// SPDX-License-Identifier: Apache-2.0
#include "resp/reply_parser.h"

#include <optional>
#include <utility>

#include "resp/numbers.h"

namespace mayfly {
namespace {

using Kind = ReplyValue::Kind;

constexpr std::int64_t kItemsMax = std::int64_t{1} << 31;

std::optional<Kind> aggregate(char letter) {
  switch (letter) {
    case '*':
      return Kind::array;
    case '%':
      return Kind::map;
    case '~':
      return Kind::set;
    case '>':
      return Kind::push;
    case '|':
      return Kind::attribute;
    default:
      return std::nullopt;
  }
}

// The value of a line that is a whole reply, or nothing if it is not one.
std::optional<ReplyValue> read_scalar(char letter, std::string_view line) {
  ReplyValue value;
  value.text = line;
  switch (letter) {
    case '+':
      value.kind = Kind::simple;
      return value;
    case '-':
      value.kind = Kind::error;
      return value;
    case '(':
      value.kind = Kind::big_number;
      return value;
    case '_':
      return line.empty() ? std::optional(value) : std::nullopt;
    case '#':
      if (line != "t" && line != "f") return std::nullopt;
      value.kind = Kind::boolean;
      value.integer = line == "t" ? 1 : 0;
      return value;
    case ':':
      if (const auto integer = parse_integer(line)) {
        value.kind = Kind::integer;
        value.integer = *integer;
        return value;
      }
      return std::nullopt;
    case ',':
      if (const auto number = parse_double(line); number || line == "nan") {
        value.kind = Kind::number;
        value.number = number.value_or(__builtin_nan(""));
        return value;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

Parsed ReplyParser::parse(std::string_view bytes) {
  consumed_ = 0;
  if (!error_.empty()) return Parsed::error;
  for (;;) {
    const Step step = read_one(bytes.substr(consumed_));
    if (step == Step::incomplete) return Parsed::incomplete;
    if (step == Step::error) return Parsed::error;
    if (step == Step::whole) return Parsed::request;
  }
}

ReplyParser::Step ReplyParser::read_one(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kLineMost + 2).find("\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= kLineMost + 2) return fail("a line that is too long");
    return has_room(bytes.size()) ? Step::incomplete : too_large();
  }
  if (end == 0) return fail("an empty line");

  const char letter = bytes[0];
  const std::string_view line = bytes.substr(1, end - 1);
  const std::string_view rest = bytes.substr(end + 2);
  if (letter == '$' || letter == '=' || letter == '!') {
    if (line != "-1") return read_bulk(letter, line, rest);
    consumed_ += end + 2;
    return add({});
  }
  if (!has_room(end + 2)) return too_large();
  size_ += end + 2;
  consumed_ += end + 2;
  if (const auto kind = aggregate(letter)) return line == "-1" ? add({}) : open(*kind, line);
  auto value = read_scalar(letter, line);
  if (!value) return fail("a line that means nothing: '", bytes.substr(0, end));
  return add(*std::move(value));
}

ReplyParser::Step ReplyParser::read_bulk(char letter, std::string_view line,
                                         std::string_view rest) {
  const auto size = parse_integer(line);
  if (!size || *size < 0) return fail("a bulk of length '", line);

  const auto bytes = static_cast<std::size_t>(*size);
  if (!has_room(bytes)) return too_large();
  if (rest.size() < 2 || rest.size() - 2 < bytes) return Step::incomplete;
  if (rest.substr(bytes, 2) != "\r\n") return fail("a bulk that does not end in a line's end");

  ReplyValue value;
  value.kind = letter == '$' ? Kind::bulk : letter == '=' ? Kind::verbatim : Kind::error;
  value.text = rest.substr(0, bytes);
  if (value.kind == Kind::verbatim) {
    if (bytes < 4) return fail("a verbatim without a format");
    value.text.erase(0, 4);
  }
  consumed_ += 1 + line.size() + 2 + bytes + 2;
  size_ += bytes;
  return add(std::move(value));
}

ReplyParser::Step ReplyParser::open(ReplyValue::Kind kind, std::string_view line) {
  const auto count = parse_integer(line);
  if (!count || *count < 0 || *count > kItemsMax) return fail("an aggregate of length '", line);
  if (open_.size() >= kDepthMax) return fail("aggregates that are nested too deeply");

  const bool pairs = kind == Kind::map || kind == Kind::attribute;
  ReplyValue value;
  value.kind = kind;
  if (*count == 0) return kind == Kind::attribute ? Step::more : add(std::move(value));
  open_.push_back({std::move(value), static_cast<std::size_t>(*count) * (pairs ? 2 : 1)});
  return Step::more;
}

bool ReplyParser::has_room(std::size_t bytes) const {
  return size_ <= most_ && bytes <= most_ - size_;
}

ReplyParser::Step ReplyParser::too_large() {
  return fail("more than " + std::to_string(most_) + " bytes");
}

ReplyParser::Step ReplyParser::add(ReplyValue value) {
  if (!open_.empty()) size_ += kValueBytes;
  if (!has_room(0)) return too_large();
  while (!open_.empty()) {
    Open& top = open_.back();
    top.value.items.push_back(std::move(value));
    if (--top.missing > 0) return Step::more;
    value = std::move(top.value);
    open_.pop_back();
    if (value.kind == Kind::attribute) return Step::more;
  }
  value_ = std::move(value);
  size_ = 0;
  return Step::whole;
}

ReplyParser::Step ReplyParser::fail(std::string_view text, std::string_view detail) {
  error_ = "the reply has ";
  error_ += text;
  if (!detail.empty()) error_.append(detail).append("'");
  return Step::error;
}

}  // namespace mayfly
