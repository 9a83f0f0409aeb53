// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/moment.h"

#include <fmt/format.h>

#include <cstdint>

#include "commands/ttl/duration.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::int64_t kUnixSeconds = 1'000'000'000;   // 2001
constexpr std::int64_t kUnixMillis = 100'000'000'000;  // 1973, or the year 5138 in seconds

}  // namespace

std::optional<Time> moment_of(std::string_view text, Time now) {
  if (text == "now") return now;
  if (text == "-") return Time::min();
  if (text == "+") return kNever;
  if (const auto duration = duration_of(text)) return deadline_after(now, *duration);
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 0) return std::nullopt;
  if (*number < kUnixSeconds) return deadline_after(now, Millis(*number * 1000));
  return Time(Millis(*number < kUnixMillis ? *number * 1000 : *number));
}

std::optional<Time> moment_argument(Call& call, std::size_t i) {
  const std::optional<Time> moment = moment_of(call.word(i), call.now());
  if (moment) return moment;
  call.fail(
      fmt::format("ERR '{}' is no moment: say now, a time from now such as 90s, 10m, 2h or 1d, or "
                  "a Unix time in seconds or milliseconds",
                  call.word(i).substr(0, 64)));
  return std::nullopt;
}

}  // namespace mayfly
