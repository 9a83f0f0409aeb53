// SPDX-License-Identifier: Apache-2.0
// Types of values that other servers have and this one has not: by the commands that write them.

#pragma once

#include <string_view>

namespace mayfly {

// "list" for RPUSH, in any case. Empty if the command is not one of them.
std::string_view unsupported_type(std::string_view command);

}  // namespace mayfly
