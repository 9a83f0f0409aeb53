// SPDX-License-Identifier: Apache-2.0
#include "commands/geo/geohash.h"

#include <string_view>

namespace mayfly {
namespace {

// Which of `count` equal parts of the range from -most to most a value is in; `count` for `most`.
std::uint32_t part_of(double value, double most, std::uint32_t count) {
  return static_cast<std::uint32_t>((value + most) / (2 * most) * count);
}

std::uint32_t cell_part(double value, double most, int step) {
  const std::uint32_t count = std::uint32_t{1} << step;
  return std::min(part_of(std::clamp(value, -most, most), most, count), count - 1);
}

}  // namespace

double score_of(GeoPoint point) {
  return static_cast<double>(interleave({part_of(point.longitude, kLongitudeMax, kGeoPlaces),
                                         part_of(point.latitude, kLatitudeMax, kGeoPlaces)}));
}

GeohashText geohash_text(GeoPoint point) {
  constexpr std::string_view kLetters = "0123456789bcdefghjkmnpqrstuvwxyz";
  constexpr int kBitsInLetter = 5;
  const std::uint64_t bits = interleave({part_of(point.longitude, kLongitudeMax, kGeoPlaces),
                                         part_of(point.latitude, 90, kGeoPlaces)});
  GeohashText text;
  text.fill(kLetters[0]);
  int shift = 2 * kGeoSteps;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    shift -= kBitsInLetter;
    text[i] = kLetters[bits >> shift & 31];
  }
  return text;
}

double distance_between(GeoPoint a, GeoPoint b) {
  const double latitude_a = a.latitude * kRadiansInDegree;
  const double latitude_b = b.latitude * kRadiansInDegree;
  const double v = std::sin((b.longitude * kRadiansInDegree - a.longitude * kRadiansInDegree) / 2);
  if (is_same_meridian(v)) return kEarthRadius * std::abs(latitude_b - latitude_a);
  const double u = std::sin((latitude_b - latitude_a) / 2);
  return arc_distance(u * u + std::cos(latitude_a) * std::cos(latitude_b) * v * v);
}

GeoCell cell_of(GeoPoint point, int step) {
  return {cell_part(point.longitude, kLongitudeMax, step),
          cell_part(point.latitude, kLatitudeMax, step), step};
}

GeoCell neighbour_of(const GeoCell& cell, int east, int north) {
  const std::uint32_t mask = (std::uint32_t{1} << cell.step) - 1;
  return {(cell.x + static_cast<std::uint32_t>(east)) & mask,
          (cell.y + static_cast<std::uint32_t>(north)) & mask, cell.step};
}

}  // namespace mayfly
