// SPDX-License-Identifier: Apache-2.0
#include "server/scripting/functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"
#include "lua/lua_alarm.h"
#include "mayfly/internal/stopwatch.h"
#include "server/scripting/scripting.h"
#include "server/scripting/tail_calls.h"

namespace mayfly {
namespace {

constexpr std::int64_t kLoadMillisMost = 500;  // that the code of a library may run

// The library under way, for register_function().
struct LibraryLoad {
  Library* library;
  std::int64_t began_ns;
};
LibraryLoad* current_load = nullptr;

bool is_function_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_load_time(lua_State* lua, lua_Debug*) {
  if (current_load == nullptr) return;
  const std::int64_t ms = (monotonic_ns() - current_load->began_ns) / 1'000'000;
  if (ms < kLoadMillisMost) return LuaAlarm::again();
  LuaAlarm::release();
  lua_sethook(lua, check_load_time, LUA_MASKLINE | LUA_MASKCOUNT, 1);
  raise_error(lua, "FUNCTION LOAD timeout");
}

// ---- register_function ----

// The flags in the table on the top; nothing if one is unknown.
std::optional<std::uint32_t> read_flag_table(lua_State* lua) {
  std::uint32_t flags = 0;
  for (int i = 1;; ++i) {
    lua_rawgeti(lua, -1, i);
    const int type = lua_type(lua, -1);
    const auto flag =
        type == LUA_TSTRING ? parse_script_flag(text_at(lua, -1)) : std::optional<std::uint32_t>();
    lua_pop(lua, 1);
    if (type == LUA_TNIL) return flags;
    if (!flag) return std::nullopt;
    flags |= *flag;
  }
}

// A named argument, whose value is on the top. Empty, or what is wrong.
std::string_view read_named(lua_State* lua, std::string_view name, Function& function) {
  const int type = lua_type(lua, -1);
  if (equals(name, "function_name")) {
    if (type != LUA_TSTRING) {
      return "function_name argument given to server.register_function must be a string";
    }
    function.name = text_at(lua, -1);
  } else if (equals(name, "description")) {
    if (type != LUA_TSTRING) {
      return "description argument given to server.register_function must be a string";
    }
    function.description = text_at(lua, -1);
  } else if (equals(name, "callback")) {
    if (type != LUA_TFUNCTION) {
      return "callback argument given to server.register_function must be a function";
    }
    lua_pushvalue(lua, -1);
    function.callback = luaL_ref(lua, LUA_REGISTRYINDEX);
  } else if (equals(name, "flags")) {
    if (type != LUA_TTABLE) {
      return "flags argument to server.register_function must be a table representing function "
             "flags";
    }
    const std::optional<std::uint32_t> flags = read_flag_table(lua);
    if (!flags) return "unknown flag given";
    function.flags = *flags;
  } else {
    return "unknown argument given to server.register_function";
  }
  return {};
}

std::string_view read_named_arguments(lua_State* lua, Function& function) {
  if (!lua_istable(lua, 1)) {
    return "calling server.register_function with a single argument is only applicable to Lua "
           "table (representing named arguments).";
  }
  lua_pushnil(lua);
  while (lua_next(lua, 1) != 0) {
    if (lua_type(lua, -2) != LUA_TSTRING) {
      return "named argument key given to server.register_function is not a string";
    }
    const std::string_view wrong = read_named(lua, text_at(lua, -2), function);
    if (!wrong.empty()) return wrong;
    lua_pop(lua, 1);
  }
  if (function.name.empty()) return "server.register_function must get a function name argument";
  if (function.callback == 0) return "server.register_function must get a callback argument";
  return {};
}

std::string_view read_arguments(lua_State* lua, Function& function) {
  if (lua_gettop(lua) == 1) return read_named_arguments(lua, function);
  if (lua_type(lua, 1) != LUA_TSTRING) {
    return "first argument to server.register_function must be a string";
  }
  if (lua_type(lua, 2) != LUA_TFUNCTION) {
    return "second argument to server.register_function must be a function";
  }
  function.name = text_at(lua, 1);
  lua_pushvalue(lua, 2);
  function.callback = luaL_ref(lua, LUA_REGISTRYINDEX);
  return {};
}

int register_function(lua_State* lua) {
  if (lua_gettop(lua) < 1 || lua_gettop(lua) > 2) {
    return raise_error(lua, "wrong number of arguments to server.register_function");
  }
  if (current_load == nullptr) {
    return raise_error(lua, "server.register_function can only be called on FUNCTION LOAD command");
  }
  Library& library = *current_load->library;
  Function function;
  std::string_view wrong = read_arguments(lua, function);
  if (wrong.empty() && !is_function_name(function.name)) {
    wrong =
        "Function names can only contain letters, numbers, or underscores(_) and must be at "
        "least one character long";
  }
  if (wrong.empty() && library.functions.contains(function.name)) {
    wrong = "Function already exists in the library";
  }
  if (wrong.empty()) {
    function.library = &library;
    std::string name = function.name;
    library.functions.emplace(std::move(name), std::move(function));
    return 0;
  }
  if (function.callback != 0) luaL_unref(lua, LUA_REGISTRYINDEX, function.callback);
  return raise_error(lua, wrong);
}

// What the code of a library sees while it is loaded: the functions of Lua that do no harm, and the
// part of redis.* that needs no run. Pushes its table of globals.
void push_load_globals(LuaState& state) {
  static constexpr const char* kShown[] = {
      "log",           "LOG_DEBUG",   "LOG_VERBOSE",    "LOG_NOTICE",        "LOG_WARNING",
      "REDIS_VERSION", "SERVER_NAME", "VALKEY_VERSION", "REDIS_VERSION_NUM", "VALKEY_VERSION_NUM"};
  lua_State* const lua = state.get();
  lua_newtable(lua);  // the globals
  lua_newtable(lua);  // redis
  state.push_environment();
  lua_getfield(lua, -1, "redis");
  for (const char* const name : kShown) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -4, name);
  }
  lua_pop(lua, 2);
  lua_pushcfunction(lua, register_function);
  lua_setfield(lua, -2, "register_function");
  state.set_missing_error();  // of a field that is not there
  state.freeze();
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "redis");
  lua_setfield(lua, -2, "server");
  state.set_missing_error();
}

}  // namespace

