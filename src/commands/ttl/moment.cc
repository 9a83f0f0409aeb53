// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/moment.h"

#include <fmt/format.h>

#include <cstdint>

#include "resp/numbers.h"

namespace mayfly {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr Unit kUnits[] = {{"ms", 1},        {"s", 1'000},      {"m", 60'000},
                           {"h", 3'600'000}, {"d", 86'400'000}, {"w", 604'800'000}};

constexpr std::int64_t kUnixSeconds = 1'000'000'000;   // 2001
constexpr std::int64_t kUnixMillis = 100'000'000'000;  // 1973, or the year 5138 in seconds

std::optional<Time> parse_after(std::string_view digits, const Unit& unit, Time now) {
  const std::optional<std::int64_t> number = parse_integer(digits);
  if (!number || *number < 0 || *number > Millis::max().count() / unit.ms) return std::nullopt;
  return deadline_after(now, Millis(*number * unit.ms));
}

}  // namespace

std::optional<Time> moment_of(std::string_view text, Time now) {
  if (text == "now") return now;
  if (text == "-") return Time::min();
  if (text == "+") return kNever;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.name.size());
    if (const std::optional<Time> found = parse_after(digits, unit, now)) return found;
  }
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
