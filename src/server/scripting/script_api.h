// SPDX-License-Identifier: Apache-2.0
// ScriptApi: the functions of redis.* and server.*, as Lua calls them.

#pragma once

#include "lua/lua_api.h"

namespace mayfly {

class ScriptEngine;

struct ScriptApi {
  static int call(lua_State* lua);
  static int pcall(lua_State* lua);
  static int error_reply(lua_State* lua);
  static int status_reply(lua_State* lua);
  static int sha1hex(lua_State* lua);
  static int log(lua_State* lua);
  static int setresp(lua_State* lua);
  static int set_repl(lua_State* lua);
  static int replicate_commands(lua_State* lua);
  static int acl_check_cmd(lua_State* lua);
  static int breakpoint(lua_State* lua);
  static int random(lua_State* lua);
  static int randomseed(lua_State* lua);
  static int lua_pcall_text(lua_State* lua);  // pcall(), whose errors are texts
  static void interrupt(lua_State* lua, lua_Debug* where);

  static ScriptEngine& engine(lua_State* lua);
};

}  // namespace mayfly
