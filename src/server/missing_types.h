// SPDX-License-Identifier: Apache-2.0
// Commands of Valkey and Redis for types that this server does not have, so that the error for one
// of them can say so.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

// What is missing for the command `name`, in any case of letters: "lists" for LPUSH. Empty if the
// command is of no such type.
std::string_view missing_type(std::string_view name);

// For the end of an error: "(this server has no lists yet)"; empty if nothing is missing.
std::string missing_type_note(std::string_view name);

}  // namespace mayfly
