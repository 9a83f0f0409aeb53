// SPDX-License-Identifier: Apache-2.0
// Where on the map the members of a shape can be: a window of the grid around it, and the cells
// that a search visits, in their order.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "commands/geo/geo_shape.h"
#include "commands/geo/geohash.h"

namespace mayfly {

// A rectangle of places that has all members in a shape; they are in the middle of their places.
// The column after the last one is the first.
class GeoWindow {
 public:
  explicit GeoWindow(const GeoBounds& bounds);

  bool has(GeoPlace place) const {
    return place.y - south_ <= rows_ && ((place.x - west_) & (kGeoPlaces - 1)) <= columns_;
  }
  bool meets(const GeoCell& cell) const;     // whether they have a place in common
  bool encloses(const GeoCell& cell) const;  // whether it has all places of the cell

  // Whether the shape may have points whose scores are beyond the grid.
  bool is_at_edge() const;

 private:
  std::uint32_t west_ = 0;
  std::uint32_t south_ = 0;
  std::uint32_t columns_ = 0;  // but one; that of kGeoPlaces - 1 has all
  std::uint32_t rows_ = 0;     // but one
};

// The cells with all members of a shape: that with its center and up to eight around it. They are
// those that Valkey takes, in its order, so that results without an order come in the same one.
// Where these miss a part of the shape (large ones near the poles or around the 180th meridian),
// they are larger. Cells that do not meet the window are left out.
class GeoCover {
 public:
  GeoCover(const GeoShape& shape, const GeoWindow& window);

  std::span<const GeoCell> cells() const { return {cells_.data(), count_}; }

 private:
  std::array<GeoCell, 9> cells_;
  std::size_t count_ = 0;
};

}  // namespace mayfly
