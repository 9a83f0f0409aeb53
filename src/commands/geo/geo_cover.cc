// SPDX-License-Identifier: Apache-2.0
#include "commands/geo/geo_cover.h"

#include <algorithm>
#include <cmath>

namespace mayfly {
namespace {

// Where a coordinate is on the grid; not limited to it.
std::int64_t grid_number(double value, double most) {
  return static_cast<std::int64_t>(std::floor((value + most) / (2 * most) * kGeoPlaces));
}

// The first place of a cell, and how many columns and rows it has.
struct Square {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t side;
};
Square square_of(const GeoCell& cell) {
  const int shift = kGeoSteps - cell.step;
  return {cell.x << shift, cell.y << shift, std::uint32_t{1} << shift};
}

// A step at which a shape is about as large as a cell. The distances are those of the map's
// projection; near the poles a cell has far less meters.
int estimated_step(double reach, double latitude) {
  constexpr double kMapReach = 20037726.37;  // from the equator to the edge of the map, in meters
  int step = kGeoSteps;
  if (reach > 0) {
    step = -1;
    for (double side = kMapReach; reach < side && step <= kGeoSteps + 2; side /= 2) ++step;
  }
  if (std::abs(latitude) > 66) --step;
  if (std::abs(latitude) > 80) --step;
  return reach > 0 ? std::clamp(step, 1, kGeoSteps) : kGeoSteps;
}

double coordinate(std::int64_t number, int step, double most) {
  return -most + static_cast<double>(number) / (1 << step) * (2 * most);
}

// Whether a cell and its neighbours hold all of a shape.
bool covers(const GeoCell& cell, const GeoBounds& bounds) {
  if (cell.step == 1) return true;
  const std::int64_t x = cell.x;
  const std::int64_t y = cell.y;
  const std::int64_t last = (1 << cell.step) - 1;
  const int step = cell.step;
  return bounds.west >= coordinate(x - 1, step, kLongitudeMax) &&
         bounds.east <= coordinate(x + 2, step, kLongitudeMax) &&
         (y <= 1 || bounds.south >= coordinate(y - 1, step, kLatitudeMax)) &&
         (y + 1 >= last || bounds.north <= coordinate(y + 2, step, kLatitudeMax));
}

// Valkey's question whether a cell is too small. At the edges of the map, where the neighbour is at
// the opposite edge, it nearly always is.
bool is_too_small(const GeoCell& cell, const GeoBounds& bounds) {
  const int step = cell.step;
  const GeoCell after = neighbour_of(cell, 1, 1);
  const GeoCell before = neighbour_of(cell, -1, -1);
  return coordinate(std::int64_t{after.y} + 1, step, kLatitudeMax) < bounds.north ||
         coordinate(before.y, step, kLatitudeMax) > bounds.south ||
         coordinate(std::int64_t{after.x} + 1, step, kLongitudeMax) < bounds.east ||
         coordinate(before.x, step, kLongitudeMax) > bounds.west;
}

GeoCell central_cell(const GeoShape& shape) {
  int step = estimated_step(shape.reach(), shape.center().latitude);
  GeoCell cell = cell_of(shape.center(), step);
  if (step > 1 && is_too_small(cell, shape.rough_bounds())) cell = cell_of(shape.center(), --step);
  while (!covers(cell, shape.bounds())) cell = cell_of(shape.center(), --step);
  return cell;
}

}  // namespace

// Members are in the middle of their places, so rounding plays no part.
GeoWindow::GeoWindow(const GeoBounds& bounds) {
  constexpr std::int64_t kLast = kGeoPlaces - 1;
  const std::int64_t west = grid_number(bounds.west, kLongitudeMax);
  const std::int64_t east = grid_number(bounds.east, kLongitudeMax);
  const std::int64_t south = grid_number(bounds.south, kLatitudeMax);
  const std::int64_t north = grid_number(bounds.north, kLatitudeMax);
  west_ = static_cast<std::uint32_t>(west & kLast);
  columns_ = static_cast<std::uint32_t>(std::min(east - west, kLast));
  south_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(south, 0, kLast));
  rows_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(north, 0, kLast)) - south_;
}

bool GeoWindow::meets(const GeoCell& cell) const {
  const Square square = square_of(cell);
  if (square.y > south_ + rows_ || square.y + (square.side - 1) < south_) return false;
  constexpr std::uint32_t kMask = kGeoPlaces - 1;
  return ((square.x - west_) & kMask) <= columns_ || ((west_ - square.x) & kMask) < square.side;
}

bool GeoWindow::encloses(const GeoCell& cell) const {
  const Square square = square_of(cell);
  if (square.y < south_ || square.y + (square.side - 1) > south_ + rows_) return false;
  if (columns_ == kGeoPlaces - 1) return true;
  const std::uint32_t offset = (square.x - west_) & (kGeoPlaces - 1);
  return offset + (square.side - 1) <= columns_;
}

bool GeoWindow::is_at_edge() const {
  return south_ + rows_ == kGeoPlaces - 1 || west_ == 0 || west_ + columns_ >= kGeoPlaces - 1;
}

GeoCover::GeoCover(const GeoShape& shape, const GeoWindow& window) {
  struct Offset {
    int east;
    int north;
  };
  static constexpr Offset kOffsets[] = {{0, 0}, {0, 1},  {0, -1}, {1, 0},  {-1, 0},
                                        {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
  const GeoCell center = central_cell(shape);
  for (const Offset offset : kOffsets) {
    const GeoCell cell = neighbour_of(center, offset.east, offset.north);
    if (!window.meets(cell) || std::ranges::count(cells(), cell) > 0) continue;
    cells_[count_++] = cell;
  }
}

}  // namespace mayfly
