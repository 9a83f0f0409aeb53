// SPDX-License-Identifier: Apache-2.0
// load, collectgarbage and tonumber for the prelude, which can be interrupted (see LuaWork).

#include <algorithm>

#include "lua/lua_state.h"

namespace mayfly {
namespace {

// ---- load ----

// To compile a byte takes longer than a step: in functions that are nested as deep as they may be,
// the name of a variable is compared with all names around it.
constexpr std::size_t kStepsOfByte = 32;
constexpr std::size_t kLoadPiece = 1024;

struct SourceText {
  std::string_view rest;
};

const char* next_piece(lua_State* lua, void* data, std::size_t* size) {
  auto& source = *static_cast<SourceText*>(data);
  *size = std::min(source.rest.size(), kLoadPiece);
  const char* const piece = source.rest.data();
  source.rest.remove_prefix(*size);
  LuaWork::of(lua).count(lua, *size * kStepsOfByte);
  return *size == 0 ? nullptr : piece;
}

// (text, name)
int compile_text(lua_State* lua) {
  return load_in_pieces(lua, text_at(lua, 1), text_at(lua, 2).data()) ? 1 : lua_error(lua);
}

// (text, name, environment). It compiles in a call without an error handler: lua_loadx() does not
// expect that the hook raises an error in a handler, and would leave the hook switched off.
int load_text(lua_State* lua) {
  luaL_checkstring(lua, 1);
  luaL_checkstring(lua, 2);
  lua_pushcfunction(lua, compile_text);
  lua_pushvalue(lua, 1);
  lua_pushvalue(lua, 2);
  if (lua_pcall(lua, 2, 1, 0) != 0) {
    lua_pushnil(lua);
    lua_insert(lua, -2);
    return 2;
  }
  lua_pushvalue(lua, 3);
  lua_setfenv(lua, -2);
  return 1;
}

// ---- collectgarbage ----

// All garbage, a step at a time. Garbage that is newer than the cycle under way is left to the next
// cycle.
int collect_garbage(lua_State* lua) {
  constexpr std::size_t kStepsOfCollection = 2000;
  LuaWork& work = LuaWork::of(lua);
  for (int cycle = 0; cycle < 2; ++cycle) {
    while (lua_gc(lua, LUA_GCSTEP, 0) == 0) work.count(lua, kStepsOfCollection);
  }
  lua_pushinteger(lua, 0);
  return 1;
}

// ---- tonumber ----

constexpr std::size_t kShortNumber = 4096;

// Without blanks at its ends.
std::string_view without_blanks(lua_State* lua, std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  LuaWork& work = LuaWork::of(lua);
  while (!text.empty() && kBlanks.find(text.front()) != kBlanks.npos) {
    text.remove_prefix(1);
    work.count(lua);
  }
  while (!text.empty() && kBlanks.find(text.back()) != kBlanks.npos) {
    text.remove_suffix(1);
    work.count(lua);
  }
  return text;
}

// The upvalue is LuaJIT's function.
int to_number(lua_State* lua) {
  luaL_checkany(lua, 1);
  const bool has_base = !lua_isnoneornil(lua, 2);
  if (lua_type(lua, 1) == LUA_TSTRING && lua_objlen(lua, 1) > kShortNumber) {
    const std::string_view text = without_blanks(lua, text_at(lua, 1));
    if (text.size() > kNumberTextMost) {
      lua_pushnil(lua);
      return 1;
    }
    push_text(lua, text);
    lua_replace(lua, 1);
  }
  if (has_base) {
    const lua_Integer base = checked_integer(lua, 2);
    luaL_argcheck(lua, base >= 2 && base <= 36, 2, "base out of range");
    if (base != 10) luaL_checkstring(lua, 1);
  } else {
    lua_settop(lua, 1);
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

}  // namespace

bool load_in_pieces(lua_State* lua, std::string_view code, const char* name) {
  SourceText source{code};
  return lua_loadx(lua, next_piece, &source, name, "t") == 0;
}

void push_load(lua_State* lua) { lua_pushcfunction(lua, load_text); }

void push_collect(lua_State* lua) { lua_pushcfunction(lua, collect_garbage); }

void push_to_number(lua_State* lua) {
  lua_getglobal(lua, "tonumber");
  lua_pushcclosure(lua, to_number, 1);
}

}  // namespace mayfly
