// SPDX-License-Identifier: Apache-2.0
// Values of Lua to JSON.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "lua/libraries/lua_cjson.h"
#include "lua/lua_bytes.h"

namespace mayfly {
namespace {

constexpr int kEncodeStack = 4;
constexpr std::size_t kJsonNumberMax = 40;

// What stands for a byte in a text; empty if the byte itself.
constexpr std::array<std::string_view, 256> json_escapes() {
  std::array<std::string_view, 256> escapes{};
  constexpr std::string_view kControls =
      "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007"
      "\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u000e\\u000f"
      "\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017"
      "\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f";
  for (std::size_t i = 0; i < 32; ++i) escapes[i] = kControls.substr(i * 6, 6);
  escapes['\b'] = "\\b";
  escapes['\t'] = "\\t";
  escapes['\n'] = "\\n";
  escapes['\f'] = "\\f";
  escapes['\r'] = "\\r";
  escapes['"'] = "\\\"";
  escapes['/'] = "\\/";
  escapes['\\'] = "\\\\";
  escapes[0x7F] = "\\u007f";
  return escapes;
}
constexpr std::array<std::string_view, 256> kJsonEscapes = json_escapes();

class JsonWriter {
 public:
  JsonWriter(lua_State* lua, const JsonOptions& options)
      : lua_(lua), work_(LuaWork::of(lua)), options_(options), out_(lua) {}

  // Writes the value on the top.
  void write_value(int depth);
  void push() const { out_.push(); }

 private:
  void fail(int index, const char* reason) {
    luaL_error(lua_, "Cannot serialise %s: %s", luaL_typename(lua_, index), reason);
  }
  void write_text(std::string_view text);
  void write_escaped(std::string_view text);
  void write_number(int index);
  void write_table(int depth);
  void write_array(int count, int depth);
  void write_object(int depth);
  int array_size();

  lua_State* lua_;
  LuaWork& work_;
  const JsonOptions& options_;
  LuaBytes out_;
};

void JsonWriter::write_escaped(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view escape = kJsonEscapes[static_cast<unsigned char>(text[i])];
    if (escape.empty()) continue;
    out_.append(text.substr(begin, i - begin));
    out_.append(escape);
    begin = i + 1;
  }
  out_.append(text.substr(begin));
}

void JsonWriter::write_text(std::string_view text) {
  out_.append('"');
  while (text.size() > LuaWork::kPiece) {
    write_escaped(text.substr(0, LuaWork::kPiece));
    text.remove_prefix(LuaWork::kPiece);
  }
  write_escaped(text);
  out_.append('"');
}

void JsonWriter::write_number(int index) {
  const double number = lua_tonumber(lua_, index);
  if (!std::isfinite(number)) {
    if (options_.encode_invalid == JsonOptions::refused) fail(index, "must not be NaN or Inf");
    if (options_.encode_invalid == JsonOptions::as_null) return out_.append("null");
    if (std::isnan(number)) return out_.append("nan");
  }
  char text[kJsonNumberMax];
  constexpr double kShort = 1e14;
  const bool is_whole = options_.precision == 14 && std::abs(number) < kShort &&
                        std::trunc(number) == number && !(number == 0 && std::signbit(number));
  if (is_whole) {
    const auto done = std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(number));
    return out_.append(std::string_view(text, static_cast<std::size_t>(done.ptr - text)));
  }
  const int size = std::snprintf(text, sizeof text, "%.*g", options_.precision, number);
  out_.append(std::string_view(text, static_cast<std::size_t>(size)));
}

// The largest index of the table on the top; -1 if it has other keys, or is to be an object.
int JsonWriter::array_size() {
  double largest = 0;
  double count = 0;
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    lua_pop(lua_, 1);
    work_.count(lua_);
    const double key = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
    if (key < 1 || std::floor(key) != key) {
      lua_pop(lua_, 1);
      return -1;
    }
    largest = std::max(largest, key);
    ++count;
  }
  if (options_.sparse_ratio > 0 && largest > count * options_.sparse_ratio &&
      largest > options_.sparse_safe) {
    if (options_.sparse_convert == 0) fail(-1, "excessively sparse array");
    return -1;
  }
  if (largest > INT32_MAX) fail(-1, "excessively sparse array");
  return static_cast<int>(largest);
}

void JsonWriter::write_array(int count, int depth) {
  for (int i = 1; i <= count; ++i) {
    out_.append(i == 1 ? '[' : ',');
    lua_rawgeti(lua_, -1, i);
    write_value(depth);
    lua_pop(lua_, 1);
  }
  out_.append(']');
}

void JsonWriter::write_object(int depth) {
  out_.append('{');
  bool is_first = true;
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    if (!is_first) out_.append(',');
    is_first = false;
    if (lua_type(lua_, -2) == LUA_TSTRING) {
      write_text(text_at(lua_, -2));
    } else if (lua_type(lua_, -2) == LUA_TNUMBER) {
      out_.append('"');
      write_number(-2);
      out_.append('"');
    } else {
      fail(-2, "table key must be a number or string");
    }
    out_.append(':');
    write_value(depth);
    lua_pop(lua_, 1);
  }
  out_.append('}');
}

void JsonWriter::write_table(int depth) {
  if (depth > options_.encode_depth_most || lua_checkstack(lua_, kEncodeStack) == 0) {
    luaL_error(lua_, "Cannot serialise, excessive nesting (%d)", depth);
  }
  const int count = array_size();
  if (count > 0) {
    write_array(count, depth);
  } else {
    write_object(depth);
  }
}

void JsonWriter::write_value(int depth) {
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      return write_text(text_at(lua_, -1));
    case LUA_TNUMBER:
      return write_number(-1);
    case LUA_TBOOLEAN:
      return out_.append(lua_toboolean(lua_, -1) != 0 ? "true" : "false");
    case LUA_TTABLE:
      return write_table(depth + 1);
    case LUA_TNIL:
      return out_.append("null");
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(lua_, -1) == nullptr) return out_.append("null");
      break;
    default:
      break;
  }
  fail(-1, "type not supported");
}

}  // namespace

void encode_json(lua_State* lua, int index, const JsonOptions& options) {
  luaL_checkstack(lua, kEncodeStack, "too many values");
  JsonWriter writer(lua, options);
  lua_pushvalue(lua, index);
  writer.write_value(0);
  lua_pop(lua, 1);
  writer.push();
}

}  // namespace mayfly
