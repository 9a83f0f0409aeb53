// SPDX-License-Identifier: Apache-2.0
// Times as commands spell them: EX, PX, EXAT and PXAT, and the arguments of EXPIRE and its kin,
// turned into deadlines.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "mayfly/condition.h"
#include "mayfly/time.h"

namespace mayfly {

struct TimeForm {
  bool is_seconds = false;
  bool is_absolute = false;
};

// What EX, PX, EXAT and PXAT (in any case) mean; nothing for any other word.
std::optional<TimeForm> time_option(std::string_view word);

// The least number that is allowed: EXPIRE takes all, SET only what is positive, HEXPIRE zero, too.
inline constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::min();

// Word `i` as a deadline. An error reply and nothing if it is no integer, below `least`, or beyond
// the calendar ("ERR invalid expire time in 'set' command").
std::optional<Time> deadline_argument(Call& call, std::size_t i, TimeForm form, std::int64_t least);

// The condition that NX, XX, GT or LT (in any case) means; nothing for any other word.
std::optional<When> when_option(std::string_view word);

// A deadline as text, in milliseconds: for propagation.
std::string in_millis(Time deadline);

}  // namespace mayfly
