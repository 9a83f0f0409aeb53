// SPDX-License-Identifier: Apache-2.0
// Sums and products are rounded as Redis and Valkey round them, so that all agree about points on
// an edge.

#include "commands/geo/geo_shape.h"

#include <utility>

namespace mayfly {
namespace {

constexpr double kTurn = 360;  // degrees

double radians(double degrees) { return degrees * kRadiansInDegree; }
double degrees(double radians) { return radians / kRadiansInDegree; }

// How many degrees of longitude a length is on the parallel that is farthest from the equator.
double rough_turn(double length, double farthest) {
  if (farthest >= 90) return kTurn;
  return std::min(degrees(length / kEarthRadius / std::cos(radians(farthest))), kTurn);
}

// How many degrees to the east a circle goes: to the meridian that touches it.
double circle_turn(double radius, double latitude, double farthest) {
  if (farthest >= 90) return kTurn;  // there is a pole in it
  constexpr double kRounding = 1 + 1e-12;
  const double sine = std::sin(radius / kEarthRadius) / std::cos(radians(latitude)) * kRounding;
  return degrees(std::asin(std::min(sine, 1.0)));
}

// The same of a box. On a parallel near a pole, a distance is a longer way around it.
double box_turn(double half_width, double farthest) {
  const double angle = half_width / kEarthRadius;
  const double cosine = std::cos(radians(std::min(farthest, kLatitudeMax)));
  if (angle >= std::numbers::pi || std::sin(angle / 2) >= cosine) return kTurn;
  return degrees(2 * std::asin(std::sin(angle / 2) / cosine));
}

}  // namespace

GeoShape::GeoShape(Kind kind, GeoPoint center)
    : kind_(kind),
      center_(center),
      longitude_(radians(center.longitude)),
      latitude_(radians(center.latitude)),
      cosine_(std::cos(latitude_)) {}

GeoShape GeoShape::circle(GeoPoint center, double radius) {
  GeoShape shape(Kind::circle, center);
  shape.half_width_ = radius;
  shape.reach_ = radius;
  shape.set_bounds(radius, radius);
  shape.set_limits(radius);
  return shape;
}

GeoShape GeoShape::box(GeoPoint center, double width, double height) {
  GeoShape shape(Kind::box, center);
  shape.half_width_ = width / 2;
  shape.half_height_ = height / 2;
  shape.reach_ =
      std::sqrt(shape.half_width_ * shape.half_width_ + shape.half_height_ * shape.half_height_);
  shape.set_bounds(shape.half_width_, shape.half_height_);
  return shape;
}

GeoShape GeoShape::polygon(std::vector<GeoPoint> vertices) {
  GeoBounds bounds{kLongitudeMax, -kLongitudeMax, kLatitudeMax, -kLatitudeMax};
  double x = 0, y = 0, z = 0;  // the sum of the vertices, as vectors from the earth's center
  for (const GeoPoint vertex : vertices) {
    bounds.west = std::min(bounds.west, vertex.longitude);
    bounds.east = std::max(bounds.east, vertex.longitude);
    bounds.south = std::min(bounds.south, vertex.latitude);
    bounds.north = std::max(bounds.north, vertex.latitude);
    const double longitude = radians(vertex.longitude);
    const double latitude = radians(vertex.latitude);
    x += std::cos(latitude) * std::cos(longitude);
    y += std::cos(latitude) * std::sin(longitude);
    z += std::sin(latitude);
  }
  const GeoPoint center{degrees(std::atan2(y, x)),
                        degrees(std::atan2(z, std::sqrt(x * x + y * y)))};
  GeoShape shape(Kind::polygon, center);
  for (const double longitude : {bounds.west, bounds.east}) {
    for (const double latitude : {bounds.south, bounds.north}) {
      shape.reach_ = std::max(shape.reach_, distance_between(center, {longitude, latitude}));
    }
  }
  shape.bounds_ = shape.rough_bounds_ = bounds;
  shape.vertices_ = std::move(vertices);
  return shape;
}

void GeoShape::set_bounds(double half_width, double half_height) {
  const double rise = std::min(degrees(half_height / kEarthRadius), kTurn);
  const double farthest = std::abs(center_.latitude) + rise;
  const auto bounds = [&](double turn) {
    return GeoBounds{center_.longitude - turn, center_.longitude + turn, center_.latitude - rise,
                     center_.latitude + rise};
  };
  rough_bounds_ = bounds(rough_turn(half_width, farthest));
  bounds_ = bounds(kind_ == Kind::box ? box_turn(half_width, farthest)
                                      : circle_turn(half_width, center_.latitude, farthest));
}

// Only squares that are close to the radius need the arcsine.
void GeoShape::set_limits(double radius) {
  constexpr double kClose = 1e-9;
  const double angle = radius / (2 * kEarthRadius);
  const double sine = angle < std::numbers::pi / 2 ? std::sin(angle) : 2;
  square_inside_ = sine * sine * (1 - kClose);
  square_outside_ = sine * sine * (1 + kClose);
}

// ---- Points ----

GeoShape::Way GeoShape::way_to(GeoPoint point) const {
  const double v = std::sin((radians(point.longitude) - longitude_) / 2);
  const double latitude = radians(point.latitude);
  return {latitude, std::cos(latitude), v, is_same_meridian(v)};
}

// The square of the sine of half the angle between the center and a point.
double GeoShape::square(const Way& way) const {
  const double u = std::sin((way.latitude - latitude_) / 2);
  return u * u + cosine_ * way.cosine * way.v * way.v;
}

double GeoShape::distance(const Way& way) const {
  if (way.is_meridian) return kEarthRadius * std::abs(way.latitude - latitude_);
  return arc_distance(square(way));
}

bool GeoShape::box_contains(const Way& way) const {
  if (kEarthRadius * std::abs(latitude_ - way.latitude) > half_height_) return false;
  if (way.is_meridian) return true;
  return arc_distance(way.cosine * way.cosine * way.v * way.v) <= half_width_;
}

// Counts the edges that a ray to the east crosses.
bool GeoShape::polygon_contains(GeoPoint point) const {
  bool is_inside = false;
  GeoPoint before = vertices_.back();
  for (const GeoPoint vertex : vertices_) {
    const bool is_crossed =
        (vertex.latitude > point.latitude) != (before.latitude > point.latitude);
    if (is_crossed && point.longitude < (before.longitude - vertex.longitude) *
                                                (point.latitude - vertex.latitude) /
                                                (before.latitude - vertex.latitude) +
                                            vertex.longitude) {
      is_inside = !is_inside;
    }
    before = vertex;
  }
  return is_inside;
}

bool GeoShape::contains(GeoPoint point) const {
  if (kind_ == Kind::polygon) return polygon_contains(point);
  const Way way = way_to(point);
  if (kind_ == Kind::box) return box_contains(way);
  if (way.is_meridian) return distance(way) <= half_width_;
  const double square = this->square(way);
  if (square < square_inside_) return true;
  return square <= square_outside_ && arc_distance(square) <= half_width_;
}

std::optional<double> GeoShape::distance_inside(GeoPoint point) const {
  if (kind_ == Kind::polygon && !polygon_contains(point)) return std::nullopt;
  const Way way = way_to(point);
  if (kind_ == Kind::box && !box_contains(way)) return std::nullopt;
  if (kind_ != Kind::circle || way.is_meridian) {
    const double found = distance(way);
    if (kind_ == Kind::circle && found > half_width_) return std::nullopt;
    return found;
  }
  const double square = this->square(way);
  if (square > square_outside_) return std::nullopt;
  const double found = arc_distance(square);
  if (found > half_width_) return std::nullopt;
  return found;
}

}  // namespace mayfly
