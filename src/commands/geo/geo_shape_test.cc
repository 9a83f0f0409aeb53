// SPDX-License-Identifier: Apache-2.0
// What circles, boxes and polygons contain; their bounds and cells hold all of it.

#include "commands/geo/geo_shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "commands/geo/geo_cover.h"
#include "mayfly/random.h"

namespace mayfly {
namespace geo_shape_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kDegree = kEarthRadius * kRadiansInDegree;  // of a great circle, in meters

double between(Random& random, double low, double high) {
  return low + static_cast<double>(random.below(1'000'000'001)) / 1e9 * (high - low);
}
GeoPoint some_point(Random& random) {
  return {between(random, -180, 180), between(random, -kLatitudeMax, kLatitudeMax)};
}

// Often close to the edges of the map.
GeoPoint some_center(Random& random) {
  const GeoPoint point = some_point(random);
  switch (random.below(4)) {
    case 0:
      return {point.longitude, std::clamp(point.latitude * 20, -kLatitudeMax, kLatitudeMax)};
    case 1:
      return {std::clamp(point.longitude * 20, -180.0, 180.0), point.latitude};
    default:
      return point;
  }
}
double some_length(Random& random) { return std::pow(10, between(random, 0, 7.5)); }

GeoShape some_polygon(Random& random) {
  std::vector<GeoPoint> vertices;
  const GeoPoint near = some_center(random);
  const double size = std::pow(10, between(random, -3, 2.3));
  for (std::size_t i = 0; i < 3 + random.below(5); ++i) {
    vertices.push_back(
        {std::clamp(near.longitude + between(random, -size, size), -180.0, 180.0),
         std::clamp(near.latitude + between(random, -size, size), -kLatitudeMax, kLatitudeMax)});
  }
  return GeoShape::polygon(std::move(vertices));
}

GeoShape some_shape(Random& random) {
  const GeoPoint center = some_center(random);
  switch (random.below(3)) {
    case 0:
      return GeoShape::circle(center, some_length(random));
    case 1:
      return GeoShape::box(center, some_length(random), some_length(random));
    default:
      return some_polygon(random);
  }
}

TEST(GeoShapeTest, ACircleContainsItsEdge) {
  const GeoPoint center{10, 50};
  const GeoPoint point{12, 51};
  const double distance = distance_between(center, point);
  EXPECT_EQ(GeoShape::circle(center, distance).distance_inside(point), distance);
  EXPECT_TRUE(GeoShape::circle(center, distance).contains(point));
  const double less = std::nextafter(distance, 0);
  EXPECT_EQ(GeoShape::circle(center, less).distance_inside(point), std::nullopt);
  EXPECT_FALSE(GeoShape::circle(center, less).contains(point));
}

TEST(GeoShapeTest, ACircleOfNothingContainsItsCenter) {
  const GeoShape circle = GeoShape::circle({10, 50}, 0);
  EXPECT_EQ(circle.distance_inside({10, 50}), 0);
  EXPECT_TRUE(circle.contains({10, 50}));
  EXPECT_FALSE(circle.contains({10.000001, 50}));
  EXPECT_FALSE(circle.contains({10, 50.000001}));
}

TEST(GeoShapeTest, ACircleOfInfiniteSizeContainsTheMap) {
  const GeoShape circle = GeoShape::circle({10, 50}, kInfinity);
  EXPECT_TRUE(circle.contains({-170, -50}));
  EXPECT_TRUE(circle.contains({10, -85}));
  EXPECT_TRUE(circle.distance_inside({-170, -50}).has_value());
  EXPECT_TRUE(GeoShape::box({10, 50}, kInfinity, kInfinity).contains({-170, -50}));
}

TEST(GeoShapeTest, ABoxIsMeasuredFromItsCenter) {
  const GeoShape box = GeoShape::box({0, 60}, 2 * kDegree, 4 * kDegree);
  EXPECT_TRUE(box.contains({0, 61.99}));
  EXPECT_FALSE(box.contains({0, 62.01}));
  EXPECT_TRUE(box.contains({1.99, 60}));  // the parallel is half as long as the equator
  EXPECT_FALSE(box.contains({2.01, 60}));
  EXPECT_TRUE(box.contains({2.07, 61.99}));  // and shorter still
  EXPECT_FALSE(box.contains({1.9, 58}));
  EXPECT_NEAR(*box.distance_inside({0, 61}), kDegree, 1);
  EXPECT_EQ(box.distance_inside({0, 63}), std::nullopt);
}

TEST(GeoShapeTest, APolygonIsOneOnTheMap) {
  const GeoShape arrow = GeoShape::polygon({{0, 0}, {10, 0}, {10, 10}, {5, 3}, {0, 10}});
  EXPECT_TRUE(arrow.contains({5, 1}));
  EXPECT_TRUE(arrow.contains({1, 7}));
  EXPECT_FALSE(arrow.contains({5, 5}));
  EXPECT_FALSE(arrow.contains({11, 5}));
  EXPECT_FALSE(arrow.contains({5, -1}));
  EXPECT_EQ(arrow.distance_inside({5, 5}), std::nullopt);
  EXPECT_NEAR(*arrow.distance_inside({5, 1}), distance_between(arrow.center(), {5, 1}), 1e-6);
  EXPECT_NEAR(arrow.center().longitude, 5, 0.01);
}

TEST(GeoShapeTest, APolygonThatCrossesItselfHasHoles) {
  const GeoShape star = GeoShape::polygon({{0, 10}, {6, -8}, {-10, 3}, {10, 3}, {-6, -8}});
  EXPECT_FALSE(star.contains({0, 0}));
  EXPECT_TRUE(star.contains({0, 8}));
}

TEST(GeoShapeTest, TheDistanceDecidesWhatACircleContains) {
  Random random(6);
  for (int i = 0; i < 100'000; ++i) {
    const GeoPoint center = some_center(random);
    const GeoPoint point =
        i % 8 == 0 ? GeoPoint{center.longitude, some_point(random).latitude} : some_center(random);
    const double distance = distance_between(center, point);
    const double radius = i % 4 == 0   ? distance
                          : i % 4 == 1 ? distance * between(random, 0.9999999999, 1.0000000001)
                                       : some_length(random);
    const GeoShape circle = GeoShape::circle(center, radius);
    ASSERT_EQ(circle.contains(point), distance <= radius);
    ASSERT_EQ(circle.distance_inside(point).has_value(), distance <= radius);
    if (distance <= radius) {
      ASSERT_EQ(*circle.distance_inside(point), distance);
    }
  }
}

TEST(GeoShapeTest, ContainsWhatHasADistanceInside) {
  Random random(7);
  int inside = 0;
  for (int i = 0; i < 100'000; ++i) {
    const GeoShape shape = some_shape(random);
    const GeoPoint point = some_center(random);
    const std::optional<double> distance = shape.distance_inside(point);
    ASSERT_EQ(shape.contains(point), distance.has_value());
    if (!distance) continue;
    ASSERT_EQ(*distance, distance_between(shape.center(), point));
    ++inside;
  }
  EXPECT_GT(inside, 1000);
}

// A point close to the edge of a shape, or anywhere.
GeoPoint point_near(Random& random, const GeoShape& shape) {
  if (random.below(4) == 0) return point_of(score_of(some_center(random)));
  const GeoBounds& bounds = shape.bounds();
  const auto at = [&](double low, double high) {
    const double edge = random.below(2) == 0 ? low : high;
    const double far = between(random, low, high);
    return random.below(2) == 0 ? far : edge + (far - edge) * 0.02;
  };
  const double longitude = std::remainder(at(bounds.west, bounds.east), 360);
  const double latitude = std::clamp(at(bounds.south, bounds.north), -kLatitudeMax, kLatitudeMax);
  return point_of(score_of({longitude, latitude}));
}

// What a search may leave out: what is not in the window, and what is in none of the cells.
TEST(GeoShapeTest, CellsAndWindowHoldTheWholeShape) {
  Random random(8);
  int inside = 0;
  int at_edge = 0;
  for (int i = 0; i < 50'000; ++i) {
    const GeoShape shape = some_shape(random);
    const GeoWindow window(shape.bounds());
    const GeoCover cover(shape, window);
    for (int k = 0; k < 8; ++k) {
      const GeoPoint point = point_near(random, shape);
      if (!shape.contains(point)) continue;
      ++inside;
      const double score = score_of(point);
      if (score >= kGridScoreEnd) {
        ++at_edge;
        ASSERT_TRUE(window.is_at_edge());
        continue;
      }
      ASSERT_TRUE(window.has(place_of(score))) << point.longitude << " " << point.latitude;
      const auto cells = cover.cells();
      ASSERT_TRUE(std::any_of(cells.begin(), cells.end(),
                              [&](const GeoCell& cell) {
                                return score >= scores_of(cell).first &&
                                       score < scores_of(cell).end;
                              }))
          << i << ": " << point.longitude << " " << point.latitude;
    }
  }
  EXPECT_GT(inside, 50'000);
  EXPECT_GT(at_edge, 10);
}

TEST(GeoShapeTest, AWindowMeetsAndEnclosesCells) {
  Random random(9);
  for (int i = 0; i < 20'000; ++i) {
    const GeoWindow window(some_shape(random).bounds());
    const int step = 1 + static_cast<int>(random.below(kGeoSteps));
    const GeoCell cell = cell_of(some_center(random), step);
    const int shift = kGeoSteps - step;
    const std::uint32_t last = (1u << shift) - 1;
    const auto place = [&](std::uint32_t x, std::uint32_t y) {
      return GeoPlace{(cell.x << shift) + x, (cell.y << shift) + y};
    };
    bool has_any = false;
    bool has_all = true;
    for (int k = 0; k < 30; ++k) {
      const auto some = [&] {
        return std::array{0u, last,
                          static_cast<std::uint32_t>(random.below(last + 1u))}[random.below(3)];
      };
      const bool has = window.has(place(some(), some()));
      has_any = has_any || has;
      has_all = has_all && has;
    }
    ASSERT_TRUE(!has_any || window.meets(cell));
    ASSERT_TRUE(has_all || !window.encloses(cell));
  }
}

// They decide the order of results: see GeoCover.
TEST(GeoShapeTest, CellsAreThoseOfOtherServers) {
  const auto cells_of = [](const GeoShape& shape) {
    const GeoCover cover(shape, GeoWindow(shape.bounds()));
    std::string text;
    for (const GeoCell& cell : cover.cells()) {
      text += std::to_string(cell.step) + ":" + std::to_string(cell.x) + "," +
              std::to_string(cell.y) + " ";
    }
    return text;
  };
  EXPECT_EQ(cells_of(GeoShape::circle({0, 0}, kInfinity)), "1:1,1 1:1,0 1:0,1 1:0,0 ");
  EXPECT_EQ(cells_of(GeoShape::circle({-73.98, 40.76}, 3000)),
            "12:1206,3029 12:1206,3030 12:1206,3028 12:1205,3029 12:1205,3030 12:1205,3028 ");
  EXPECT_EQ(cells_of(GeoShape::circle({179.99, 10}, 3000)), "11:2047,1144 11:0,1144 ");
  EXPECT_EQ(cells_of(GeoShape::box({15, 84}, 200'000, 1000)), "4:8,15 4:9,15 ");
  EXPECT_EQ(cells_of(GeoShape::circle({30, 30}, 0)), "26:39146837,45390053 ");
}

}  // namespace geo_shape_test
}  // namespace mayfly
