// SPDX-License-Identifier: Apache-2.0
#include "lua/lua_replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "lua/lua_work.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr int kStackNeeded = 6;              // of a value that is pushed
constexpr int kReplyDepthMost = 256;         // of a reply of a command
constexpr std::size_t kValueSteps = 8;       // of work, for each of its values
constexpr std::size_t kReservedMost = 4096;  // elements that a head may announce at once
constexpr std::size_t kNumberTextMax = 40;

std::optional<std::string_view> take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == bytes.npos) return std::nullopt;
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 2);
  return line;
}

std::optional<std::int64_t> number_of(std::string_view line) {
  std::int64_t number = 0;
  const char* const end = line.data() + line.size();
  const std::from_chars_result read = std::from_chars(line.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// The bytes of a bulk whose size is `line`.
std::optional<std::string_view> take_bulk(std::string_view line, std::string_view& bytes) {
  const std::optional<std::int64_t> size = number_of(line);
  if (!size || *size < 0) return std::nullopt;
  const auto length = static_cast<std::size_t>(*size);
  if (length > bytes.size() || bytes.size() - length < 2) return std::nullopt;
  const std::string_view bulk = bytes.substr(0, length);
  bytes.remove_prefix(length + 2);
  return bulk;
}

// {name = text}
void push_field(lua_State* lua, const char* name, std::string_view text) {
  lua_createtable(lua, 0, 1);
  push_text(lua, text);
  lua_setfield(lua, -2, name);
}

bool push_verbatim(lua_State* lua, std::string_view bulk) {
  if (bulk.size() < 4) return false;
  LuaWork::of(lua).count_copy(lua, bulk.size());
  lua_createtable(lua, 0, 1);
  lua_createtable(lua, 0, 2);
  push_text(lua, bulk.substr(4));
  lua_setfield(lua, -2, "string");
  push_text(lua, bulk.substr(0, 3));
  lua_setfield(lua, -2, "format");
  lua_setfield(lua, -2, "verbatim_string");
  return true;
}

bool push_nested(lua_State* lua, std::string_view& bytes, int depth);

bool push_array(lua_State* lua, std::int64_t count, std::string_view& bytes, int depth) {
  const std::size_t most = std::min(static_cast<std::size_t>(count), kReservedMost);
  lua_createtable(lua, static_cast<int>(most), 0);
  for (std::int64_t i = 1; i <= count; ++i) {
    if (!push_nested(lua, bytes, depth + 1)) return false;
    lua_rawseti(lua, -2, static_cast<int>(i));
  }
  return true;
}

// {map = {key = value, ...}}, or {set = {member = true, ...}}.
bool push_named(lua_State* lua, bool is_map, std::int64_t count, std::string_view& bytes,
                int depth) {
  const std::size_t most = std::min(static_cast<std::size_t>(count), kReservedMost);
  lua_createtable(lua, 0, 1);
  lua_createtable(lua, 0, static_cast<int>(most));
  for (std::int64_t i = 0; i < count; ++i) {
    if (!push_nested(lua, bytes, depth + 1)) return false;
    if (is_map) {
      if (!push_nested(lua, bytes, depth + 1)) return false;
    } else {
      lua_pushboolean(lua, 1);
    }
    if (lua_isnil(lua, -2)) {
      lua_pop(lua, 2);
    } else {
      lua_rawset(lua, -3);
    }
  }
  lua_setfield(lua, -2, is_map ? "map" : "set");
  return true;
}

bool push_double(lua_State* lua, std::string_view line) {
  const std::string text(line);
  lua_createtable(lua, 0, 1);
  lua_pushnumber(lua, std::strtod(text.c_str(), nullptr));
  lua_setfield(lua, -2, "double");
  return true;
}

// Of a type whose head is `line`.
bool push_typed(lua_State* lua, char type, std::string_view line, std::string_view& bytes,
                int depth) {
  const std::optional<std::int64_t> number = number_of(line);
  switch (type) {
    case '+':
      push_field(lua, "ok", line);
      return true;
    case '-':
      push_field(lua, "err", line);
      lua_pushboolean(lua, 1);
      lua_setfield(lua, -2, "ignore_error_stats_update");
      return true;
    case ':':
      if (number) lua_pushnumber(lua, static_cast<double>(*number));
      return number.has_value();
    case '$':
    case '*':
      if (number && *number == -1) {
        lua_pushboolean(lua, 0);
        return true;
      }
      if (type == '*') return number && *number >= 0 && push_array(lua, *number, bytes, depth);
      if (const auto bulk = take_bulk(line, bytes)) {
        LuaWork::of(lua).count_copy(lua, bulk->size());
        push_text(lua, *bulk);
        return true;
      }
      return false;
    case '%':
    case '~':
      return number && *number >= 0 && push_named(lua, type == '%', *number, bytes, depth);
    case '>':
      return number && *number >= 0 && push_array(lua, *number, bytes, depth);
    case '|':  // about the reply behind it, and not for scripts
      if (!number || *number < 0 || !push_named(lua, true, *number, bytes, depth)) return false;
      lua_pop(lua, 1);
      return push_nested(lua, bytes, depth + 1);
    case '_':
      lua_pushnil(lua);
      return true;
    case '#':
      lua_pushboolean(lua, line == "t" ? 1 : 0);
      return true;
    case ',':
      return push_double(lua, line);
    case '(':
      push_field(lua, "big_number", line);
      return true;
    case '=': {
      const auto bulk = take_bulk(line, bytes);
      return bulk && push_verbatim(lua, *bulk);
    }
    default:
      return false;
  }
}

bool push_nested(lua_State* lua, std::string_view& bytes, int depth) {
  if (bytes.empty() || depth > kReplyDepthMost || lua_checkstack(lua, kStackNeeded) == 0)
    return false;
  const char type = bytes.front();
  bytes.remove_prefix(1);
  const std::size_t size = bytes.size();
  const std::optional<std::string_view> line = take_line(bytes);
  LuaWork::of(lua).count(lua, kValueSteps + size - bytes.size());
  return line && push_typed(lua, type, *line, bytes, depth);
}

}  // namespace

bool push_reply(lua_State* lua, std::string_view& bytes) {
  const int top = lua_gettop(lua);
  if (push_nested(lua, bytes, 0)) return true;
  lua_settop(lua, top);
  return false;
}

void push_error(lua_State* lua, std::string_view text) {
  text = text.substr(0, kScriptLineMost);
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  std::string whole;
  if (text.starts_with('-') && text.find(' ') != text.npos) {
    whole = text.substr(1);
  } else {
    whole = fmt::format("ERR {}", text.starts_with('-') ? text.substr(1) : text);
  }
  push_field(lua, "err", whole);
}

int raise_error(lua_State* lua, std::string_view text) {
  push_error(lua, text);
  return lua_error(lua);
}

bool LuaWords::read(lua_State* lua) {
  const auto count = static_cast<std::size_t>(lua_gettop(lua));
  words_.clear();
  numbers_.clear();
  numbers_.reserve(count * kNumberTextMax);  // so that views of it stay valid
  for (std::size_t i = 1; i <= count; ++i) {
    const int index = static_cast<int>(i);
    const int type = lua_type(lua, index);
    if (type == LUA_TSTRING) {
      words_.push_back(text_at(lua, index));
      continue;
    }
    if (type != LUA_TNUMBER) return false;
    const double number = lua_tonumber(lua, index);
    const std::size_t begin = numbers_.size();
    constexpr double kWholeMost = 4611686018427387904.0;
    if (std::abs(number) <= kWholeMost && std::trunc(number) == number) {
      fmt::format_to(std::back_inserter(numbers_), "{}", static_cast<std::int64_t>(number));
    } else {
      numbers_ += format_double(number);
    }
    words_.push_back(std::string_view(numbers_).substr(begin));
  }
  return true;
}

}  // namespace mayfly
