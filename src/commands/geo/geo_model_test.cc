// SPDX-License-Identifier: Apache-2.0
// Random searches against a model that looks at every member. Positions and areas are often close
// to the poles and to the 180th meridian, and members have deadlines.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "commands/geo/geo_fixture.h"
#include "commands/geo/geo_reply.h"
#include "commands/geo/geohash.h"
#include "mayfly/random.h"
#include "resp/numbers.h"

namespace mayfly {
namespace geo_model_test {

struct ModelPlace {
  GeoPoint point;
  Time deadline = kNever;
};

// What a search should find: names and distances.
using Found = std::map<std::string, double>;

// An area in the words of a request, and whether a point is in it.
struct ModelArea {
  std::string words;
  GeoPoint center;
  std::vector<GeoPoint> vertices;  // of a polygon
  double width = 0;                // of a box
  double height = 0;
  double radius = -1;  // of a circle

  bool contains(GeoPoint point) const {
    if (radius >= 0) return distance_between(center, point) <= radius;
    if (vertices.empty()) {
      const GeoPoint beside{center.longitude, point.latitude};
      const GeoPoint above{center.longitude, center.latitude};
      return distance_between(beside, point) <= width / 2 &&
             distance_between(above, beside) <= height / 2;
    }
    // An even number of edges to the east of it, or an odd one.
    int crossed = 0;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      const GeoPoint a = vertices[i];
      const GeoPoint b = vertices[(i + 1) % vertices.size()];
      if ((a.latitude > point.latitude) == (b.latitude > point.latitude)) continue;
      const double part = (point.latitude - a.latitude) / (b.latitude - a.latitude);
      crossed += a.longitude + part * (b.longitude - a.longitude) > point.longitude;
    }
    return crossed % 2 == 1;
  }
};

class GeoModelTest : public GeoFixture {
 protected:
  double between(double low, double high) { return low + random_.fraction() * (high - low); }

  GeoPoint near(GeoPoint center, double spread) {
    const double longitude = center.longitude + between(-spread, spread);
    return {std::remainder(longitude, 360),
            std::clamp(center.latitude + between(-spread, spread), -kLatitudeMax, kLatitudeMax)};
  }
  GeoPoint some_point() {
    if (random_.below(3) > 0) return near(focus_, spread_);
    if (random_.below(10) == 0) return {180, between(-80, 80)};
    return {between(-180, 180), between(-kLatitudeMax, kLatitudeMax)};
  }
  static std::string words(GeoPoint point) {
    return " " + format_double(point.longitude) + " " + format_double(point.latitude);
  }
  std::string some_name() { return "m" + std::to_string(random_.below(names_)); }

  // ---- Changes ----

  void add_some() {
    std::string line = "GEOADD g";
    for (std::size_t i = 0; i < 1 + random_.below(names_ / 4); ++i) {
      const std::string name = some_name();
      const GeoPoint point = some_point();
      line += words(point) + " " + name;
      ModelPlace& place = model_[name];
      if (is_due(place.deadline, now())) place.deadline = kNever;
      place.point = point_of(score_of(point));
    }
    ASSERT_TRUE(run(line).starts_with("(integer)"));
  }
  void forget_due() {
    std::erase_if(model_, [&](const auto& item) { return is_due(item.second.deadline, now()); });
  }
  void change() {
    forget_due();
    if (model_.empty() || random_.below(3) > 0) return add_some();
    const std::string name = some_name();
    const auto found = model_.find(name);
    if (found == model_.end()) return;
    if (random_.below(3) == 0) {
      run({"ZREM", "g", name});
      model_.erase(found);
    } else {
      found->second.deadline = now() + Millis(1 + random_.below(50));
      expire_in("g", name, found->second.deadline - now());
    }
  }

  // ---- Searches ----

  ModelArea some_area() {
    static constexpr std::pair<std::string_view, double> kUnits[] = {
        {" m", 1}, {" km", 1000}, {" ft", 0.3048}, {" mi", 1609.34}};
    const auto [unit, meters] = kUnits[random_.below(4)];
    const auto length = [&] { return std::pow(10, between(2, 7.4)) / meters; };
    ModelArea area;
    const std::uint64_t kind = random_.below(3);
    if (kind == 2) return some_polygon();
    const auto named = model_.find(some_name());
    if (named != model_.end() && !is_due(named->second.deadline, now())) {
      area.center = named->second.point;
      area.words = " FROMMEMBER " + named->first;
    } else {
      area.center = some_point();
      area.words = " FROMLONLAT" + words(area.center);
    }
    const double first = length();
    const double second = length();
    if (kind == 0) {
      area.radius = first * meters;
      area.words += " BYRADIUS " + format_double(first) + std::string(unit);
    } else {
      area.width = first * meters;
      area.height = second * meters;
      area.words +=
          " BYBOX " + format_double(first) + " " + format_double(second) + std::string(unit);
    }
    return area;
  }
  ModelArea some_polygon() {
    ModelArea area;
    const double size = std::pow(10, between(-2, 2));
    const std::size_t count = 3 + random_.below(5);
    area.words = " BYPOLYGON " + std::to_string(count);
    double x = 0, y = 0, z = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const GeoPoint vertex = near(focus_, size);
      area.vertices.push_back(vertex);
      area.words += words(vertex);
      x += std::cos(vertex.latitude * kRadiansInDegree) *
           std::cos(vertex.longitude * kRadiansInDegree);
      y += std::cos(vertex.latitude * kRadiansInDegree) *
           std::sin(vertex.longitude * kRadiansInDegree);
      z += std::sin(vertex.latitude * kRadiansInDegree);
    }
    area.center = {std::atan2(y, x) / kRadiansInDegree,
                   std::atan2(z, std::hypot(x, y)) / kRadiansInDegree};
    return area;
  }

