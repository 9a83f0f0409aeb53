// SPDX-License-Identifier: Apache-2.0
// Spans of time as words of commands and directives: 500ms, 30s, 5m, 2h, 1d, 1w.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

// A whole number from 0 on and a unit, in lower case. Nothing if it is none, or is too long to be
// counted in milliseconds.
std::optional<Millis> duration_of(std::string_view text);

// In the largest unit of which it is a multiple. REQUIRES: more than nothing.
std::string duration_text(Millis duration);

}  // namespace mayfly
