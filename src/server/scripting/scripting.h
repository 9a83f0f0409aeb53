// SPDX-License-Identifier: Apache-2.0
// Scripting: the scripts that EVAL and SCRIPT LOAD have compiled, and the libraries of functions.
//
// A script is kept under its SHA-1 until SCRIPT FLUSH. Those that only EVAL has seen are at most
// kEvalScriptsMost: the one that was not used for the longest time goes first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "mayfly/result.h"
#include "server/scripting/script_engine.h"
#include "server/scripting/script_run.h"

namespace mayfly {

class Functions;

// Bytes of a script or library that a client sends: its digest, for one, is not interruptible.
// The primary and the append-only file may have longer ones.
inline constexpr std::size_t kCodeBytesMost = std::size_t{4} << 20;
Status check_code_size(const Client& client, std::string_view code);

struct Script {
  std::string sha1;
  std::string code;
  std::uint32_t flags = 0;             // script_flag
  int function = 0;                    // in the registry of Lua
  bool is_loaded = false;              // by SCRIPT LOAD: it stays
  std::list<Script*>::iterator place;  // among those that may go
};

class Scripting {
 public:
  static constexpr std::size_t kEvalScriptsMost = 500;

  explicit Scripting(const ServerParts& parts);
  ~Scripting();

  // ---- Scripts ----

  // Null if there is none. The digest may have letters in any case.
  Script* find(std::string_view sha1);

  // Compiles the script, unless it is there. `is_loaded`: it stays until SCRIPT FLUSH. The
  // caller may use `run` to run it next.
  Result<Script*> add(ScriptRun& run, std::string_view code, bool is_loaded);
  void flush();

  std::size_t count() const { return scripts_.size(); }
  std::size_t script_bytes() const { return script_bytes_; }  // of the code that is kept
  std::size_t lua_bytes() const { return engine_ == nullptr ? 0 : engine_->bytes(); }

  ScriptEngine& engine();  // made when it is first needed
  Functions& functions() { return *functions_; }
  const Functions& functions() const { return *functions_; }

  // ---- The run under way ----

  ScriptRun* current() const;  // null if there is none
  bool is_busy() const {
    const ScriptRun* const run = current();
    return run != nullptr && run->is_busy;
  }

  std::string busy_reply() const;  // to other clients. REQUIRES: is_busy()

  // SCRIPT KILL and FUNCTION KILL. An error if it cannot be killed.
  Status kill(ScriptKind kind);

  // The script ends soon, and nothing of it is propagated: the server shuts down.
  void abandon();

  // After a change of what the Lua state depends on: it is made anew.
  void apply_config();

  // The flags of EVAL and FCALL are those of what they run. Other commands have their own.
  std::uint64_t flags_of(const Command& command, Words words);

 private:
  void forget(Script& script);
  void evict_oldest();

  const ServerParts& parts_;
  std::unique_ptr<ScriptEngine> engine_;
  std::unique_ptr<Functions> functions_;
  std::unordered_map<std::string_view, std::unique_ptr<Script>> scripts_;  // by digest
  std::list<Script*> evictable_;  // that only EVAL has seen, the one used last at the end
  std::size_t script_bytes_ = 0;
  bool is_insecure_ = false;
};

// The flags in the first line of a script, "#!lua flags=no-writes,allow-oom", and in that of a
// library, "#!lua name=NAME". `code` loses the line, but not its end: numbers of lines stay.
struct Shebang {
  std::uint32_t flags = script_flag::undeclared;
  std::string name;
};
Result<Shebang> take_shebang(std::string_view& code, bool is_library);

// Flags of a script by their names. Nothing if there is no such flag.
std::optional<std::uint32_t> parse_script_flag(std::string_view name);
std::vector<std::string_view> script_flag_names(std::uint32_t flags);

}  // namespace mayfly
