// SPDX-License-Identifier: Apache-2.0
// The C interface of LuaJIT, and what it takes to use it from C++.
//
// An error in Lua unwinds the stack as an exception does: destructors of C++ frames between the
// error and lua_pcall() run. C++ exceptions must not pass through frames of Lua.

#pragma once

extern "C" {
#include <luajit-2.1/lauxlib.h>
#include <luajit-2.1/lua.h>
#include <luajit-2.1/luajit.h>
#include <luajit-2.1/lualib.h>
}

#include <cstddef>
#include <string_view>

namespace mayfly {

inline void push_text(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

// The text at `index`, valid while it is there. REQUIRES: it is a string. A number becomes one.
inline std::string_view text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, index, &size);
  return {text, size};
}

// An argument that has to be a text.
inline std::string_view checked_text(lua_State* lua, int argument) {
  luaL_checkstring(lua, argument);
  return text_at(lua, argument);
}

// A text that is longer is no number: to read it as one would take long, and cannot be interrupted.
inline constexpr std::size_t kNumberTextMost = std::size_t{1} << 20;

inline bool is_long_text(lua_State* lua, int index) {
  return lua_type(lua, index) == LUA_TSTRING && lua_objlen(lua, index) > kNumberTextMost;
}

// Whether the value is a number, or a text with the form of one.
inline bool is_number(lua_State* lua, int index) {
  return !is_long_text(lua, index) && lua_isnumber(lua, index) != 0;
}

// An argument that has to be a number, or a text with the form of one.
inline double checked_number(lua_State* lua, int argument) {
  luaL_argcheck(lua, !is_long_text(lua, argument), argument, "number expected, got a long string");
  return luaL_checknumber(lua, argument);
}
inline lua_Integer checked_integer(lua_State* lua, int argument) {
  luaL_argcheck(lua, !is_long_text(lua, argument), argument, "number expected, got a long string");
  return luaL_checkinteger(lua, argument);
}
inline lua_Integer optional_integer(lua_State* lua, int argument, lua_Integer missing) {
  return lua_isnoneornil(lua, argument) ? missing : checked_integer(lua, argument);
}

// Gives the value on the top back to its former size at the end of a scope.
class LuaStackGuard {
 public:
  explicit LuaStackGuard(lua_State* lua) : lua_(lua), top_(lua_gettop(lua)) {}
  LuaStackGuard(const LuaStackGuard&) = delete;
  LuaStackGuard& operator=(const LuaStackGuard&) = delete;
  ~LuaStackGuard() { lua_settop(lua_, top_); }

 private:
  lua_State* lua_;
  int top_;
};

}  // namespace mayfly
