// SPDX-License-Identifier: Apache-2.0
// Positions as scores and back, cells, geohashes and distances.

#include "commands/geo/geohash.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "mayfly/random.h"

namespace mayfly {
namespace geohash_test {

// A number from low to high.
double between(Random& random, double low, double high) {
  return low + static_cast<double>(random.below(1'000'000'001)) / 1e9 * (high - low);
}
GeoPoint some_point(Random& random) {
  return {between(random, -180, 180), between(random, -kLatitudeMax, kLatitudeMax)};
}

std::string_view text_of(const GeohashText& text) { return {text.data(), text.size()}; }

TEST(GeohashTest, InterleavesBits) {
  EXPECT_EQ(interleave({0, 0}), 0u);
  EXPECT_EQ(interleave({0, 1}), 1u);
  EXPECT_EQ(interleave({1, 0}), 2u);
  EXPECT_EQ(interleave({0b1100, 0b1010}), 0b11100100u);
  EXPECT_EQ(interleave({0xFFFFFFFF, 0}), 0xAAAAAAAAAAAAAAAAu);
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t bits = random.below(UINT64_MAX);
    EXPECT_EQ(interleave(deinterleave(bits)), bits);
  }
}

// These are the scores that Redis and Valkey give these positions.
TEST(GeohashTest, ScoresAreThoseOfOtherServers) {
  EXPECT_EQ(score_of({13.361389, 38.115556}), 3479099956230698);
  EXPECT_EQ(score_of({15.087269, 37.502669}), 3479447370796909);
  EXPECT_EQ(score_of({-73.9733487, 40.7648057}), 1791875761332224);
  EXPECT_EQ(score_of({0, 0}), 3377699720527872);
  EXPECT_EQ(score_of({-180, -kLatitudeMax}), 0);
  EXPECT_EQ(score_of({180, -kLatitudeMax}), 9007199254740992);
  EXPECT_EQ(score_of({-180, kLatitudeMax}), 4503599627370496);
  EXPECT_LT(score_of({180, kLatitudeMax}), kBeyondScoreEnd);
}

TEST(GeohashTest, APointIsFoundAgainWithinAMeter) {
  Random random(2);
  for (int i = 0; i < 10'000; ++i) {
    const GeoPoint point = some_point(random);
    const GeoPoint found = point_of(score_of(point));
    EXPECT_NEAR(found.longitude, point.longitude, 180.0 / kGeoPlaces * 1.0001);
    EXPECT_NEAR(found.latitude, point.latitude, kLatitudeMax / kGeoPlaces * 1.0001);
    EXPECT_EQ(score_of(found), score_of(point));
  }
}

TEST(GeohashTest, EdgesStayOnTheMap) {
  for (const double longitude : {-180.0, 180.0}) {
    for (const double latitude : {-kLatitudeMax, kLatitudeMax}) {
      const GeoPoint found = point_of(score_of({longitude, latitude}));
      EXPECT_TRUE(is_on_map(found));
      EXPECT_NEAR(found.longitude, longitude, 3e-6);
      EXPECT_NEAR(found.latitude, latitude, 3e-6);
    }
  }
}

TEST(GeohashTest, TellsWhatIsOnTheMap) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(is_on_map({180, 85.05112878}));
  EXPECT_TRUE(is_on_map({-180, -85.05112878}));
  EXPECT_FALSE(is_on_map({180.0000001, 0}));
  EXPECT_FALSE(is_on_map({-180.0000001, 0}));
  EXPECT_FALSE(is_on_map({0, 85.0511288}));
  EXPECT_FALSE(is_on_map({0, -85.0511288}));
  EXPECT_FALSE(is_on_map({kInfinity, 0}));
  EXPECT_FALSE(is_on_map({0, std::numeric_limits<double>::quiet_NaN()}));
}

// Any sorted set may be read as positions.
TEST(GeohashTest, AnyScoreIsAPosition) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double score :
       {-kInfinity, -1e300, -1.0, -0.5, 0.0, 1.5, 1e17, 1.7e19, 1e300, kInfinity}) {
    EXPECT_TRUE(is_on_map(point_of(score))) << score;
  }
  EXPECT_EQ(score_bits(-1), UINT64_MAX);
  EXPECT_EQ(score_bits(1.9), 1u);
  EXPECT_EQ(score_bits(9223372036854775808.0), std::uint64_t{1} << 63);
  EXPECT_EQ(score_bits(kInfinity), 0u);
  EXPECT_EQ(score_bits(-kInfinity), std::uint64_t{1} << 63);
}

