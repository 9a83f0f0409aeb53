// SPDX-License-Identifier: Apache-2.0
// coroutine.resume and coroutine.wrap. Those of LuaJIT end the process when a coroutine resumes
// another, that one the next, and so on, until the C stack is full; here that is an error.

#include "lua/c_stack.h"
#include "lua/lua_api.h"
#include "lua/lua_state.h"

namespace mayfly {
namespace {

constexpr int kResumeFailed = -1;

// Why the coroutine cannot be resumed; null if it can.
const char* refusal(lua_State* lua, lua_State* thread) {
  if (thread == lua) return "cannot resume running coroutine";
  const int status = lua_status(thread);
  if (status == LUA_YIELD) return nullptr;
  if (status != 0) return "cannot resume dead coroutine";
  lua_Debug frame;
  if (lua_getstack(thread, 0, &frame) != 0) return "cannot resume normal coroutine";
  return lua_gettop(thread) == 0 ? "cannot resume dead coroutine" : nullptr;
}

// Resumes it with the values on the top. Pushes what it returns or yields and returns how many
// these are, or pushes the error and returns kResumeFailed.
int resume_with(lua_State* lua, lua_State* thread, int arguments) {
  const char* reason = refusal(lua, thread);
  if (reason == nullptr && !has_c_stack()) reason = "C stack overflow";
  if (reason == nullptr && lua_checkstack(thread, arguments) == 0) {
    reason = "too many arguments to resume";
  }
  if (reason != nullptr) {
    lua_pushstring(lua, reason);
    return kResumeFailed;
  }
  lua_xmove(lua, thread, arguments);
  const int status = lua_resume(thread, arguments);
  if (status != 0 && status != LUA_YIELD) {
    lua_xmove(thread, lua, 1);
    return kResumeFailed;
  }
  const int results = lua_gettop(thread);
  if (lua_checkstack(lua, results + 1) == 0) {
    lua_settop(thread, 0);
    lua_pushliteral(lua, "too many results to resume");
    return kResumeFailed;
  }
  lua_xmove(thread, lua, results);
  return results;
}

int coroutine_resume(lua_State* lua) {
  lua_State* const thread = lua_tothread(lua, 1);
  luaL_argcheck(lua, thread != nullptr, 1, "coroutine expected");
  const int results = resume_with(lua, thread, lua_gettop(lua) - 1);
  const int returned = results == kResumeFailed ? 1 : results;
  lua_pushboolean(lua, results == kResumeFailed ? 0 : 1);
  lua_insert(lua, -(returned + 1));
  return returned + 1;
}

int call_wrapped(lua_State* lua) {
  lua_State* const thread = lua_tothread(lua, lua_upvalueindex(1));
  const int results = resume_with(lua, thread, lua_gettop(lua));
  if (results != kResumeFailed) return results;
  if (lua_isstring(lua, -1) != 0) {
    luaL_where(lua, 1);
    lua_insert(lua, -2);
    lua_concat(lua, 2);
  }
  return lua_error(lua);
}

int coroutine_wrap(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  lua_State* const thread = lua_newthread(lua);
  lua_pushvalue(lua, 1);
  lua_xmove(lua, thread, 1);
  lua_pushcclosure(lua, call_wrapped, 1);
  return 1;
}

}  // namespace

void replace_coroutines(lua_State* lua) {
  lua_pushcfunction(lua, coroutine_resume);
  lua_setfield(lua, -2, "resume");
  lua_pushcfunction(lua, coroutine_wrap);
  lua_setfield(lua, -2, "wrap");
}

}  // namespace mayfly
