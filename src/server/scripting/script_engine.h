// SPDX-License-Identifier: Apache-2.0
// ScriptEngine: a Lua interpreter whose scripts can call commands.
//
//   ScriptEngine engine(parts, events, ScriptKind::script);
//   Result<int> function = engine.compile(run, code, "@user_script");
//   engine.run(run, *function, keys, arguments, reply);
//
// While a script runs, time stands still, and what it writes is propagated as one unit, as that of
// a transaction is. Its commands are run by a client of its own, so that SELECT in a script changes
// nothing for the caller. If it runs for longer than busy-reply-threshold, other clients are served
// from within it: they get BUSY, but for the few commands that are allowed then.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lua/lua_replies.h"
#include "lua/lua_state.h"
#include "mayfly/result.h"
#include "resp/request.h"
#include "server/core/client.h"
#include "server/core/no_link.h"
#include "server/core/server_call.h"
#include "server/scripting/script_run.h"

namespace mayfly {

// Scripts get KEYS and ARGV as globals, functions as their arguments.
enum class ScriptKind { script, function };

class ScriptEngine {
 public:
  ScriptEngine(const ServerParts& parts, ScriptKind kind);
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  LuaState& lua() { return *lua_; }
  std::size_t bytes() const { return lua_->bytes(); }

  // A function in the registry of Lua, and freeing it. The message of an error is Lua's.
  // While it is compiled, it can be killed as one that runs. REQUIRES: no script runs.
  Result<int> compile(ScriptRun& run, std::string_view code, const char* chunk_name);
  void forget(int function) { luaL_unref(lua_->get(), LUA_REGISTRYINDEX, function); }

  // Runs the function and replies with its result, or with the error that ended it. REQUIRES: no
  // script runs.
  void run(ScriptRun& run, int function, Words keys, Words arguments, Reply& reply);

  // After code that ran with a hook of its own.
  void watch_time();

  // The run under way; null if there is none.
  ScriptRun* current() const { return run_; }

 private:
  friend struct ScriptApi;

  struct Invocation {
    ScriptEngine& engine;
    int function;
    Words keys;
    Words arguments;
  };

  void add_api();
  int call_command(lua_State* lua, bool raises);
  bool is_denied(const Command& command) const;
  bool push_refusal(lua_State* lua, const Command* found, const Command* command, Words words);
  void begin(ScriptRun& run);
  void clean_up(const ScriptRun& run);
  void end(ScriptRun& run);
  static int invoke(lua_State* lua);
  static void push_words(lua_State* lua, Words words);
  void forget_words(Words keys, Words arguments);
  void write_error();
  void interrupt(lua_State* lua);
  void serve_others();
  void warn_slow(std::int64_t elapsed_ms);
  void kill_lines();
  bool pause();

  const ServerParts& parts_;
  const ScriptKind kind_;
  NoLink link_;    // has the reply of a command
  Client client_;  // runs the commands
  std::unique_ptr<LuaState> lua_;
  int error_handler_ = 0;  // in the registry
  int invoker_ = 0;        // likewise: invoke()
  ScriptRun* run_ = nullptr;
  LuaWords words_;
  std::string written_;  // the reply of the run under way
  unsigned runs_ = 0;
};

}  // namespace mayfly