Functions::Functions(const ServerParts& parts) : parts_(parts) {}

Functions::~Functions() = default;

ScriptEngine& Functions::engine() {
  if (engine_ == nullptr) engine_ = std::make_unique<ScriptEngine>(parts_, ScriptKind::function);
  return *engine_;
}

const Function* Functions::find(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

std::optional<std::uint32_t> Functions::flags_of(std::string_view name) const {
  const Function* const function = find(name);
  if (function == nullptr) return std::nullopt;
  return function->flags;
}

std::vector<std::string> Functions::codes() const {
  std::vector<std::string> codes;
  for (const auto& [name, library] : libraries_) codes.push_back(library->code);
  return codes;
}

std::size_t Functions::code_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, library] : libraries_) bytes += library->code.size();
  return bytes;
}

// ---- Loading ----

Status Functions::run_library(Library& library, std::string_view body) {
  LuaState& state = engine().lua();
  lua_State* const lua = state.get();
  const LuaStackGuard guard(lua);
  state.push_environment();
  push_load_globals(state);
  state.set_environment_source(-2);

  LibraryLoad load{&library, monotonic_ns()};
  current_load = &load;
  state.interrupt_every(LuaAlarm::kInstructions, check_load_time);
  LuaAlarm::watch(state, check_load_time);
  state.set_memory_most(parts_.config.lua_memory_limit);
  state.limit_memory(true);
  const Status compiled = state.load(without_tail_calls(body), "@user_function");
  int failed = 0;
  if (compiled) {
    lua_pushvalue(lua, -2);  // the environment stays below
    lua_setfenv(lua, -2);
    failed = lua_pcall(lua, 0, 0, 0);
  }
  LuaAlarm::release();
  state.limit_memory(false);
  engine().watch_time();
  current_load = nullptr;
  if (!compiled) {
    return Error{Code::invalid, "Error compiling function: " + compiled.error().message};
  }
  if (failed != 0) {
    std::string text = "ERR unknown error";
    if (lua_istable(lua, -1)) {
      lua_pushliteral(lua, "err");
      lua_rawget(lua, -2);
      if (lua_isstring(lua, -1) != 0) text = text_at(lua, -1);
    } else if (lua_isstring(lua, -1) != 0) {
      text = fmt::format("ERR {}", text_at(lua, -1));
    }
    return Error{Code::invalid, "Error registering functions: " + text};
  }
  state.push_globals();
  state.set_environment_source(-2);  // from now on its functions see all
  return Done{};
}

