// SPDX-License-Identifier: Apache-2.0
#include "server/scripting/script_engine.h"

#include <fmt/format.h>

#include "commands/words.h"
#include "lua/lua_alarm.h"
#include "mayfly/internal/stopwatch.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/replication/propagation.h"
#include "server/scripting/script_api.h"

namespace mayfly {
namespace {

constexpr unsigned kRunsToCollect = 50;  // after so many, some garbage is collected
constexpr int kCollectSteps = 4;
constexpr std::size_t kBytesKept = std::size_t{64} << 10;  // of words and replies, for the next run

// Adds where it happened to an error: the innermost function of the script.
constexpr std::string_view kErrorHandler = R"lua(
local getinfo, type, tostring = ...
return function(error)
  local level = 2
  local where = getinfo(level, 'Sl')
  while where and (where.what == 'C' or where.source == '@prelude') do
    level = level + 1
    where = getinfo(level, 'Sl')
  end
  if type(error) ~= 'table' then error = {err = 'ERR ' .. tostring(error)} end
  if where then
    error.source = where.source
    error.line = where.currentline
  end
  return error
end
)lua";

constexpr std::string_view kErrorCode = "ERR ";

void free_large(std::string& text) {
  if (text.capacity() <= kBytesKept) return;
  text.clear();
  text.shrink_to_fit();
}

std::string_view killed_text(ScriptKind kind) {
  return kind == ScriptKind::script ? "ERR Script killed by user with SCRIPT KILL."
                                    : "ERR Script killed by user with FUNCTION KILL.";
}

// In the table of an error that a command replied with: it is in the statistics already.
constexpr char kCountedField[] = "ignore_error_stats_update";

// Of the value on the top.
bool is_counted_error(lua_State* lua) {
  if (!lua_istable(lua, -1)) return false;
  lua_pushstring(lua, kCountedField);
  lua_rawget(lua, -2);
  const bool is_counted = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return is_counted;
}

int push_error_handler(lua_State* lua) {
  luaL_loadbuffer(lua, kErrorHandler.data(), kErrorHandler.size(), "@error_handler");
  lua_pushcfunction(lua, luaopen_debug);
  lua_call(lua, 0, 1);
  lua_getfield(lua, -1, "getinfo");
  lua_remove(lua, -2);
  lua_getglobal(lua, "type");
  lua_getglobal(lua, "tostring");
  lua_call(lua, 3, 1);
  return luaL_ref(lua, LUA_REGISTRYINDEX);
}

}  // namespace

ScriptEngine::ScriptEngine(const ServerParts& parts, ScriptKind kind)
    : parts_(parts),
      kind_(kind),
      link_("lua"),
      client_(parts.requests, link_, 0, parts.now, RequestLimits{}),
      lua_(std::make_unique<LuaState>(
          LuaOptions{.memory_most = parts.config.lua_memory_limit,
                     .insecure = parts.config.lua_enable_insecure_api})) {
  client_.set_authenticated(true);
  error_handler_ = push_error_handler(lua_->get());
  lua_pushcfunction(lua_->get(), invoke);
  invoker_ = luaL_ref(lua_->get(), LUA_REGISTRYINDEX);
  lua_->set_pause([](void* engine) { return static_cast<ScriptEngine*>(engine)->pause(); }, this);
  add_api();
  watch_time();
}

// The hook stays: to set it costs more than a short script.
void ScriptEngine::watch_time() {
  lua_->interrupt_every(LuaAlarm::kInstructions, ScriptApi::interrupt);
}

// From here to end() time is watched and memory is limited.
void ScriptEngine::begin(ScriptRun& run) {
  if (run.began_ns == 0) run.began_ns = monotonic_ns();
  run_ = &run;
  run.is_outermost = parts_.requests.begin_unit();
  lua_->set_memory_most(parts_.config.lua_memory_limit);
  LuaAlarm::watch(*lua_, ScriptApi::interrupt);
  lua_->collect_slowly();  // garbage of a killed script
  lua_->limit_memory(true);
}

// Others may be served here for the last time.
void ScriptEngine::clean_up(const ScriptRun& run) {
  lua_->lift_limit();
  if (!run.is_killed) lua_->collect_slowly();  // else the next script does, if there is one
  LuaAlarm::release();
  if (run.is_killed) watch_time();
  free_large(link_.output());
}

void ScriptEngine::end(ScriptRun& run) {
  if (run.is_abandoned) parts_.propagation.discard();
  parts_.requests.end_unit(run.caller, run.is_outermost, run.has_written);
  run_ = nullptr;
}

