// SPDX-License-Identifier: Apache-2.0
// Times in commands: the arguments of EXPIRE and HEXPIRE, the options EX, PX, EXAT, PXAT and
// JITTER, the conditions NX, XX, GT and LT, and the replies of TTL.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "commands/call.h"
#include "commands/ttl/jitter.h"
#include "mayfly/condition.h"
#include "mayfly/time.h"

namespace mayfly {

struct TimeForm {
  bool is_seconds = false;
  bool is_absolute = false;
  bool operator==(const TimeForm&) const = default;
};

// The four forms of EXPIRE and TTL.
inline constexpr TimeForm kInSeconds{.is_seconds = true, .is_absolute = false};
inline constexpr TimeForm kInMillis{.is_seconds = false, .is_absolute = false};
inline constexpr TimeForm kAtSecond{.is_seconds = true, .is_absolute = true};
inline constexpr TimeForm kAtMilli{.is_seconds = false, .is_absolute = true};

// The least number that is allowed: EXPIRE takes any, SET at least 1, HEXPIRE at least 0.
inline constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::min();

// Word `i` as a deadline. An error reply and nothing if it is no integer, below `least`, or too far
// in the future ("ERR invalid expire time in 'set' command").
std::optional<Time> deadline_argument(Call& call, std::size_t i, TimeForm form, std::int64_t least);

// EX, PX, EXAT or PXAT with a time and maybe JITTER, or a word that excludes them: KEEPTTL or
// PERSIST.
struct ExpiryOption {
  std::optional<TimeForm> form;
  std::size_t time = 0;       // the word with the time, if there is a form
  std::size_t jitter_at = 0;  // the word with the percentage; 0: none
  bool is_instead = false;    // the other word was given
  Jitter jitter;              // after finish()

  // Reads the option at word `i`; all options are before word `end`. Returns how many words it
  // takes, or 0 if it is another option or contradicts what was read before. An option that is
  // repeated replaces itself.
  std::size_t read(const Call& call, std::size_t i, std::size_t end, std::string_view instead);

  // After all options are read. False after an error reply: JITTER without a time, or a wrong
  // percentage.
  bool finish(Call& call);

  // Without jitter. Nothing if no time was given, or after an error reply: check has_failed().
  std::optional<Time> deadline(Call& call, std::int64_t least) const;
};

// NX, XX, GT, LT and JITTER in the words from `first` to before `end`; an error reply and nothing
// if they are wrong.
std::optional<When> read_conditions(Call& call, std::size_t first, std::size_t end, Jitter& jitter);

// The reply of TTL and its variants: -1 for no deadline. Seconds are rounded to the nearest.
std::int64_t ttl_reply(Time deadline, Time now, TimeForm form);

// A deadline as text, in milliseconds: for propagation.
std::string in_millis(Time deadline);

}  // namespace mayfly
