// SPDX-License-Identifier: Apache-2.0
// math.random and math.randomseed, with the generator that scripts of this kind of server always
// had (lrand48 of POSIX): after the same seed, they get the same numbers everywhere.

#include <cmath>
#include <cstdint>
#include <new>

#include "lua/lua_api.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

struct Rand48 {
  std::uint64_t state = 0x1234ABCD330E;

  void seed(std::int32_t with) {
    state = std::uint64_t{static_cast<std::uint32_t>(with)} << 16 | 0x330E;
  }
  // 31 bits.
  std::uint32_t next() {
    state = (state * 0x5DEECE66D + 0xB) & 0xFFFFFFFFFFFF;
    return static_cast<std::uint32_t>(state >> 17);
  }
};

Rand48& generator(lua_State* lua) {
  return *static_cast<Rand48*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

int math_random(lua_State* lua) {
  constexpr std::uint32_t kMost = INT32_MAX;
  const double part = static_cast<double>(generator(lua).next() % kMost) / kMost;
  const int arguments = lua_gettop(lua);
  if (arguments > 2) return luaL_error(lua, "wrong number of arguments");
  if (arguments == 0) {
    lua_pushnumber(lua, part);
    return 1;
  }
  const double low = arguments == 1 ? 1 : static_cast<int>(checked_integer(lua, 1));
  const double high = static_cast<int>(checked_integer(lua, arguments));
  luaL_argcheck(lua, low <= high, arguments, "interval is empty");
  lua_pushnumber(lua, std::floor(part * (high - low + 1)) + low);
  return 1;
}

int math_randomseed(lua_State* lua) {
  generator(lua).seed(static_cast<std::int32_t>(checked_integer(lua, 1)));
  return 0;
}

}  // namespace

void replace_random(lua_State* lua) {
  new (lua_newuserdata(lua, sizeof(Rand48))) Rand48;
  lua_pushvalue(lua, -1);
  lua_pushcclosure(lua, math_random, 1);
  lua_setfield(lua, -3, "random");
  lua_pushcclosure(lua, math_randomseed, 1);
  lua_setfield(lua, -2, "randomseed");
}

}  // namespace mayfly
