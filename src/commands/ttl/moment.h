// SPDX-License-Identifier: Apache-2.0
// Moments in commands that ask about time: TTLSTATS FORECAST, EXPIRESCAN FROM and TO.
//
//   now             the time of the command
//   90s, 500ms, 10m, 2h, 1d, 1w     so long from now
//   60              seconds from now, if less than 10^9
//   1800000000      Unix time in seconds, if less than 10^11
//   1800000000000   Unix time in milliseconds
//   - and +         the beginning and the end of time

#pragma once

#include <optional>
#include <string_view>

#include "commands/call.h"
#include "mayfly/time.h"

namespace mayfly {

// Nothing if it is none of these.
std::optional<Time> moment_of(std::string_view text, Time now);

// Word `i`, or an error reply and nothing.
std::optional<Time> moment_argument(Call& call, std::size_t i);

}  // namespace mayfly