Result<int> ScriptEngine::compile(ScriptRun& run, std::string_view code, const char* chunk_name) {
  begin(run);
  const Status status = lua_->load(code, chunk_name);
  lua_->lift_limit();
  const int function = status ? luaL_ref(lua_->get(), LUA_REGISTRYINDEX) : LUA_NOREF;
  clean_up(run);
  end(run);
  if (!run.is_killed) return status ? Result<int>(function) : status.error();
  forget(function);
  return Error{Code::denied, std::string(killed_text(kind_).substr(kErrorCode.size()))};
}

void ScriptEngine::push_words(lua_State* lua, Words words) {
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    LuaWork::of(lua).count_copy(lua, words[i].size());
    push_text(lua, words[i]);
    lua_rawseti(lua, -2, static_cast<int>(i + 1));
  }
}

void ScriptEngine::run(ScriptRun& run, int function, Words keys, Words arguments, Reply& reply) {
  lua_State* const lua = lua_->get();
  const int top = lua_gettop(lua);
  client_.select(run.caller.database());
  client_.is_primary = run.caller.is_primary;
  client_.is_replay = run.caller.is_replay;
  client_.written = run.caller.written;  // for WAIT
  client_.options.no_touch = run.caller.options.no_touch;
  client_.options.is_import_source = run.caller.options.is_import_source;

  parts_.requests.show_script(run.caller, run.words);
  begin(run);
  written_.clear();
  Invocation invocation{*this, function, keys, arguments};
  lua_rawgeti(lua, LUA_REGISTRYINDEX, error_handler_);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, invoker_);
  lua_pushlightuserdata(lua, &invocation);
  const bool failed = lua_pcall(lua, 1, 1, top + 1) != 0;
  lua_->lift_limit();
  if (is_counted_error(lua)) parts_.requests.skip_error_count();
  if (failed) write_error();
  lua_settop(lua, top);
  forget_words(keys, arguments);
  clean_up(run);
  if (reply.out().empty() && written_.size() > kBytesKept) {
    reply.out().swap(written_);
  } else {
    reply.raw(written_);
  }
  free_large(written_);
  end(run);
  if (++runs_ % kRunsToCollect == 0) lua_gc(lua, LUA_GCSTEP, kCollectSteps);
}

// The part of a run that can raise an error of Lua, or call the hook, which may raise one: in a
// protected call. Returns the result of the script.
int ScriptEngine::invoke(lua_State* lua) {
  const Invocation& here = *static_cast<Invocation*>(lua_touserdata(lua, 1));
  ScriptEngine& engine = here.engine;
  const bool is_script = engine.kind_ == ScriptKind::script;
  lua_rawgeti(lua, LUA_REGISTRYINDEX, here.function);
  push_words(lua, here.keys);
  if (is_script) engine.lua_->set_global("KEYS");
  push_words(lua, here.arguments);
  if (is_script) engine.lua_->set_global("ARGV");
  lua_call(lua, is_script ? 0 : 2, 1);
  engine.lua_->lift_limit();
  // A table with many others in it takes long. It is not written to the output of the caller, which
  // must not have a part of it.
  Reply reply(engine.written_, engine.run_->caller.protocol());
  lua_pushvalue(lua, -1);
  write_reply(lua, reply, engine.run_->protocol);
  return 1;
}

// Large ones would stay until the next script sets others.
void ScriptEngine::forget_words(Words keys, Words arguments) {
  std::size_t bytes = 0;
  for (const Words words : {keys, arguments}) {
    for (const std::string_view word : words) bytes += word.size() + sizeof(word);
  }
  if (kind_ != ScriptKind::script || bytes <= kBytesKept) return;
  for (const char* const name : {"KEYS", "ARGV"}) {
    lua_pushnil(lua_->get());
    lua_->set_global(name);
  }
}

// The error is on the top: a table, or what Lua makes when it has no memory for one.
void ScriptEngine::write_error() {
  lua_State* const lua = lua_->get();
  written_.clear();
  Reply reply(written_, run_->caller.protocol());
  // A block of memory was refused because the script was to end.
  if (run_->is_killed && lua_isstring(lua, -1) != 0) return reply.error(killed_text(kind_));
  if (!lua_istable(lua, -1)) {
    const std::string_view text = lua_isstring(lua, -1) != 0 ? text_at(lua, -1) : "no reason given";
    return reply.error(fmt::format("ERR Error running script, {:.100}", text));
  }
  const auto field = [&](const char* of) {
    lua_pushstring(lua, of);
    lua_rawget(lua, -2);
    const std::string_view whole = lua_isstring(lua, -1) != 0 ? text_at(lua, -1) : "";
    std::string text(whole.substr(0, kScriptLineMost));
    lua_pop(lua, 1);
    return text;
  };
  std::string text = field("err");
  if (text.empty()) text = "ERR unknown error";
  const std::string source = field("source");
  const std::string line = field("line");
  if (!source.empty() && !line.empty()) {
    text += fmt::format(" script: on {}:{}.", source, line);
  }
  reply.error(text);
}

