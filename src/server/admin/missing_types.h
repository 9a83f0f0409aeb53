// SPDX-License-Identifier: Apache-2.0
// Commands of Valkey and Redis for types that this server does not support: the error reply names
// the type, and files with them are refused.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

// The type that the command `name` is for, in any case of letters: "json" for JSON.SET. Empty if
// the command is of no such type.
std::string_view missing_type(std::string_view name);

// For the end of an error: "(this server has no JSON documents yet)"; empty if nothing is missing.
std::string missing_type_note(std::string_view name);

}  // namespace mayfly
