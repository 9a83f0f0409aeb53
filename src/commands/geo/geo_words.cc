// SPDX-License-Identifier: Apache-2.0
#include "commands/geo/geo_words.h"

#include <fmt/format.h>

#include "resp/numbers.h"

namespace mayfly {

std::optional<double> read_length(Call& call, std::size_t i, std::string_view error) {
  const std::optional<double> length = parse_double(call.word(i));
  if (!length) call.fail(error);
  return length;
}

std::optional<GeoPoint> read_point(Call& call, std::size_t i) {
  constexpr std::string_view kNoFloat = "ERR value is not a valid float";
  const std::optional<double> longitude = read_length(call, i, kNoFloat);
  const std::optional<double> latitude =
      longitude ? read_length(call, i + 1, kNoFloat) : std::nullopt;
  if (!latitude) return std::nullopt;
  const GeoPoint point{*longitude, *latitude};
  if (is_on_map(point)) return point;
  call.fail(fmt::format("ERR invalid longitude,latitude pair {:f},{:f}", *longitude, *latitude));
  return std::nullopt;
}

std::optional<double> read_unit(Call& call, std::size_t i) {
  if (call.is(i, "m")) return 1;
  if (call.is(i, "km")) return 1000;
  if (call.is(i, "ft")) return 0.3048;
  if (call.is(i, "mi")) return 1609.34;
  call.fail("ERR unsupported unit provided. please use M, KM, FT, MI");
  return std::nullopt;
}

}  // namespace mayfly
