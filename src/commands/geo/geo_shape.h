// SPDX-License-Identifier: Apache-2.0
// GeoShape: the area that a search looks at: a circle, a box or a polygon.
//
//   const auto shape = GeoShape::circle({13.4, 52.5}, 2000);
//   shape.contains(point);                  // without the distance, where that is cheaper
//   shape.distance_inside(point);           // from the center; nothing if it is outside
//
// A box is given by the lengths of its sides: a point is inside if neither its parallel nor its
// meridian is farther from the center than half a side. So its sides are bent on a map. A polygon
// is one on the map, with longitudes and latitudes as coordinates: an edge never crosses the 180th
// meridian, and a point inside an even number of its loops is outside. Its center is the mean of
// its vertices on the globe, which may be far away from it.

#pragma once

#include <optional>
#include <vector>

#include "commands/geo/geohash.h"

namespace mayfly {

// What encloses a shape, in degrees. Around the 180th meridian, `west` is below -180 or `east`
// above 180.
struct GeoBounds {
  double west = 0;
  double east = 0;
  double south = 0;
  double north = 0;
};

class GeoShape {
 public:
  // All lengths are in meters; they may be infinite. REQUIRES: the points are on the map.
  static GeoShape circle(GeoPoint center, double radius);
  static GeoShape box(GeoPoint center, double width, double height);
  static GeoShape polygon(std::vector<GeoPoint> vertices);  // at least 3

  GeoPoint center() const { return center_; }
  const GeoBounds& bounds() const { return bounds_; }

  // As Valkey estimates them: a circle is often narrower, a box a little wider.
  const GeoBounds& rough_bounds() const { return rough_bounds_; }

  // About the greatest distance from the center, in meters.
  double reach() const { return reach_; }

  // REQUIRES, of both: the point is on the map.
  bool contains(GeoPoint point) const;
  std::optional<double> distance_inside(GeoPoint point) const;

 private:
  enum class Kind { circle, box, polygon };

  GeoShape(Kind kind, GeoPoint center);
  void set_bounds(double half_width, double half_height);
  void set_limits(double radius);
  bool polygon_contains(GeoPoint point) const;

  // What the haversine formula makes of the center and a point.
  struct Way {
    double latitude;   // of the point, in radians
    double cosine;     // of this latitude
    double v;          // sine of half the difference of longitudes
    bool is_meridian;  // there is practically no such difference
  };
  Way way_to(GeoPoint point) const;
  double distance(const Way& way) const;
  double square(const Way& way) const;
  bool box_contains(const Way& way) const;

  Kind kind_;
  GeoPoint center_;
  double longitude_ = 0;  // of the center, in radians
  double latitude_ = 0;
  double cosine_ = 0;
  GeoBounds bounds_;
  GeoBounds rough_bounds_;
  double reach_ = 0;
  double half_width_ = 0;   // of a box; of a circle the radius
  double half_height_ = 0;  // of a box
  // A circle contains what has a lesser square than the one; not what has a greater than the other.
  double square_inside_ = 0;
  double square_outside_ = 0;
  std::vector<GeoPoint> vertices_;  // of a polygon
};

}  // namespace mayfly
