// SPDX-License-Identifier: Apache-2.0
#include "server/scripting/script_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/version.h"
#include "lua/sha1.h"
#include "server/scripting/script_engine.h"

namespace mayfly {
namespace {

// redis.log()'s levels, and redis.set_repl()'s flags.
constexpr int kLogDebug = 0;
constexpr int kLogWarning = 3;
constexpr int kReplicateAof = propagate_to::aof;
constexpr int kReplicateReplicas = propagate_to::replicas;

constexpr std::size_t kLogSteps = 16;                      // to write a byte to the log
constexpr std::size_t kHashSteps = 4;                      // of work, to hash a byte
constexpr std::size_t kLoggedMost = std::size_t{1} << 20;  // bytes of a line of redis.log()

struct ScriptNumber {
  const char* name;
  int value;
};
constexpr ScriptNumber kNumbers[] = {
    {"LOG_DEBUG", kLogDebug},
    {"LOG_VERBOSE", 1},
    {"LOG_NOTICE", 2},
    {"LOG_WARNING", kLogWarning},
    {"REPL_NONE", 0},
    {"REPL_AOF", kReplicateAof},
    {"REPL_SLAVE", kReplicateReplicas},
    {"REPL_REPLICA", kReplicateReplicas},
    {"REPL_ALL", kReplicateAof | kReplicateReplicas},
};

// The only argument, a text, as the field of a table; an error table if it is something else.
int single_field(lua_State* lua, const char* name) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments");
    return 1;
  }
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, name);
  return 1;
}

// 0x00MMmmpp
double version_number(std::string_view text) {
  int parts[3] = {};
  std::size_t part = 0;
  for (const char c : text) {
    if (c == '.' && ++part == 3) break;
    if (c >= '0' && c <= '9') parts[part] = parts[part] * 10 + (c - '0');
  }
  return parts[0] << 16 | parts[1] << 8 | parts[2];
}

}  // namespace

ScriptEngine& ScriptApi::engine(lua_State* lua) {
  lua_pushlightuserdata(lua, const_cast<char*>("mayfly.engine"));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  auto* const engine = static_cast<ScriptEngine*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *engine;
}

int ScriptApi::call(lua_State* lua) {
  auto* const engine = static_cast<ScriptEngine*>(lua_touserdata(lua, lua_upvalueindex(1)));
  return engine->call_command(lua, true);
}

int ScriptApi::pcall(lua_State* lua) {
  auto* const engine = static_cast<ScriptEngine*>(lua_touserdata(lua, lua_upvalueindex(1)));
  return engine->call_command(lua, false);
}

int ScriptApi::error_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments");
    return 1;
  }
  std::string text(text_at(lua, 1).substr(0, kScriptLineMost));
  if (!text.starts_with('-')) text.insert(0, 1, '-');
  push_error(lua, text);
  return 1;
}

int ScriptApi::status_reply(lua_State* lua) { return single_field(lua, "ok"); }

int ScriptApi::sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise_error(lua, "wrong number of arguments");
  const std::string_view text = lua_isstring(lua, 1) != 0 ? text_at(lua, 1) : std::string_view();
  LuaWork& work = LuaWork::of(lua);
  push_text(lua, sha1_hex(text, [&](std::size_t bytes) { work.count(lua, kHashSteps * bytes); }));
  return 1;
}

int ScriptApi::log(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count < 2) return raise_error(lua, "server.log() requires two arguments or more.");
  if (!is_number(lua, 1)) {
    return raise_error(lua, "First argument must be a number (log level).");
  }
  const auto level = static_cast<int>(lua_tonumber(lua, 1));
  if (level < kLogDebug || level > kLogWarning) return raise_error(lua, "Invalid log level.");
  std::string text;
  for (int i = 2; i <= count; ++i) {
    if (lua_isstring(lua, i) == 0) continue;
    if (!text.empty()) text += ' ';
    text += text_at(lua, i).substr(0, kLoggedMost - std::min(kLoggedMost, text.size()));
  }
  LuaWork::of(lua).count(lua, kLogSteps * text.size());
  static constexpr Level kLevels[] = {Level::debug, Level::verbose, Level::notice, Level::warning};
  engine(lua).parts_.log.write(kLevels[level], text);
  return 0;
}

