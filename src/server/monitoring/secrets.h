// SPDX-License-Identifier: Apache-2.0
// Which words of a request are passwords, or may be: they are not shown in logs nor by MONITOR. And
// how passwords are compared.

#pragma once

#include <cstddef>
#include <string_view>

#include "resp/request.h"

namespace mayfly {

inline constexpr std::string_view kRedacted = "(redacted)";

// Whether word `i` must not be shown.
bool is_secret(Words words, std::size_t i);

// Compares in constant time, so that the time tells nothing about the right one.
bool is_same_secret(std::string_view given, std::string_view right);

}  // namespace mayfly
