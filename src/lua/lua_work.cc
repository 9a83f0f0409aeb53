// SPDX-License-Identifier: Apache-2.0
#include "lua/lua_work.h"

namespace mayfly {

LuaWork& LuaWork::of(lua_State* lua) {
  void* memory = nullptr;
  lua_getallocf(lua, &memory);
  return static_cast<LuaMemory*>(memory)->work;
}

void LuaWork::give_way(lua_State* lua) {
  largest_ = std::max(largest_, steps_);
  steps_ = 0;
  const lua_Hook hook = lua_gethook(lua);
  if (hook == nullptr) return;
  lua_Debug event{};
  event.event = LUA_HOOKCOUNT;
  hook(lua, &event);
}

}  // namespace mayfly
