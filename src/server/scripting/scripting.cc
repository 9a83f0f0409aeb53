// SPDX-License-Identifier: Apache-2.0
#include "server/scripting/scripting.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"
#include "lua/sha1.h"
#include "server/core/client.h"
#include "server/monitoring/stats.h"
#include "server/scripting/functions.h"
#include "server/scripting/tail_calls.h"

namespace mayfly {
namespace {

constexpr std::size_t kDigestSize = 40;

// By the flags that a script declares.
std::uint64_t with_script_flags(std::uint64_t command_flags, std::uint32_t flags) {
  if ((flags & script_flag::undeclared) != 0) return command_flags;
  command_flags &= ~(flag::stale | flag::denyoom | flag::write | flag::may_replicate);
  if ((flags & script_flag::no_writes) == 0) {
    command_flags |= flag::write;
    if ((flags & script_flag::allow_oom) == 0) command_flags |= flag::denyoom;
  }
  if ((flags & script_flag::allow_stale) != 0) command_flags |= flag::stale;
  return command_flags;
}

}  // namespace

Status check_code_size(const Client& client, std::string_view code) {
  if (code.size() <= kCodeBytesMost || client.is_primary || client.is_replay) return Done{};
  return Error{Code::invalid, fmt::format("the code is too long: {} bytes, of at most {}",
                                          code.size(), kCodeBytesMost)};
}

Scripting::Scripting(const ServerParts& parts)
    : parts_(parts), functions_(std::make_unique<Functions>(parts)) {}

Scripting::~Scripting() = default;

ScriptEngine& Scripting::engine() {
  if (engine_ == nullptr) engine_ = std::make_unique<ScriptEngine>(parts_, ScriptKind::script);
  return *engine_;
}

Script* Scripting::find(std::string_view sha1) {
  if (sha1.size() != kDigestSize) return nullptr;
  auto found = scripts_.find(sha1);
  if (found == scripts_.end()) {
    std::string name(sha1);
    for (char& c : name) c = lower(c);
    found = scripts_.find(name);
  }
  if (found == scripts_.end()) return nullptr;
  Script& script = *found->second;
  if (!script.is_loaded) evictable_.splice(evictable_.end(), evictable_, script.place);
  return &script;
}

Result<Script*> Scripting::add(ScriptRun& run, std::string_view code, bool is_loaded) {
  if (Status status = check_code_size(run.caller, code); !status) return status.error();
  std::string sha1 = sha1_hex(code);
  if (Script* const known = find(sha1)) {
    if (is_loaded && !known->is_loaded) {
      known->is_loaded = true;
      evictable_.erase(known->place);
    }
    return known;
  }
  std::string_view body = code;
  const Result<Shebang> shebang = take_shebang(body, false);
  if (!shebang) return shebang.error();
  const Result<int> function = engine().compile(run, without_tail_calls(body), "@user_script");
  if (!function && run.is_killed) return function.error();
  if (!function) {
    return Error{Code::invalid,
                 "Error compiling script (new function): " + function.error().message};
  }
  auto script = std::make_unique<Script>();
  script->sha1 = std::move(sha1);
  script->code = code;
  script->flags = shebang->flags;
  script->function = *function;
  script->is_loaded = is_loaded;
  script_bytes_ += code.size() + sizeof(Script) + kDigestSize;
  Script* const added = script.get();
  scripts_.emplace(added->sha1, std::move(script));
  if (!is_loaded) {
    added->place = evictable_.insert(evictable_.end(), added);
    if (evictable_.size() > kEvalScriptsMost) evict_oldest();
  }
  return added;
}

void Scripting::evict_oldest() {
  Script& script = *evictable_.front();
  evictable_.pop_front();
  ++parts_.stats.evicted_scripts;
  forget(script);
}

void Scripting::forget(Script& script) {
  engine_->forget(script.function);
  script_bytes_ -= script.code.size() + sizeof(Script) + kDigestSize;
  const auto place = scripts_.find(script.sha1);
  scripts_.erase(place);
}

void Scripting::flush() {
  scripts_.clear();
  evictable_.clear();
  script_bytes_ = 0;
  engine_.reset();
}

// ---- The run under way ----

ScriptRun* Scripting::current() const {
  if (engine_ != nullptr && engine_->current() != nullptr) return engine_->current();
  return functions_->current();
}

std::string Scripting::busy_reply() const {
  const bool is_script = engine_ != nullptr && engine_->current() != nullptr;
  return fmt::format(
      "BUSY Mayfly is busy running a script. You can only call {} KILL or SHUTDOWN NOSAVE.",
      is_script ? "SCRIPT" : "FUNCTION");
}

Status Scripting::kill(ScriptKind kind) {
  ScriptRun* const run = current();
  const bool is_script = run != nullptr && run != functions_->current();
  const auto denied = [](std::string text) { return Error{Code::denied, std::move(text)}; };
  if (run == nullptr) return denied("NOTBUSY No scripts in execution right now.");
  if (run->caller.is_primary) {
    return denied(
        "UNKILLABLE The busy script was sent by a master instance in the context of replication "
        "and cannot be killed.");
  }
  if (run->caller.is_replay) {
    return denied(
        "UNKILLABLE The busy script is one of the append-only file that is loaded, and cannot be "
        "killed.");
  }
  if (run->has_written) {
    return denied(
        "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
        "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
        "NOSAVE command.");
  }
  if (is_script != (kind == ScriptKind::script)) return denied(busy_reply());
  run->is_killed = true;
  return Done{};
}

void Scripting::abandon() {
  ScriptRun* const run = current();
  if (run == nullptr) return;
  run->is_killed = true;
  run->is_abandoned = true;
}

void Scripting::apply_config() {
  if (std::exchange(is_insecure_, parts_.config.lua_enable_insecure_api) == is_insecure_) return;
  flush();
  functions_->rebuild();
}

std::uint64_t Scripting::flags_of(const Command& command, Words words) {
  const std::string_view name = command.name;
  if (command.group != "scripting" || words.size() < 3) return command.flags;
  if (words[1].size() > kCodeBytesMost) return command.flags;  // it will be refused
  if (name == "eval" || name == "eval_ro") {
    std::string_view body = words[1];
    const Result<Shebang> shebang = take_shebang(body, false);
    return shebang ? with_script_flags(command.flags, shebang->flags) : command.flags;
  }
  if (name == "evalsha" || name == "evalsha_ro") {
    const Script* const script = find(words[1]);
    return script == nullptr ? command.flags : with_script_flags(command.flags, script->flags);
  }
  if (name == "fcall" || name == "fcall_ro") {
    const std::optional<std::uint32_t> flags = functions_->flags_of(words[1]);
    return flags ? with_script_flags(command.flags, *flags) : command.flags;
  }
  return command.flags;
}

}  // namespace mayfly
