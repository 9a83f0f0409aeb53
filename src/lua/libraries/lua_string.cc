// SPDX-License-Identifier: Apache-2.0
// string.find, match, gmatch and gsub, which can be interrupted (see LuaPattern).

#include <cctype>
#include <cstring>

#include "lua/c_stack.h"
#include "lua/libraries/lua_pattern.h"
#include "lua/lua_bytes.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

// Where a search begins, of a text of that size: from 1 on, or from the end if it is negative.
std::size_t search_begin(lua_State* lua, int argument, std::size_t size) {
  const lua_Integer given = optional_integer(lua, argument, 1);
  const auto length = static_cast<lua_Integer>(size);
  const lua_Integer begin = given < 0 ? given + length : given - 1;
  return static_cast<std::size_t>(std::clamp<lua_Integer>(begin, 0, length));
}

// Takes the ^ that ties a pattern to the begin.
bool take_anchor(std::string_view& pattern) {
  if (!pattern.starts_with('^')) return false;
  pattern.remove_prefix(1);
  return true;
}

// Whether both are the same; they have the same size.
bool is_same(lua_State* lua, LuaWork& work, std::string_view a, std::string_view b) {
  while (!a.empty()) {
    const std::size_t some = std::min(a.size(), LuaWork::kPiece);
    work.count(lua, some);
    if (a.substr(0, some) != b.substr(0, some)) return false;
    a.remove_prefix(some);
    b.remove_prefix(some);
  }
  return true;
}

// Where the wanted text begins, at or behind `begin`; npos if it is not there. The first part of a
// long one is searched in pieces of the text, and the rest is compared.
std::size_t find_text(lua_State* lua, std::string_view text, std::string_view wanted,
                      std::size_t begin) {
  constexpr std::size_t kSearchedMost = 4096;
  LuaWork& work = LuaWork::of(lua);
  const std::string_view head = wanted.substr(0, kSearchedMost);
  while (text.size() - begin >= wanted.size()) {
    const std::size_t some = std::min(text.size() - begin, LuaWork::kPiece + head.size());
    const void* const found = memmem(text.data() + begin, some, head.data(), head.size());
    if (found == nullptr) {
      work.count(lua, some);
      begin += some - head.size() + 1;
      continue;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    work.count(lua, at - begin + head.size());
    if (text.size() - at < wanted.size()) break;
    const std::string_view rest = wanted.substr(head.size());
    if (is_same(lua, work, text.substr(at + head.size(), rest.size()), rest)) return at;
    begin = at + 1;
  }
  return text.npos;
}

int find_plain(lua_State* lua, std::string_view text, std::string_view wanted, std::size_t begin) {
  const std::size_t at = find_text(lua, text, wanted, begin);
  if (at == text.npos) {
    lua_pushnil(lua);
    return 1;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(at + 1));
  lua_pushinteger(lua, static_cast<lua_Integer>(at + wanted.size()));
  return 2;
}

// Whether the pattern has no character with a meaning.
bool is_plain(lua_State* lua, std::string_view pattern) {
  constexpr std::string_view kSpecials = "^$*+?.([%-";
  bool has_special = false;
  LuaWork::of(lua).in_pieces(lua, pattern.size(), [&](std::size_t begin, std::size_t some) {
    for (const char c : pattern.substr(begin, some)) {
      has_special = has_special || kSpecials.find(c) != kSpecials.npos;
    }
  });
  return !has_special;
}

int find_match(lua_State* lua, bool is_find) {
  const std::string_view text = checked_text(lua, 1);
  std::string_view pattern = checked_text(lua, 2);
  const std::size_t begin = search_begin(lua, 3, text.size());
  if (is_find && (lua_toboolean(lua, 4) != 0 || is_plain(lua, pattern))) {
    return find_plain(lua, text, pattern, begin);
  }

  const bool is_anchored = take_anchor(pattern);
  LuaPattern matcher(lua, text, pattern);
  for (std::size_t at = begin; at <= text.size(); ++at) {
    const char* const from = text.data() + at;
    if (const char* const end = matcher.match(from)) {
      if (!is_find) return matcher.push_captures(from, end);
      lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
      lua_pushinteger(lua, end - text.data());
      return 2 + (matcher.captures() == 0 ? 0 : matcher.push_captures(from, end));
    }
    if (is_anchored) break;
  }
  lua_pushnil(lua);
  return 1;
}

int string_find(lua_State* lua) { return find_match(lua, true); }
int string_match(lua_State* lua) { return find_match(lua, false); }

// The next match; text, pattern and where to go on are upvalues.
int next_match(lua_State* lua) {
  const std::string_view text = text_at(lua, lua_upvalueindex(1));
  LuaPattern matcher(lua, text, text_at(lua, lua_upvalueindex(2)));
  auto at = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(3)));
  for (; at <= text.size(); ++at) {
    const char* const from = text.data() + at;
    const char* const end = matcher.match(from);
    if (end == nullptr) continue;
    lua_pushinteger(lua, end - text.data() + (end == from ? 1 : 0));
    lua_replace(lua, lua_upvalueindex(3));
    return matcher.push_captures(from, end);
  }
  return 0;
}

