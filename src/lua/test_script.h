// SPDX-License-Identifier: Apache-2.0
// TestScript: runs scripts as a server does, for the tests of this module.

#pragma once

#include <string>
#include <string_view>

#include "lua/lua_replies.h"
#include "lua/lua_state.h"

namespace mayfly {

class TestScript {
 public:
  explicit TestScript(const LuaOptions& options = {}) : state_(options) {}

  LuaState& state() { return state_; }

  // What the script returns, as a reply in RESP3 without the last line end; "error: " and the text
  // if it raises one.
  std::string run(std::string_view code, int script_protocol = 2, int reply_protocol = 3) {
    lua_State* const lua = state_.get();
    const LuaStackGuard guard(lua);
    if (const Status status = state_.load(code, "@user_script"); !status) {
      return "no script: " + status.error().message;
    }
    state_.limit_memory(true);
    const int failed = lua_pcall(lua, 0, 1, 0);
    state_.limit_memory(false);
    if (failed != 0) {
      return "error: " + std::string(lua_isstring(lua, -1) != 0 ? text_at(lua, -1) : "(no text)");
    }
    std::string out;
    Reply reply(out, reply_protocol);
    write_reply(lua, reply, script_protocol);
    out.resize(out.size() - 2);
    return out;
  }

  // The text or number that the script returns, or its error.
  std::string text(std::string_view code) {
    const std::string reply = run(code);
    if (reply.starts_with(':')) return reply.substr(1);
    return reply.starts_with('$') ? reply.substr(reply.find('\n') + 1) : reply;
  }

  // As run(), but the script is killed at the hook's n-th call. From then on each of its lines is
  // an error, so that it cannot go on after a pcall().
  std::string run_killed(std::string_view code, int hook_calls = 3) {
    calls_left() = hook_calls;
    state_.interrupt_every(1000, kill);
    std::string result = run(code);
    state_.interrupt_every(0, nullptr);
    return result;
  }

 private:
  static int& calls_left() {
    static thread_local int left = 0;
    return left;
  }
  static void kill(lua_State* lua, lua_Debug*) {
    if (--calls_left() > 0) return;
    lua_sethook(lua, kill, LUA_MASKLINE | LUA_MASKCOUNT, 1);
    lua_pushliteral(lua, "killed");
    lua_error(lua);
  }

  LuaState state_;
};

}  // namespace mayfly