// ---- Commands ----

// A script never runs another, nor changes what is kept, whatever DEBUG allows.
bool ScriptEngine::is_denied(const Command& command) const {
  const bool is_marked = (command.flags & flag::noscript) != 0;
  return is_marked && (!parts_.config.allows_noscript || command.group == "scripting");
}

// Pushes an error and returns true if the command cannot be called.
bool ScriptEngine::push_refusal(lua_State* lua, const Command* found, const Command* command,
                                Words words) {
  if (found == nullptr || command == nullptr) {
    push_error(lua, "Unknown command called from script");
  } else if (!fits(*command, words.size())) {
    push_error(lua, "Wrong number of args calling command from script");
  } else if (is_denied(*command)) {
    push_error(lua, "This Mayfly command is not allowed from script");
  } else {
    const Status allowed = parts_.requests.check_for_script(*run_, *command, words);
    if (allowed) return false;
    push_error(lua, "-" + allowed.error().message);
    lua_pushboolean(lua, 1);
    lua_setfield(lua, -2, kCountedField);
  }
  return true;
}

int ScriptEngine::call_command(lua_State* lua, bool raises) {
  const auto failed = [&] { return raises ? lua_error(lua) : 1; };
  if (run_ == nullptr) {
    push_error(lua, "redis.call() can only be called while a script runs");
    return failed();
  }
  if (lua_gettop(lua) == 0) {
    push_error(lua, "Please specify at least one argument for this call");
    return failed();
  }
  if (!words_.read(lua)) {
    push_error(lua, "Command arguments must be strings or integers");
    return failed();
  }
  const Words words = words_.words();
  const Command* const found = parts_.commands.find(words[0]);
  const Command* const command =
      found == nullptr ? nullptr : parts_.commands.resolve(*found, words);
  if (push_refusal(lua, found, command, words)) return failed();

  std::string& out = link_.output();
  out.clear();
  client_.set_protocol(run_->protocol);
  Reply reply(out, run_->protocol);
  parts_.requests.run_for_script(*run_, client_, *command, words, reply);
  lua_settop(lua, 0);  // many arguments leave no room for a reply
  std::string_view bytes = out;
  const bool is_error = bytes.starts_with('-');
  if (!push_reply(lua, bytes)) {
    push_error(lua, "the reply of the command is too deep for a script");
    return failed();
  }
  return is_error ? failed() : 1;
}

// ---- Time ----

// Other clients are served when the script has taken long.
void ScriptEngine::serve_others() {
  const std::int64_t threshold = parts_.config.busy_reply_threshold;
  const std::int64_t elapsed_ms = (monotonic_ns() - run_->began_ns) / 1'000'000;
  if (threshold <= 0 || elapsed_ms < threshold) return;
  if (!run_->is_busy) {
    run_->is_busy = true;
    warn_slow(elapsed_ms);
  }
  parts_.requests.serve_others(run_->caller);
}

void ScriptEngine::warn_slow(std::int64_t elapsed_ms) {
  if (run_->caller.is_replay) {
    parts_.log.warning(
        "Slow script of the append-only file: it has run for {} ms, and the data is loaded when it "
        "has ended. SHUTDOWN NOSAVE or SIGTERM ends the server",
        elapsed_ms);
  } else if (run_->caller.is_primary) {
    parts_.log.warning(
        "Slow script from the primary: it has run for {} ms, and nothing else of the primary is "
        "done meanwhile. SHUTDOWN NOSAVE or SIGTERM ends the server",
        elapsed_ms);
  } else {
    parts_.log.warning(
        "Slow script: it has run for {} ms. SCRIPT KILL or FUNCTION KILL ends it, if it has "
        "written nothing",
        elapsed_ms);
  }
}

// If the script was killed, it gets an error at each of its next lines, so that it cannot catch it
// for good.
void ScriptEngine::interrupt(lua_State* lua) {
  if (run_ == nullptr) return;
  serve_others();
  if (!run_->is_killed) return LuaAlarm::again();
  kill_lines();
  push_error(lua, killed_text(kind_).substr(kErrorCode.size()));
  lua_error(lua);
}

void ScriptEngine::kill_lines() {
  LuaAlarm::release();
  lua_sethook(lua_->get(), ScriptApi::interrupt, LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

// While memory is prepared for a large value. False: the script is killed.
bool ScriptEngine::pause() {
  if (run_ == nullptr) return true;
  serve_others();
  if (run_->is_killed) {
    kill_lines();
    return false;
  }
  LuaAlarm::again();
  return true;
}

}  // namespace mayfly