Result<std::string> Functions::load(std::string_view code, bool replaces) {
  std::string_view body = code;
  const Result<Shebang> shebang = take_shebang(body, true);
  if (!shebang) return shebang.error();
  const auto old = libraries_.find(shebang->name);
  if (old != libraries_.end() && !replaces) {
    return Error{Code::invalid, fmt::format("Library '{}' already exists", shebang->name)};
  }
  auto library = std::make_unique<Library>();
  library->name = shebang->name;
  library->code = code;
  Status status = run_library(*library, body);
  if (status && library->functions.empty()) {
    status = Error{Code::invalid, "No functions registered"};
  }
  for (const auto& [name, function] : library->functions) {
    const Function* const other = find(name);
    if (status && other != nullptr && other->library->name != library->name) {
      status = Error{Code::invalid, fmt::format("Function {} already exists", name)};
    }
  }
  if (!status) {
    forget(*library);
    return status.error();
  }
  if (old != libraries_.end()) erase(shebang->name);
  for (const auto& [name, function] : library->functions) functions_.emplace(name, &function);
  libraries_.emplace(shebang->name, std::move(library));
  return shebang->name;
}

void Functions::forget(const Library& library) {
  for (const auto& [name, function] : library.functions) engine().forget(function.callback);
}

bool Functions::erase(std::string_view name) {
  const auto found = libraries_.find(name);
  if (found == libraries_.end()) return false;
  for (const auto& [function, unused] : found->second->functions) functions_.erase(function);
  forget(*found->second);
  libraries_.erase(found);
  return true;
}

// All is tried in another Lua state first. Libraries that stay keep what they have in theirs.
Status Functions::restore(const std::vector<std::string>& codes, bool flushes, bool replaces) {
  Functions tried(parts_);
  const auto load_into = [](Functions& set, const std::vector<std::string>& some, bool over) {
    for (const std::string& code : some) {
      const Result<std::string> loaded = set.load(code, over);
      if (!loaded) return Status(loaded.error());
    }
    return Status(Done{});
  };
  Status status = flushes ? Status(Done{}) : load_into(tried, this->codes(), false);
  if (status) status = load_into(tried, codes, replaces);
  if (!status) {
    Error error = status.error();
    std::erase(error.message, '\'');  // names stand without quotes here
    return error;
  }
  if (!flushes && load_into(*this, codes, replaces)) return Done{};
  engine_.swap(tried.engine_);
  libraries_.swap(tried.libraries_);
  functions_.swap(tried.functions_);
  return Done{};
}

void Functions::flush() {
  functions_.clear();
  libraries_.clear();
  engine_.reset();
}

void Functions::rebuild() {
  const Libraries before = std::exchange(libraries_, {});
  functions_.clear();
  engine_.reset();
  for (const auto& [name, library] : before) {
    const Result<std::string> loaded = load(library->code, false);
    if (!loaded) parts_.log.warning("Library '{}' is lost: {}", name, loaded.error().message);
  }
}

}  // namespace mayfly
