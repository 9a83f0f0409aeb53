// SPDX-License-Identifier: Apache-2.0
// Errors of `return redis.call(...)` say where they happened.
//
// It is a tail call: LuaJIT replaces the frame of the script by that of redis.call(), so that an
// error handler could not see the script any more. In parentheses it is an ordinary call, with the
// same result, since redis.call() returns one value.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

// The code, with each redis.call(), redis.pcall(), server.call() and server.pcall() that is
// returned in parentheses. Lines stay where they are. What is no Lua comes back as it is.
std::string without_tail_calls(std::string_view code);

}  // namespace mayfly
