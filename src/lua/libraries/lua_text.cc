// SPDX-License-Identifier: Apache-2.0
// string.rep, lower, upper, reverse and format, which can be interrupted (see LuaWork).

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "lua/c_stack.h"
#include "lua/lua_bytes.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

constexpr double kStringMost = 0x7fffff00;  // bytes that LuaJIT allows

// ---- rep ----

int string_rep(lua_State* lua) {
  const std::string_view text = checked_text(lua, 1);
  const double given = std::trunc(checked_number(lua, 2));
  const std::string_view between =
      lua_isnoneornil(lua, 3) ? std::string_view() : checked_text(lua, 3);
  const double times = given >= 1 ? given : 0;  // NaN is 0 times
  const double size = static_cast<double>(text.size() + between.size()) * times;
  if (times == 0 || size == 0) {
    push_text(lua, "");
    return 1;
  }
  if (size - static_cast<double>(between.size()) > kStringMost) {
    return luaL_error(lua, "resulting string too large");
  }
  LuaBytes out(lua);
  const auto whole = static_cast<std::size_t>(size);
  const std::size_t wanted = whole - between.size();
  out.reserve(wanted);
  if (text.size() + between.size() == 1) {
    out.append(wanted, text.empty() ? between[0] : text[0]);
  } else {
    const auto count = static_cast<std::size_t>(times);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out.append(between);
      out.append(text);
    }
  }
  out.push();
  return 1;
}

// ---- lower, upper, reverse ----

// Pushes the text with each of its pieces changed by `change(in, out, count)`.
template <class Change>
int push_changed(lua_State* lua, Change change) {
  const std::string_view text = checked_text(lua, 1);
  LuaBytes out(lua);
  out.reserve(text.size());
  char piece[1024];
  for (std::size_t done = 0; done < text.size();) {
    const std::size_t some = std::min(text.size() - done, sizeof piece);
    change(text, done, piece, some);
    out.append(std::string_view(piece, some));
    done += some;
  }
  out.push();
  return 1;
}

int string_lower(lua_State* lua) {
  return push_changed(lua, [](std::string_view text, std::size_t from, char* out, std::size_t n) {
    std::transform(text.data() + from, text.data() + from + n, out,
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  });
}

int string_upper(lua_State* lua) {
  return push_changed(lua, [](std::string_view text, std::size_t from, char* out, std::size_t n) {
    std::transform(text.data() + from, text.data() + from + n, out,
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  });
}

int string_reverse(lua_State* lua) {
  return push_changed(lua, [](std::string_view text, std::size_t from, char* out, std::size_t n) {
    const char* const end = text.data() + text.size() - from;
    std::reverse_copy(end - n, end, out);
  });
}

// ---- format ----

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// As a string in the source of a script.
void append_quoted(LuaBytes& out, std::string_view text) {
  out.append('"');
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '\n') {
      out.append('\\');
      out.append(c);
    } else if (code < 32 || code == 127) {
      const bool is_long = code >= 100 || (i + 1 < text.size() && is_digit(text[i + 1]));
      out.append('\\');
      if (is_long) out.append(static_cast<char>('0' + code / 100));
      if (is_long || code >= 10) out.append(static_cast<char>('0' + code / 10 % 10));
      out.append(static_cast<char>('0' + code % 10));
    } else {
      out.append(c);
    }
  }
  out.append('"');
}

// The conversion at the begin of `rest`, as "%-5.2f". Empty if it has no such form.
std::string_view conversion_at(std::string_view rest) {
  std::size_t at = 1;
  const auto skip = [&](std::string_view some, std::size_t most) {
    for (std::size_t i = 0; i < most && at < rest.size(); ++i, ++at) {
      if (some.find(rest[at]) == some.npos) break;
    }
  };
  constexpr std::string_view kFlags = "-+ #0";
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kConversions = "cdiouxXeEfFgGaAqsp";
  skip(kFlags, kFlags.size());
  skip(kDigits, 2);
  if (at < rest.size() && rest[at] == '.') {
    ++at;
    skip(kDigits, 2);
  }
  if (at == rest.size() || kConversions.find(rest[at]) == kConversions.npos) return {};
  return rest.substr(0, at + 1);
}

// LuaJIT's own function writes short values: numbers, and values that are no texts.
void append_converted(lua_State* lua, LuaBytes& out, std::string_view conversion, int argument) {
  const char type = conversion.back();
  const bool is_text = lua_type(lua, argument) == LUA_TSTRING;
  if (type == 'q') return append_quoted(out, checked_text(lua, argument));
  if (type == 's' || type == 'p') {
    luaL_checkany(lua, argument);
    if (is_text && conversion == "%s") return out.append(text_at(lua, argument));
    if (!has_c_stack()) luaL_error(lua, "C stack overflow");
  } else {
    checked_number(lua, argument);
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  push_text(lua, conversion);
  lua_pushvalue(lua, argument);
  lua_call(lua, 2, 1);
  out.append(text_at(lua, -1));
  lua_pop(lua, 1);
}

int string_format(lua_State* lua) {
  const std::string_view format = checked_text(lua, 1);
  luaL_checkstack(lua, 4, "too many values");
  LuaBytes out(lua);
  int argument = 1;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      const std::size_t piece = std::min(format.size() - at, LuaWork::kPiece);
      const std::size_t plain = std::min(format.substr(at, piece).find('%'), piece);
      out.append(format.substr(at, plain));
      at += plain;
    } else if (format.substr(at, 2) == "%%") {
      out.append('%');
      at += 2;
    } else {
      const std::string_view conversion = conversion_at(format.substr(at, 16));
      if (conversion.empty()) {
        const std::string shown(format.substr(at, std::min<std::size_t>(2, format.size() - at)));
        return luaL_error(lua, "invalid option '%s' to 'format'", shown.c_str());
      }
      append_converted(lua, out, conversion, ++argument);
      at += conversion.size();
    }
  }
  out.push();
  return 1;
}

}  // namespace

void replace_text(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {{"rep", string_rep},
                                            {"lower", string_lower},
                                            {"upper", string_upper},
                                            {"reverse", string_reverse},
                                            {nullptr, nullptr}};
  luaL_register(lua, nullptr, kFunctions);
  lua_getfield(lua, -1, "format");
  lua_pushcclosure(lua, string_format, 1);
  lua_setfield(lua, -2, "format");
}

}  // namespace mayfly
