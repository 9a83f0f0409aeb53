// SPDX-License-Identifier: Apache-2.0
// JSON to values of Lua.

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "lua/libraries/lua_cjson.h"
#include "lua/lua_bytes.h"

namespace mayfly {
namespace {

constexpr int kDecodeStack = 4;
constexpr std::size_t kTokenSteps = 4;
constexpr std::ptrdiff_t kNumberMost = 4096;  // characters of a number

enum class JsonToken {
  object,
  object_end,
  array,
  array_end,
  text,
  number,
  boolean,
  null,
  colon,
  comma,
  end,
  error
};

// As they are named in messages.
constexpr const char* kTokenNames[] = {"T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END",
                                       "T_STRING",    "T_NUMBER",  "T_BOOLEAN",   "T_NULL",
                                       "T_COLON",     "T_COMMA",   "T_END"};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void append_utf8(LuaBytes& out, unsigned point) {
  const auto tail = [&](unsigned shift) {
    out.append(static_cast<char>(0x80 | (point >> shift & 0x3F)));
  };
  if (point < 0x80) {
    out.append(static_cast<char>(point));
  } else if (point < 0x800) {
    out.append(static_cast<char>(0xC0 | point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out.append(static_cast<char>(0xE0 | point >> 12));
    tail(6);
    tail(0);
  } else {
    out.append(static_cast<char>(0xF0 | point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Reads a text that ends with a zero byte. A token that is a text is pushed.
class JsonReader {
 public:
  JsonReader(lua_State* lua, const char* text, const JsonOptions& options)
      : lua_(lua),
        work_(LuaWork::of(lua)),
        begin_(text),
        at_(text),
        options_(options),
        unescaped_(lua) {}

  // Pushes the value that all of the text is.
  void read() {
    read_value(next());
    if (const JsonToken token = next(); token != JsonToken::end) fail("the end", token);
  }

 private:
  void fail(const char* expected, JsonToken found) {
    const char* const name =
        found == JsonToken::error ? error_ : kTokenNames[static_cast<std::size_t>(found)];
    luaL_error(lua_, "Expected %s but found %s at character %d", expected, name,
               static_cast<int>(token_begin_ - begin_) + 1);
  }

  JsonToken wrong(const char* what) {
    error_ = what;
    token_begin_ = at_;
    return JsonToken::error;
  }

  JsonToken next();
  JsonToken next_word();
  JsonToken next_number();
  JsonToken next_text();
  void skip_plain();
  bool is_invalid_number() const;
  bool unescape();
  std::optional<unsigned> code_unit(const char* escape) const;

  void descend() {
    if (++depth_ <= options_.decode_depth_most && lua_checkstack(lua_, kDecodeStack) != 0) return;
    luaL_error(lua_, "Found too many nested data structures (%d) at character %d", depth_,
               static_cast<int>(at_ - begin_));
  }
  void read_value(JsonToken token);
  void read_object();
  void read_array();

  lua_State* lua_;
  LuaWork& work_;
  const char* begin_;
  const char* at_;
  const JsonOptions& options_;
  LuaBytes unescaped_;
  const char* token_begin_ = nullptr;
  const char* error_ = "";
  double number_ = 0;
  bool boolean_ = false;
  int depth_ = 0;
};

JsonToken JsonReader::next() {
  for (; *at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r'; ++at_) work_.count(lua_);
  work_.count(lua_, kTokenSteps);
  token_begin_ = at_;
  const auto single = [&](JsonToken token) {
    ++at_;
    return token;
  };
  switch (*at_) {
    case '\0':
      return JsonToken::end;
    case '{':
      return single(JsonToken::object);
    case '}':
      return single(JsonToken::object_end);
    case '[':
      return single(JsonToken::array);
    case ']':
      return single(JsonToken::array_end);
    case ':':
      return single(JsonToken::colon);
    case ',':
      return single(JsonToken::comma);
    case '"':
      return next_text();
    default:
      return next_word();
  }
}

JsonToken JsonReader::next_word() {
  if (*at_ == '-' || (*at_ >= '0' && *at_ <= '9')) {
    if (options_.decode_invalid == 0 && is_invalid_number()) return wrong("invalid number");
    return next_number();
  }
  if (std::strncmp(at_, "null", 4) == 0) {
    at_ += 4;
    return JsonToken::null;
  }
  boolean_ = std::strncmp(at_, "true", 4) == 0;
  if (boolean_ || std::strncmp(at_, "false", 5) == 0) {
    at_ += boolean_ ? 4 : 5;
    return JsonToken::boolean;
  }
  const bool may_be_number = std::strchr("+iInN", *at_) != nullptr;
  if (options_.decode_invalid != 0 && may_be_number && is_invalid_number()) return next_number();
  return wrong("invalid token");
}

// A form that strtod() reads, but that JSON does not have.
bool JsonReader::is_invalid_number() const {
  const char* digits = at_;
  if (*digits == '+') return true;
  if (*digits == '-') ++digits;
  if (*digits == '0') return (digits[1] | 0x20) == 'x' || (digits[1] >= '0' && digits[1] <= '9');
  return strncasecmp(digits, "inf", 3) == 0 || strncasecmp(digits, "nan", 3) == 0;
}

JsonToken JsonReader::next_number() {
  // Nearly all numbers are short integers.
  constexpr int kExactDigits = 15;
  const char* digit = *at_ == '-' ? at_ + 1 : at_;
  const char* const first = digit;
  long long value = 0;
  while (*digit >= '0' && *digit <= '9' && digit - first <= kExactDigits) {
    value = value * 10 + (*digit++ - '0');
  }
  const bool goes_on = *digit == '.' || (std::isalnum(static_cast<unsigned char>(*digit)) != 0);
  if (!goes_on && digit > first && digit - first <= kExactDigits && value != 0) {
    number_ = static_cast<double>(*at_ == '-' ? -value : value);
    at_ = digit;
    return JsonToken::number;
  }
  const char* last = at_;
  while (last - at_ <= kNumberMost && (std::isalnum(static_cast<unsigned char>(*last)) != 0 ||
                                       *last == '.' || *last == '+' || *last == '-')) {
    ++last;
  }
  if (last - at_ > kNumberMost) return wrong("invalid number");
  char* end = nullptr;
  number_ = std::strtod(at_, &end);
  if (end == at_) return wrong("invalid number");
  at_ = end;
  return JsonToken::number;
}

// To the next quote, backslash or zero byte.
void JsonReader::skip_plain() {
  const char* piece = at_;
  while (*at_ != '"' && *at_ != '\\' && *at_ != '\0') {
    if (static_cast<std::size_t>(++at_ - piece) < LuaWork::kPiece) continue;
    work_.count(lua_, LuaWork::kPiece);
    piece = at_;
  }
}

JsonToken JsonReader::next_text() {
  const char* const text = ++at_;
  skip_plain();
  if (*at_ == '"') {
    work_.count_copy(lua_, static_cast<std::size_t>(at_ - text));
    lua_pushlstring(lua_, text, static_cast<std::size_t>(at_ - text));
    ++at_;
    return JsonToken::text;
  }
  unescaped_.clear();
  unescaped_.append(std::string_view(text, static_cast<std::size_t>(at_ - text)));
  while (*at_ != '"') {
    if (*at_ == '\0') return wrong("unexpected end of string");
    if (*at_ == '\\') {
      if (!unescape()) return wrong(error_);
      continue;
    }
    const char* const plain = at_;
    skip_plain();
    unescaped_.append(std::string_view(plain, static_cast<std::size_t>(at_ - plain)));
  }
  ++at_;
  unescaped_.push();
  return JsonToken::text;
}

// The four digits of \uXXXX.
std::optional<unsigned> JsonReader::code_unit(const char* escape) const {
  if (escape[0] != '\\' || escape[1] != 'u') return std::nullopt;
  unsigned unit = 0;
  for (int i = 2; i < 6; ++i) {
    const int digit = hex_digit(escape[i]);
    if (digit < 0) return std::nullopt;
    unit = unit << 4 | static_cast<unsigned>(digit);
  }
  return unit;
}

// Takes the escape at the begin. If it is wrong, `error_` says how.
bool JsonReader::unescape() {
  static constexpr char kFrom[] = "\"\\/btnfr";
  static constexpr char kTo[] = "\"\\/\b\t\n\f\r";
  if (at_[1] != 'u') {
    const char* const found = at_[1] == '\0' ? nullptr : std::strchr(kFrom, at_[1]);
    error_ = "invalid escape code";
    if (found == nullptr) return false;
    unescaped_.append(kTo[found - kFrom]);
    at_ += 2;
    return true;
  }
  error_ = "invalid unicode escape code";
  const std::optional<unsigned> unit = code_unit(at_);
  if (!unit) return false;
  if ((*unit & 0xF800) != 0xD800) {
    append_utf8(unescaped_, *unit);
    at_ += 6;
    return true;
  }
  // A pair of surrogates: 0xD800 and so on, then 0xDC00 and so on.
  const std::optional<unsigned> low = (*unit & 0x400) == 0 ? code_unit(at_ + 6) : std::nullopt;
  if (!low || (*low & 0xFC00) != 0xDC00) return false;
  append_utf8(unescaped_, ((*unit & 0x3FF) << 10 | (*low & 0x3FF)) + 0x10000);
  at_ += 12;
  return true;
}

void JsonReader::read_value(JsonToken token) {
  switch (token) {
    case JsonToken::text:
      return;  // it is there
    case JsonToken::number:
      return lua_pushnumber(lua_, number_);
    case JsonToken::boolean:
      return lua_pushboolean(lua_, boolean_ ? 1 : 0);
    case JsonToken::null:
      return lua_pushlightuserdata(lua_, nullptr);
    case JsonToken::object:
      return read_object();
    case JsonToken::array:
      return read_array();
    default:
      return fail("value", token);
  }
}

void JsonReader::read_object() {
  descend();
  lua_newtable(lua_);
  JsonToken token = next();
  while (token != JsonToken::object_end) {
    if (token != JsonToken::text) fail("object key string", token);
    if (token = next(); token != JsonToken::colon) fail("colon", token);
    read_value(next());
    lua_rawset(lua_, -3);
    token = next();
    if (token == JsonToken::object_end) break;
    if (token != JsonToken::comma) fail("comma or object end", token);
    if (token = next(); token == JsonToken::object_end) fail("object key string", token);
  }
  --depth_;
}

void JsonReader::read_array() {
  descend();
  lua_newtable(lua_);
  JsonToken token = next();
  for (int i = 1; token != JsonToken::array_end; ++i) {
    read_value(token);
    lua_rawseti(lua_, -2, i);
    token = next();
    if (token == JsonToken::array_end) break;
    if (token != JsonToken::comma) fail("comma or array end", token);
    if (token = next(); token == JsonToken::array_end) fail("value", token);
  }
  --depth_;
}

}  // namespace

void decode_json(lua_State* lua, std::string_view text, const JsonOptions& options) {
  if (text.size() >= 2 && (text[0] == '\0' || text[1] == '\0')) {
    luaL_error(lua, "JSON parser does not support UTF-16 or UTF-32");
  }
  luaL_checkstack(lua, kDecodeStack, "too many values");
  JsonReader reader(lua, text.data(), options);
  reader.read();
}

}  // namespace mayfly
