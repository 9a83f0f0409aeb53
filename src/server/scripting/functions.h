// SPDX-License-Identifier: Apache-2.0
// Functions: libraries of functions that FUNCTION LOAD has registered. They are part of the data:
// saved in files and sent to replicas, as the code of each library.
//
// The code of a library runs once, when it is loaded; it can only register functions then
// (redis.register_function).

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/words.h"
#include "mayfly/result.h"
#include "server/scripting/script_engine.h"
#include "server/scripting/script_run.h"

namespace mayfly {

struct Library;

struct Function {
  std::string name;
  std::optional<std::string> description;
  std::uint32_t flags = 0;  // script_flag
  int callback = 0;         // in the registry of Lua
  const Library* library = nullptr;
};

struct Library {
  std::string name;
  std::string code;  // with its first line
  std::map<std::string, Function, std::less<>> functions;
};

// Names of functions differ by more than the case of letters.
struct FunctionNameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::ranges::lexicographical_compare(a, b, {}, lower, lower);
  }
};

class Functions {
 public:
  using Libraries = std::map<std::string, std::unique_ptr<Library>, std::less<>>;

  explicit Functions(const ServerParts& parts);
  ~Functions();

  const Libraries& libraries() const { return libraries_; }
  const Function* find(std::string_view name) const;  // null if there is none
  std::optional<std::uint32_t> flags_of(std::string_view name) const;
  std::vector<std::string> codes() const;  // of all libraries
  std::size_t count() const { return functions_.size(); }
  std::size_t lua_bytes() const { return engine_ == nullptr ? 0 : engine_->bytes(); }
  std::size_t code_bytes() const;

  // Loads a library and returns its name. The message of an error is the reply, without its code.
  Result<std::string> load(std::string_view code, bool replaces);
  bool erase(std::string_view name);

  // All of these libraries, or none. `flushes`: instead of what is there.
  Status restore(const std::vector<std::string>& codes, bool flushes, bool replaces);
  void flush();

  // Makes the Lua state anew, with the same libraries.
  void rebuild();

  ScriptEngine& engine();
  ScriptRun* current() const { return engine_ == nullptr ? nullptr : engine_->current(); }

 private:
  Status run_library(Library& library, std::string_view body);
  void forget(const Library& library);

  const ServerParts& parts_;
  std::unique_ptr<ScriptEngine> engine_;  // made when it is first needed
  Libraries libraries_;
  std::map<std::string, const Function*, FunctionNameLess> functions_;  // of all libraries
};

}  // namespace mayfly