int ScriptApi::setresp(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise_error(lua, "server.setresp() requires one argument.");
  const auto protocol = is_number(lua, 1) ? static_cast<int>(lua_tonumber(lua, 1)) : 0;
  if (protocol != 2 && protocol != 3) return raise_error(lua, "RESP version must be 2 or 3.");
  if (ScriptRun* const run = engine(lua).run_) run->protocol = protocol;
  return 0;
}

int ScriptApi::set_repl(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise_error(lua, "server.set_repl() requires one argument.");
  const auto flags = is_number(lua, 1) ? static_cast<int>(lua_tonumber(lua, 1)) : 0;
  if ((flags & ~(kReplicateAof | kReplicateReplicas)) != 0) {
    return raise_error(
        lua, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
  }
  if (ScriptRun* const run = engine(lua).run_) run->targets = static_cast<unsigned>(flags);
  return 0;
}

int ScriptApi::replicate_commands(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

// There is one user, who may do all.
int ScriptApi::acl_check_cmd(lua_State* lua) {
  ScriptEngine& here = engine(lua);
  if (lua_gettop(lua) == 0 || !here.words_.read(lua)) {
    return raise_error(lua,
                       "Please specify at least one argument for this redis.acl_check_cmd() "
                       "call");
  }
  const Words words = here.words_.words();
  const Command* const found = here.parts_.commands.find(words[0]);
  if (found == nullptr || here.parts_.commands.resolve(*found, words) == nullptr) {
    return raise_error(lua, "Invalid command passed to server.acl_check_cmd()");
  }
  lua_pushboolean(lua, 1);
  return 1;
}

// There is no debugger, so there is never a break.
int ScriptApi::breakpoint(lua_State* lua) {
  lua_pushboolean(lua, 0);
  return 1;
}

int ScriptApi::lua_pcall_text(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (::lua_pcall(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0) == 0) return lua_gettop(lua);
  if (lua_istable(lua, -1)) {
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
    if (lua_isstring(lua, -1) != 0) {
      lua_replace(lua, -2);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushboolean(lua, 0);
  lua_replace(lua, 1);
  return lua_gettop(lua);
}

void ScriptApi::interrupt(lua_State* lua, lua_Debug*) { engine(lua).interrupt(lua); }

void ScriptEngine::add_api() {
  lua_State* const lua = lua_->get();
  lua_pushlightuserdata(lua, const_cast<char*>("mayfly.engine"));
  lua_pushlightuserdata(lua, this);
  lua_rawset(lua, LUA_REGISTRYINDEX);

  lua_newtable(lua);
  const auto add = [&](const char* name, lua_CFunction function) {
    lua_pushlightuserdata(lua, this);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  };
  add("call", ScriptApi::call);
  add("pcall", ScriptApi::pcall);
  add("error_reply", ScriptApi::error_reply);
  add("status_reply", ScriptApi::status_reply);
  add("sha1hex", ScriptApi::sha1hex);
  add("log", ScriptApi::log);
  add("setresp", ScriptApi::setresp);
  add("set_repl", ScriptApi::set_repl);
  add("acl_check_cmd", ScriptApi::acl_check_cmd);
  if (kind_ == ScriptKind::script) {
    add("replicate_commands", ScriptApi::replicate_commands);
    add("breakpoint", ScriptApi::breakpoint);
    add("debug", ScriptApi::breakpoint);
  }
  for (const ScriptNumber& number : kNumbers) {
    lua_pushnumber(lua, number.value);
    lua_setfield(lua, -2, number.name);
  }
  const auto add_version = [&](const char* name, const char* number_name, std::string_view text) {
    push_text(lua, text);
    lua_setfield(lua, -2, name);
    lua_pushnumber(lua, version_number(text));
    lua_setfield(lua, -2, number_name);
  };
  add_version("REDIS_VERSION", "REDIS_VERSION_NUM", kCompatibleVersion);
  add_version("VALKEY_VERSION", "VALKEY_VERSION_NUM", kCompatibleVersion);
  push_text(lua, "mayfly");
  lua_setfield(lua, -2, "SERVER_NAME");
  lua_->freeze();
  lua_pushvalue(lua, -1);
  lua_->set_global("redis");
  lua_->set_global("server");

  lua_pushcfunction(lua, ScriptApi::lua_pcall_text);
  lua_->set_global("pcall");
}

}  // namespace mayfly
