// SPDX-License-Identifier: Apache-2.0
// table.concat, table.sort, table.maxn and table.insert with a position, which can be interrupted
// (see LuaWork).

#include <algorithm>
#include <climits>
#include <cstdint>

#include "lua/c_stack.h"
#include "lua/lua_bytes.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

int length_of(lua_State* lua, int table) { return static_cast<int>(lua_objlen(lua, table)); }

// ---- concat ----

int table_concat(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const std::string_view between =
      lua_isnoneornil(lua, 2) ? std::string_view() : checked_text(lua, 2);
  const lua_Integer first = optional_integer(lua, 3, 1);
  const lua_Integer last = optional_integer(lua, 4, length_of(lua, 1));
  luaL_checkstack(lua, 4, "too many values");
  LuaBytes out(lua);
  for (lua_Integer i = first; i <= last; ++i) {
    if (i > first) out.append(between);
    lua_rawgeti(lua, 1, static_cast<int>(i));
    if (lua_isstring(lua, -1) == 0) {
      return luaL_error(lua, "invalid value (%s) at index %d in table for 'concat'",
                        luaL_typename(lua, -1), static_cast<int>(i));
    }
    out.append(text_at(lua, -1));
    lua_pop(lua, 1);
    LuaWork::of(lua).count(lua);
  }
  out.push();
  return 1;
}

// ---- sort ----

// Merges runs of one table into longer ones of another, until one run is left. The script's table
// gets the result at the end: an error in between leaves it as it was. Equal values keep their
// order. A function that contradicts itself gives some order.
class TableSort {
 public:
  // The table is the first value on the stack, and the function, or nil, the second.
  TableSort(lua_State* lua, int count) : lua_(lua), work_(LuaWork::of(lua)), count_(count) {}

  void run() {
    // Of an even size, as its block is not taken for the fields of a table then.
    lua_createtable(lua_, count_ + count_ % 2, 0);
    lua_createtable(lua_, count_ + count_ % 2, 0);
    copy(kTable, kFirst);
    int from = kFirst;
    int to = kSecond;
    for (std::int64_t width = 1; width < count_; width *= 2) {
      for (std::int64_t begin = 1; begin <= count_; begin += 2 * width) {
        const std::int64_t middle = std::min<std::int64_t>(begin + width, count_ + 1);
        merge(from, to, begin, middle, std::min<std::int64_t>(begin + 2 * width, count_ + 1));
      }
      std::swap(from, to);
    }
    copy(from, kTable);
  }

 private:
  static constexpr int kTable = 1;
  static constexpr int kFunction = 2;
  static constexpr int kFirst = 3;
  static constexpr int kSecond = 4;
  static constexpr std::size_t kMoveSteps = 4;

  void copy(int from, int to) {
    for (int i = 1; i <= count_; ++i) {
      lua_rawgeti(lua_, from, i);
      lua_rawseti(lua_, to, i);
      work_.count(lua_, kMoveSteps);
    }
  }

  // Whether the value on the top is to come before the one below it.
  bool is_before() {
    if (lua_isnil(lua_, kFunction)) {
      if (lua_type(lua_, -1) == LUA_TSTRING && lua_type(lua_, -2) == LUA_TSTRING) {
        work_.count_copy(lua_, std::min(lua_objlen(lua_, -1), lua_objlen(lua_, -2)));
      }
      return lua_lessthan(lua_, -1, -2) != 0;
    }
    lua_pushvalue(lua_, kFunction);
    lua_pushvalue(lua_, -2);
    lua_pushvalue(lua_, -4);
    lua_call(lua_, 2, 1);
    const bool result = lua_toboolean(lua_, -1) != 0;
    lua_pop(lua_, 1);
    return result;
  }

  // [begin, middle) and [middle, end) of one table to [begin, end) of the other.
  void merge(int from, int to, std::int64_t begin, std::int64_t middle, std::int64_t end) {
    std::int64_t left = begin;
    std::int64_t right = middle;
    for (std::int64_t at = begin; at < end; ++at) {
      work_.count(lua_, kMoveSteps);
      bool takes_right = left == middle;
      if (left < middle && right < end) {
        lua_rawgeti(lua_, from, static_cast<int>(left));
        lua_rawgeti(lua_, from, static_cast<int>(right));
        takes_right = is_before();
        lua_pop(lua_, 2);
      }
      lua_rawgeti(lua_, from, static_cast<int>(takes_right ? right++ : left++));
      lua_rawseti(lua_, to, static_cast<int>(at));
    }
  }

  lua_State* lua_;
  LuaWork& work_;
  int count_;
};

int table_sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  const int count = length_of(lua, 1);
  if (count < 2) return 0;
  if (!has_c_stack()) return luaL_error(lua, "C stack overflow");
  luaL_checkstack(lua, 10, "too many values");
  TableSort(lua, count).run();
  return 0;
}

// ---- insert ----

// With a position, from which on many values are moved.
int table_insert(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const auto position =
      static_cast<int>(std::clamp<lua_Integer>(checked_integer(lua, 2), INT_MIN, INT_MAX));
  LuaWork& work = LuaWork::of(lua);
  for (int at = std::max(length_of(lua, 1) + 1, position); at > position; --at) {
    lua_rawgeti(lua, 1, at - 1);
    lua_rawseti(lua, 1, at);
    work.count(lua);
  }
  lua_pushvalue(lua, 3);
  lua_rawseti(lua, 1, position);
  return 0;
}

// ---- maxn ----

int table_maxn(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  double largest = 0;
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) == LUA_TNUMBER) largest = std::max(largest, lua_tonumber(lua, -1));
    LuaWork::of(lua).count(lua);
  }
  lua_pushnumber(lua, largest);
  return 1;
}

}  // namespace

void replace_table(lua_State* lua) {
  lua_pushcfunction(lua, table_concat);
  lua_setfield(lua, -2, "concat");
  lua_pushcfunction(lua, table_sort);
  lua_setfield(lua, -2, "sort");
  lua_pushcfunction(lua, table_maxn);
  lua_setfield(lua, -2, "maxn");
}

void push_insert(lua_State* lua) { lua_pushcfunction(lua, table_insert); }

}  // namespace mayfly
