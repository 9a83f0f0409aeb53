// SPDX-License-Identifier: Apache-2.0
// Which words of a request are passwords, or may be: they are not shown in logs nor by MONITOR.

#pragma once

#include <cstddef>
#include <string_view>

#include "resp/request.h"

namespace mayfly {

inline constexpr std::string_view kRedacted = "(redacted)";

// Whether word `i` must not be shown.
bool is_secret(Words words, std::size_t i);

}  // namespace mayfly
