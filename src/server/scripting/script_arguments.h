// SPDX-License-Identifier: Apache-2.0
// What EVAL, EVALSHA and FCALL have in common: their words, and what is checked before a run.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/core/server_call.h"
#include "server/scripting/script_run.h"

namespace mayfly {

// EVAL script numkeys [key ...] [arg ...]
struct ScriptArguments {
  Words keys;
  Words rest;
};

// Nothing after an error reply. `bad_number`: if the number of keys is none.
std::optional<ScriptArguments> read_script_arguments(
    Call& call, std::string_view bad_number = "ERR value is not an integer or out of range");

// Whether a script with these flags may run now; else there has been an error reply. Sets what the
// run may do.
bool prepare_run(Call& call, ScriptRun& run, std::uint32_t flags, bool is_read_only);

}  // namespace mayfly
