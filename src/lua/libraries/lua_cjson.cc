// SPDX-License-Identifier: Apache-2.0
#include "lua/libraries/lua_cjson.h"

#include <climits>
#include <new>

#include "lua/lua_state.h"

namespace mayfly {
namespace {

constexpr const char* kOffOn[] = {"off", "on", nullptr};
constexpr const char* kOffOnNull[] = {"off", "on", "null", nullptr};
constexpr int kPrecisionMost = 14;

JsonOptions& options_of(lua_State* lua) {
  return *static_cast<JsonOptions*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

// The options, if there are at most so many arguments; missing ones become nil.
JsonOptions& options_for(lua_State* lua, int arguments) {
  luaL_argcheck(lua, lua_gettop(lua) <= arguments, arguments + 1, "found too many arguments");
  lua_settop(lua, arguments);
  return options_of(lua);
}

// Sets the setting to the argument unless that is nil, and pushes what it is.
void set_number(lua_State* lua, int argument, int& setting, int least, int most) {
  if (!lua_isnil(lua, argument)) {
    const lua_Integer value = checked_integer(lua, argument);
    if (value < least || value > most) {
      lua_pushfstring(lua, "expected integer between %d and %d", least, most);
      luaL_argerror(lua, argument, lua_tostring(lua, -1));
    }
    setting = static_cast<int>(value);
  }
  lua_pushinteger(lua, setting);
}

void set_choice(lua_State* lua, int argument, int& setting, const char* const* names) {
  if (lua_isboolean(lua, argument)) {
    setting = lua_toboolean(lua, argument);
  } else if (!lua_isnil(lua, argument)) {
    setting = luaL_checkoption(lua, argument, nullptr, names);
  }
  if (setting <= 1) {
    lua_pushboolean(lua, setting);
  } else {
    lua_pushstring(lua, names[setting]);
  }
}

int set_sparse_array(lua_State* lua) {
  JsonOptions& options = options_for(lua, 3);
  set_choice(lua, 1, options.sparse_convert, kOffOn);
  set_number(lua, 2, options.sparse_ratio, 0, INT_MAX);
  set_number(lua, 3, options.sparse_safe, 0, INT_MAX);
  return 3;
}

int set_encode_depth(lua_State* lua) {
  set_number(lua, 1, options_for(lua, 1).encode_depth_most, 1, INT_MAX);
  return 1;
}

int set_decode_depth(lua_State* lua) {
  set_number(lua, 1, options_for(lua, 1).decode_depth_most, 1, INT_MAX);
  return 1;
}

int set_precision(lua_State* lua) {
  set_number(lua, 1, options_for(lua, 1).precision, 1, kPrecisionMost);
  return 1;
}

// There is no buffer to keep; the setting is only remembered.
int set_keep_buffer(lua_State* lua) {
  set_choice(lua, 1, options_for(lua, 1).keep_buffer, kOffOn);
  return 1;
}

int set_encode_invalid(lua_State* lua) {
  set_choice(lua, 1, options_for(lua, 1).encode_invalid, kOffOnNull);
  return 1;
}

int set_decode_invalid(lua_State* lua) {
  set_choice(lua, 1, options_for(lua, 1).decode_invalid, kOffOn);
  return 1;
}

int cjson_encode(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  encode_json(lua, 1, options_of(lua));
  return 1;
}

int cjson_decode(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  luaL_checkstring(lua, 1);
  decode_json(lua, text_at(lua, 1), options_of(lua));
  return 1;
}

int cjson_new(lua_State* lua) {
  push_cjson(lua);
  return 1;
}

}  // namespace

void push_cjson(lua_State* lua) {
  static constexpr luaL_Reg kFunctions[] = {{"encode", cjson_encode},
                                            {"decode", cjson_decode},
                                            {"encode_sparse_array", set_sparse_array},
                                            {"encode_max_depth", set_encode_depth},
                                            {"decode_max_depth", set_decode_depth},
                                            {"encode_number_precision", set_precision},
                                            {"encode_keep_buffer", set_keep_buffer},
                                            {"encode_invalid_numbers", set_encode_invalid},
                                            {"decode_invalid_numbers", set_decode_invalid},
                                            {"new", cjson_new}};
  lua_newtable(lua);
  new (lua_newuserdata(lua, sizeof(JsonOptions))) JsonOptions;
  for (const luaL_Reg& function : kFunctions) {
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, function.func, 1);
    lua_setfield(lua, -3, function.name);
  }
  lua_pop(lua, 1);
  lua_pushlightuserdata(lua, nullptr);
  lua_setfield(lua, -2, "null");
  push_text(lua, "cjson");
  lua_setfield(lua, -2, "_NAME");
  push_text(lua, "2.1.0");
  lua_setfield(lua, -2, "_VERSION");
}

}  // namespace mayfly