int string_gmatch(lua_State* lua) {
  checked_text(lua, 1);
  checked_text(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, next_match, 3);
  return 1;
}

// ---- gsub ----

// Adds the replacement text, in which %1 is a capture.
void add_text(lua_State* lua, LuaBytes& out, const LuaPattern& matcher, const char* from,
              const char* end) {
  const std::string_view text = text_at(lua, 3);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.append(text[i]);
      continue;
    }
    const char behind = ++i < text.size() ? text[i] : '\0';
    if (behind < '0' || behind > '9') {
      out.append(behind);
    } else if (behind == '0') {
      out.append(std::string_view(from, static_cast<std::size_t>(end - from)));
    } else {
      matcher.push_capture(behind - '1', from, end);
      out.append(text_at(lua, -1));
      lua_pop(lua, 1);
    }
  }
}

void add_replacement(lua_State* lua, LuaBytes& out, const LuaPattern& matcher, const char* from,
                     const char* end) {
  const int type = lua_type(lua, 3);
  if (type == LUA_TFUNCTION) {
    lua_pushvalue(lua, 3);
    lua_call(lua, matcher.push_captures(from, end), 1);
  } else if (type == LUA_TTABLE) {
    matcher.push_capture(0, from, end);
    lua_gettable(lua, 3);
  } else {
    return add_text(lua, out, matcher, from, end);
  }
  if (lua_toboolean(lua, -1) == 0) {
    out.append(std::string_view(from, static_cast<std::size_t>(end - from)));
  } else if (lua_isstring(lua, -1) != 0) {
    out.append(text_at(lua, -1));
  } else {
    luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  }
  lua_pop(lua, 1);
}

int string_gsub(lua_State* lua) {
  const std::string_view text = checked_text(lua, 1);
  std::string_view pattern = checked_text(lua, 2);
  const int type = lua_type(lua, 3);
  const bool calls = type == LUA_TFUNCTION || type == LUA_TTABLE;
  luaL_argcheck(lua, calls || type == LUA_TSTRING || type == LUA_TNUMBER, 3,
                "string/function/table expected");
  const lua_Integer most = optional_integer(lua, 4, static_cast<lua_Integer>(text.size()) + 1);
  if (calls && !has_c_stack()) return luaL_error(lua, "C stack overflow");
  luaL_checkstack(lua, 4, "too many values");

  const bool is_anchored = take_anchor(pattern);
  LuaPattern matcher(lua, text, pattern);
  LuaBytes out(lua);
  const char* at = text.data();
  const char* const last = at + text.size();
  lua_Integer count = 0;
  while (count < most) {
    const char* const end = matcher.match(at);
    if (end != nullptr) {
      ++count;
      add_replacement(lua, out, matcher, at, end);
    }
    if (end != nullptr && end > at) {
      at = end;
    } else if (at < last) {
      out.append(*at++);
    } else {
      break;
    }
    if (is_anchored) break;
  }
  out.append(std::string_view(at, static_cast<std::size_t>(last - at)));
  out.push();
  lua_pushinteger(lua, count);
  return 2;
}

}  // namespace

void replace_string(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {{"find", string_find},
                                            {"match", string_match},
                                            {"gmatch", string_gmatch},
                                            {"gsub", string_gsub},
                                            {nullptr, nullptr}};
  luaL_register(lua, nullptr, kFunctions);
}

}  // namespace mayfly
