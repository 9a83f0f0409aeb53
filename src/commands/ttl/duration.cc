// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "resp/numbers.h"

namespace mayfly {
namespace {

struct DurationUnit {
  std::string_view name;
  std::int64_t ms;
};
constexpr DurationUnit kDurationUnits[] = {{"w", 604'800'000}, {"d", 86'400'000}, {"h", 3'600'000},
                                           {"m", 60'000},      {"s", 1'000},      {"ms", 1}};

}  // namespace

std::optional<Millis> duration_of(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::int64_t> number = parse_integer(text.substr(0, digits));
  const auto unit = std::ranges::find(kDurationUnits, text.substr(digits), &DurationUnit::name);
  if (!number || unit == std::end(kDurationUnits)) return std::nullopt;
  if (*number > Millis::max().count() / unit->ms) return std::nullopt;
  return Millis(*number * unit->ms);
}

std::string duration_text(Millis duration) {
  const auto unit = std::ranges::find_if(
      kDurationUnits, [&](const DurationUnit& one) { return duration.count() % one.ms == 0; });
  return fmt::format("{}{}", duration.count() / unit->ms, unit->name);
}

}  // namespace mayfly
