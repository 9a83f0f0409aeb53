// SPDX-License-Identifier: Apache-2.0
// Reading times. Every overflow is an error: a deadline that wrapped around would be in the past.

#include "commands/expire_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"

namespace mayfly {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::optional<Time> refuse(Call& call) {
  call.fail(fmt::format("ERR invalid expire time in '{}' command", call.command().name));
  return std::nullopt;
}

}  // namespace

std::optional<TimeForm> time_option(std::string_view word) {
  if (equals(word, "ex")) return TimeForm{.is_seconds = true, .is_absolute = false};
  if (equals(word, "px")) return TimeForm{.is_seconds = false, .is_absolute = false};
  if (equals(word, "exat")) return TimeForm{.is_seconds = true, .is_absolute = true};
  if (equals(word, "pxat")) return TimeForm{.is_seconds = false, .is_absolute = true};
  return std::nullopt;
}

std::optional<Time> deadline_argument(Call& call, std::size_t i, TimeForm form,
                                      std::int64_t least) {
  const std::optional<std::int64_t> number = call.integer(i);
  if (!number) return std::nullopt;
  if (*number < least) return refuse(call);

  std::int64_t ms = *number;
  if (form.is_seconds) {
    if (ms > kMost / 1000 || ms < kLeast / 1000) return refuse(call);
    ms *= 1000;
  }
  if (!form.is_absolute) {
    const std::int64_t now = call.now().time_since_epoch().count();
    if (ms > kMost - now) return refuse(call);
    ms += now;
  }
  // The last millisecond of the calendar means never; who asks for it gets the one before.
  return std::min(Time(Millis(ms)), kNever - Millis(1));
}

std::optional<When> when_option(std::string_view word) {
  if (equals(word, "nx")) return When::unset;
  if (equals(word, "xx")) return When::set;
  if (equals(word, "gt")) return When::later;
  if (equals(word, "lt")) return When::sooner;
  return std::nullopt;
}

std::string in_millis(Time deadline) { return std::to_string(deadline.time_since_epoch().count()); }

}  // namespace mayfly
