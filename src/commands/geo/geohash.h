// SPDX-License-Identifier: Apache-2.0
// Positions on the earth as scores of a sorted set, and cells of the map as ranges of scores.
//
// The map is a grid of 2^26 columns (longitude) and 2^26 rows (latitude). A score is the number of
// a place of the grid: the bits of its column and its row, interleaved, 52 in all.
//
//   score   x25 y25 x24 y24 ... x0 y0        a cell of step 2 is all places that share x25 to y24,
//           '---- step 2 --'                 so it is a range of scores
//
// A longitude of exactly 180, or the greatest latitude, gives a column or row of 2^26: such a score
// is beyond the grid, from 2^52 on. Redis and Valkey have the same scores.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace mayfly {

struct GeoPoint {
  double longitude = 0;
  double latitude = 0;
};

inline constexpr double kLongitudeMax = 180;
inline constexpr double kLatitudeMax = 85.05112878;     // of the Mercator projection, EPSG:3857
inline constexpr double kEarthRadius = 6372797.560856;  // meters
inline constexpr double kRadiansInDegree = std::numbers::pi / 180.0;
inline constexpr int kGeoSteps = 26;
inline constexpr std::uint32_t kGeoPlaces = std::uint32_t{1} << kGeoSteps;  // columns, and rows
inline constexpr double kGridScoreEnd = 4503599627370496.0;                 // 2^52
inline constexpr double kBeyondScoreEnd = 4 * kGridScoreEnd;                // of column or row 2^26

// False for what is no number, too.
constexpr bool is_on_map(GeoPoint point) {
  return point.longitude >= -kLongitudeMax && point.longitude <= kLongitudeMax &&
         point.latitude >= -kLatitudeMax && point.latitude <= kLatitudeMax;
}

// ---- Places ----

struct GeoPlace {
  std::uint32_t x = 0;  // column, from west to east
  std::uint32_t y = 0;  // row, from south to north
};

// The bits of `value` at even positions.
constexpr std::uint64_t spread_bits(std::uint32_t value) {
  std::uint64_t bits = value;
  bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
  bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
  bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits << 2) & 0x3333333333333333;
  return (bits | bits << 1) & 0x5555555555555555;
}

// The bits at even positions, side by side.
constexpr std::uint32_t gather_bits(std::uint64_t bits) {
  bits &= 0x5555555555555555;
  bits = (bits | bits >> 1) & 0x3333333333333333;
  bits = (bits | bits >> 2) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits >> 4) & 0x00FF00FF00FF00FF;
  bits = (bits | bits >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<std::uint32_t>(bits | bits >> 16);
}

constexpr std::uint64_t interleave(GeoPlace place) {
  return spread_bits(place.y) | spread_bits(place.x) << 1;
}
constexpr GeoPlace deinterleave(std::uint64_t bits) {
  return {gather_bits(bits >> 1), gather_bits(bits)};
}

// A score as an integer; of one that is no place, what a processor makes of it.
constexpr std::uint64_t score_bits(double score) {
  constexpr double kSigned = 9223372036854775808.0;  // 2^63
  if (score >= -kSigned && score < kSigned) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(score));
  }
  if (score < 0) return std::uint64_t{1} << 63;
  return score < 2 * kSigned ? static_cast<std::uint64_t>(score) : 0;
}

constexpr GeoPlace place_of(double score) { return deinterleave(score_bits(score)); }

// ---- Points ----

// REQUIRES: the point is on the map.
double score_of(GeoPoint point);

// The middle of a place. The sums are rounded as Redis and Valkey round them, to the last bit.
inline GeoPoint point_of(GeoPlace place) {
  constexpr double kPlaces = kGeoPlaces;
  const auto middle = [](std::uint32_t number, double most) {
    const double low = -most + number / kPlaces * (2 * most);
    const double high = -most + (number + 1) / kPlaces * (2 * most);
    return std::clamp((low + high) / 2, -most, most);
  };
  return {middle(place.x, kLongitudeMax), middle(place.y, kLatitudeMax)};
}
inline GeoPoint point_of(double score) { return point_of(place_of(score)); }

// The standard geohash, which has latitudes up to 90. Its last letter is always 0: a score has two
// bits for it only.
using GeohashText = std::array<char, 11>;
GeohashText geohash_text(GeoPoint point);

// On the great circle, in meters.
double distance_between(GeoPoint a, GeoPoint b);

// The same, given the square of the sine of half the angle between two points: what the haversine
// formula adds up. It is not exact enough for points on the same meridian, if they are close: with
// such a sine of half the difference of longitudes, their latitudes give the distance.
inline double arc_distance(double square) {
  return 2.0 * kEarthRadius * std::asin(std::sqrt(std::min(square, 1.0)));
}
constexpr bool is_same_meridian(double sine) { return sine <= 1e-15 && sine >= -1e-15; }

// ---- Cells ----

// A square of the map that has been halved `step` times in both directions.
struct GeoCell {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  int step = 0;

  bool operator==(const GeoCell&) const = default;
};

// The cell with this point, or the nearest one. REQUIRES: 1 <= step <= kGeoSteps.
GeoCell cell_of(GeoPoint point, int step);

// The neighbour so many columns to the east and rows to the north. Beyond an edge of the map comes
// the opposite edge.
GeoCell neighbour_of(const GeoCell& cell, int east, int north);

// The scores of the places in a cell: from `first` on, below `end`.
struct ScoreSpan {
  double first = 0;
  double end = 0;
};
constexpr ScoreSpan scores_of(const GeoCell& cell) {
  const int shift = 2 * (kGeoSteps - cell.step);
  const std::uint64_t number = interleave({cell.x, cell.y});
  return {static_cast<double>(number << shift), static_cast<double>((number + 1) << shift)};
}

}  // namespace mayfly
