// SPDX-License-Identifier: Apache-2.0
// Reading times. Every overflow is an error: a deadline that wraps around would be in the past.

#include "commands/ttl/expire_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"

namespace mayfly {
namespace {

constexpr std::int64_t kTimeMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTimeLeast = std::numeric_limits<std::int64_t>::min();

std::optional<Time> refuse_time(Call& call) {
  call.fail(fmt::format("ERR invalid expire time in '{}' command", call.command().name));
  return std::nullopt;
}

std::optional<TimeForm> time_option(std::string_view word) {
  if (equals(word, "ex")) return kInSeconds;
  if (equals(word, "px")) return kInMillis;
  if (equals(word, "exat")) return kAtSecond;
  if (equals(word, "pxat")) return kAtMilli;
  return std::nullopt;
}

std::optional<When> condition_option(std::string_view word) {
  if (equals(word, "nx")) return When::unset;
  if (equals(word, "xx")) return When::set;
  if (equals(word, "gt")) return When::later;
  if (equals(word, "lt")) return When::sooner;
  return std::nullopt;
}

}  // namespace

std::optional<Time> deadline_argument(Call& call, std::size_t i, TimeForm form,
                                      std::int64_t least) {
  const std::optional<std::int64_t> number = call.integer(i);
  if (!number) return std::nullopt;
  if (*number < least) return refuse_time(call);

  std::int64_t ms = *number;
  if (form.is_seconds) {
    if (ms > kTimeMost / 1000 || ms < kTimeLeast / 1000) return refuse_time(call);
    ms *= 1000;
  }
  if (!form.is_absolute) {
    const std::int64_t now = call.now().time_since_epoch().count();
    if (ms > kTimeMost - now) return refuse_time(call);
    ms += now;
  }
  // The last millisecond of the calendar means never; a request for it gets the one before.
  return std::min(Time(Millis(ms)), kNever - Millis(1));
}

std::size_t ExpiryOption::read(const Call& call, std::size_t i, std::size_t end,
                               std::string_view instead) {
  if (call.is(i, instead)) {
    is_instead = true;
    return form ? 0 : 1;
  }
  if (call.is(i, "jitter") && i + 1 < end) {
    jitter_at = i + 1;
    return 2;
  }
  const std::optional<TimeForm> found = time_option(call.word(i));
  if (!found || i + 1 >= end || is_instead || (form && *form != *found)) return 0;
  form = found;
  time = i + 1;
  return 2;
}

bool ExpiryOption::finish(Call& call) {
  if (jitter_at == 0) return true;
  if (form) return jitter.read(call, jitter_at);
  call.fail_syntax();
  return false;
}

std::optional<Time> ExpiryOption::deadline(Call& call, std::int64_t least) const {
  if (!form) return std::nullopt;
  return deadline_argument(call, time, *form, least);
}

std::optional<When> read_conditions(Call& call, std::size_t first, std::size_t end,
                                    Jitter& jitter) {
  When conditions = When::always;
  for (std::size_t i = first; i < end; ++i) {
    if (call.is(i, "jitter") && i + 1 < end) {
      if (!jitter.read(call, ++i)) return std::nullopt;
      continue;
    }
    const std::optional<When> condition = condition_option(call.word(i));
    if (!condition) {
      call.fail(fmt::format("ERR Unsupported option {}", call.word(i)));
      return std::nullopt;
    }
    conditions = conditions | *condition;
  }
  if (compatible(conditions)) return conditions;
  call.fail(contains(conditions, When::unset)
                ? "ERR NX and XX, GT or LT options at the same time are not compatible"
                : "ERR GT and LT options at the same time are not compatible");
  return std::nullopt;
}

std::int64_t ttl_reply(Time deadline, Time now, TimeForm form) {
  if (deadline == kNever) return -1;
  const Millis time = form.is_absolute ? deadline.time_since_epoch() : remaining(deadline, now);
  const std::int64_t ms = std::max<std::int64_t>(time.count(), 0);
  return form.is_seconds ? ms / 1000 + (ms % 1000 >= 500 ? 1 : 0) : ms;
}

std::string in_millis(Time deadline) { return std::to_string(deadline.time_since_epoch().count()); }

}  // namespace mayfly