  Found expected(const ModelArea& area) const {
    Found found;
    for (const auto& [name, place] : model_) {
      if (is_due(place.deadline, now()) || !area.contains(place.point)) continue;
      found[name] = distance_between(area.center, place.point);
    }
    return found;
  }

  // The names of a reply, in its order.
  std::vector<std::string> names_of(const std::string& line) {
    std::vector<std::string> names;
    const std::string text = flat(line);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      names.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return names;
  }

  void search() {
    const ModelArea area = some_area();
    const Found all = expected(area);
    const std::size_t order = random_.below(3);
    const std::size_t count = random_.below(2) == 0 ? 1 + random_.below(20) : 0;
    const bool any = count > 0 && random_.below(2) == 0;
    std::string line = "GEOSEARCH g" + area.words;
    if (order > 0) line += order == 1 ? " ASC" : " DESC";
    if (count > 0) line += " COUNT " + std::to_string(count) + (any ? " ANY" : "");

    const std::vector<std::string> names = names_of(line);
    std::vector<double> distances;
    for (const std::string& name : names) {
      ASSERT_TRUE(all.contains(name)) << line << ": " << name;
      distances.push_back(all.at(name));
    }
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << line;
    EXPECT_EQ(names.size(), count > 0 ? std::min(count, all.size()) : all.size()) << line;
    found_ += names.size();
    if (order == 0 && (count == 0 || any)) return;
    std::vector<double> best;
    for (const auto& [name, distance] : all) best.push_back(distance);
    if (any) best = distances;
    std::ranges::sort(best);
    if (order == 2) std::ranges::reverse(best);
    best.resize(names.size());
    for (std::size_t i = 0; i < best.size(); ++i) {
      // The center of a polygon is rounded in another way.
      EXPECT_NEAR(distances[i], best[i], 1e-6) << line;
    }
  }

  void store() {
    const ModelArea area = some_area();
    const Found all = expected(area);
    const bool distances = area.words.find(" m") != std::string::npos && random_.below(2) == 0;
    const std::string line = "GEOSEARCHSTORE t g" + area.words + (distances ? " STOREDIST" : "");
    EXPECT_EQ(run(line), "(integer) " + std::to_string(all.size())) << line;
    EXPECT_EQ(run("EXISTS t"), all.empty() ? "(integer) 0" : "(integer) 1");
    for (const auto& [name, distance] : all) {
      const std::string score = run({"ZSCORE", "t", name});
      if (distances && area.words.ends_with(" m")) {
        EXPECT_EQ(score, "\"" + format_double(distance) + "\"") << line;
      } else if (!distances) {
        EXPECT_EQ(score, "\"" + format_double(score_of(model_[name].point)) + "\"");
      }
      EXPECT_EQ(deadline_of("t", name), kNever);
    }
  }

  void round(std::uint64_t seed) {
    random_ = Random(seed);
    run("DEL g t");
    model_.clear();
    names_ = 4 + random_.below(random_.below(2) == 0 ? 20 : 600);
    spread_ = std::pow(10, between(-2, 1.5));
    focus_ = {random_.below(2) == 0 ? between(-180, 180) : 180 - spread_ / 2,
              random_.below(2) == 0 ? between(-80, 80) : 85 - spread_ / 2};
    for (int step = 0; step < 150 && !HasFailure(); ++step) {
      const std::uint64_t what = random_.below(10);
      if (what < 3) change();
      if (what == 3) store();
      if (what > 3) search();
      if (random_.below(4) == 0) advance(Millis(random_.below(10)));
    }
  }

  Random random_{0};
  std::map<std::string, ModelPlace> model_;
  GeoPoint focus_;
  double spread_ = 1;
  std::size_t names_ = 0;
  std::size_t found_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Geo, GeoModelTest, kBothForms, form_name);

TEST_P(GeoModelTest, FindsWhatALookAtEveryMemberFinds) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    round(seed);
  }
  EXPECT_GT(found_, 20'000u);
}

}  // namespace geo_model_test
}  // namespace mayfly