TEST(GeohashTest, TextIsTheStandardGeohash) {
  EXPECT_EQ(text_of(geohash_text({-5.6, 42.6})), "ezs42e44yx0");
  EXPECT_EQ(text_of(geohash_text(point_of(score_of({13.361389, 38.115556})))), "sqc8b49rny0");
  EXPECT_EQ(text_of(geohash_text({0, 0})), "s0000000000");
  EXPECT_EQ(text_of(geohash_text({-180, -85})).substr(0, 2), "00");
}

TEST(GeohashTest, DistancesFollowTheGreatCircle) {
  const double quarter = kEarthRadius * std::numbers::pi / 2;
  EXPECT_EQ(distance_between({10, 20}, {10, 20}), 0);
  EXPECT_NEAR(distance_between({0, 0}, {90, 0}), quarter, 1e-3);
  EXPECT_NEAR(distance_between({0, 0}, {180, 0}), 2 * quarter, 1e-3);
  EXPECT_NEAR(distance_between({179, 0}, {-179, 0}), quarter / 45, 1e-3);
  EXPECT_NEAR(distance_between({0, -45}, {0, 45}), quarter, 1e-3);
  EXPECT_NEAR(distance_between({0, 85}, {180, 85}), quarter / 9, 1e-3);
  EXPECT_NEAR(distance_between({13.361389, 38.115556}, {15.087269, 37.502669}), 166274.2, 0.1);
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const GeoPoint a = some_point(random);
    const GeoPoint b = some_point(random);
    EXPECT_EQ(distance_between(a, b), distance_between(b, a));
    EXPECT_LE(distance_between(a, b), 2 * quarter * 1.0000001);
  }
}

TEST(GeohashTest, ACellIsTheRangeOfItsScores) {
  Random random(4);
  for (int i = 0; i < 10'000; ++i) {
    const int step = 1 + static_cast<int>(random.below(kGeoSteps));
    const GeoPoint point = some_point(random);
    const GeoPoint other = some_point(random);
    const GeoCell cell = cell_of(point, step);
    const auto is_inside = [&](GeoPoint tested) {
      const double score = score_of(tested);
      return score >= scores_of(cell).first && score < scores_of(cell).end;
    };
    EXPECT_TRUE(is_inside(point));
    EXPECT_EQ(is_inside(other), cell_of(other, step) == cell);
  }
  EXPECT_EQ(scores_of({0, 0, 1}).first, 0);
  EXPECT_EQ(scores_of({1, 1, 1}).end, kGridScoreEnd);
  EXPECT_EQ(scores_of({3, 0, kGeoSteps}).end - scores_of({3, 0, kGeoSteps}).first, 1);
}

TEST(GeohashTest, CellsEndAtTheEdgesOfTheMap) {
  EXPECT_EQ(cell_of({180, kLatitudeMax}, 3), (GeoCell{7, 7, 3}));
  EXPECT_EQ(cell_of({-180, -kLatitudeMax}, 3), (GeoCell{0, 0, 3}));
  EXPECT_EQ(cell_of({190, 90}, 3), (GeoCell{7, 7, 3}));  // the center of a polygon
  EXPECT_EQ(cell_of({0, -90}, 1), (GeoCell{1, 0, 1}));
}

TEST(GeohashTest, NeighboursAreTakenAroundTheMap) {
  const GeoCell cell{0, 7, 3};
  EXPECT_EQ(neighbour_of(cell, 1, 0), (GeoCell{1, 7, 3}));
  EXPECT_EQ(neighbour_of(cell, 0, -1), (GeoCell{0, 6, 3}));
  EXPECT_EQ(neighbour_of(cell, -1, 0), (GeoCell{7, 7, 3}));
  EXPECT_EQ(neighbour_of(cell, -1, 1), (GeoCell{7, 0, 3}));
}

}  // namespace geohash_test
}  // namespace mayfly
