// SPDX-License-Identifier: Apache-2.0
// GEOSEARCH and GEOSEARCHSTORE: areas, options, errors, and what is stored and propagated.

#include <gtest/gtest.h>

#include <vector>

#include "commands/geo/geo_fixture.h"

namespace mayfly {
namespace geo_search_test {

class GeoSearchTest : public GeoFixture {
 protected:
  // Names that have no spaces, of a reply without options.
  std::string search(std::string_view line) { return flat("GEOSEARCH " + std::string(line)); }
};
INSTANTIATE_TEST_SUITE_P(Geo, GeoSearchTest, kBothForms, form_name);

// ---- Areas ----

TEST_P(GeoSearchTest, FindsInACircle) {
  add_nyc();
  EXPECT_EQ(search("nyc FROMLONLAT -73.9798091 40.7598464 BYRADIUS 3 km ASC"),
            "central park n/q/r 4545 union square");
  EXPECT_EQ(search("nyc FROMLONLAT -73.9798091 40.7598464 BYRADIUS 3 km DESC"),
            "union square 4545 central park n/q/r");
  EXPECT_EQ(search("nyc FROMMEMBER jfk BYRADIUS 1 m"), "jfk");
  EXPECT_EQ(search("nyc BYRADIUS 0 ft FROMMEMBER q4"), "q4");
  EXPECT_EQ(search("nyc FROMLONLAT 0 0 BYRADIUS 1 km"), "");
  EXPECT_EQ(run("GEOSEARCH nyc FROMLONLAT 0 0 BYRADIUS inf km COUNT 1 ANY").size(), 11u);
}

TEST_P(GeoSearchTest, FindsInABox) {
  add_nyc();
  EXPECT_EQ(search("nyc FROMLONLAT -73.9798091 40.7598464 BYBOX 6 6 km ASC"),
            "central park n/q/r 4545 union square lic market");
  EXPECT_EQ(run({"GEOSEARCH", "nyc", "FROMMEMBER", "wtc one", "BYBOX", "14", "14", "km"}),
            "[\"wtc one\", \"union square\", \"central park n/q/r\", \"4545\", \"lic market\", "
            "\"q4\"]");
  add_sicily();
  run("GEOADD Sicily 12.758489 38.788135 edge1 17.241510 38.788135 edge2");
  EXPECT_EQ(search("Sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC"), "Catania Palermo edge2 edge1");
}

TEST_P(GeoSearchTest, FindsInALongAndNarrowBox) {
  run("GEOADD g 12.75 36.995 test1 12.75 36.50 test2 13.00 36.50 test3");
  EXPECT_EQ(search("g FROMLONLAT 15 37 BYBOX 400 2 km"), "test1");
  run("GEOADD g -1 37.00 test3");
  EXPECT_EQ(search("g FROMLONLAT 15 37 BYBOX 3000 2 km ASC"), "test1 test3");
}

TEST_P(GeoSearchTest, FindsTheCornersOfABox) {
  run("GEOADD g 12.758489 38.788135 edge1 17.241510 38.788135 edge2 17.250000 35.202000 edge3 "
      "12.750000 35.202000 edge4 12.748489955781654 37 edge5 15 38.798135872540925 edge6 "
      "17.251510044218346 37 edge7 15 35.201864127459075 edge8 "
      "12.692799634687903 38.798135872540925 corner1 12.692799634687903 38.798135872540925 corner2 "
      "17.200560937451133 35.201864127459075 corner3 "
      "12.799439062548865 35.201864127459075 corner4");
  EXPECT_EQ(search("g FROMLONLAT 15 37 BYBOX 400 400 km ASC"), "edge7 edge5 edge2 edge1");
}

TEST_P(GeoSearchTest, FindsAroundThe180thMeridian) {
  run("GEOADD g 179.5 36 point1 -179.5 36 point2");
  EXPECT_EQ(search("g FROMLONLAT 179 37 BYBOX 400 400 km ASC"), "point1 point2");
  EXPECT_EQ(search("g FROMLONLAT -179 37 BYBOX 400 400 km ASC"), "point2 point1");
  run("GEOADD g 180 36 end -180 36 begin");
  EXPECT_EQ(search("g FROMLONLAT -179 37 BYRADIUS 200 km ASC COUNT 3"), "point2 begin end");
  EXPECT_EQ(search("g FROMLONLAT 179 37 BYRADIUS 200 km ASC COUNT 3"), "point1 begin end");
  EXPECT_EQ(search("g FROMMEMBER end BYRADIUS 1 m ASC"), "end begin");
}

TEST_P(GeoSearchTest, FindsAcrossAPole) {
  run("GEOADD g -0.15307903289794921875 85 n1 0.3515625 85.00019260486917005437 n2");
  EXPECT_EQ(search("g FROMMEMBER n1 BYRADIUS 4891.94 m"), "n1 n2");
  run("DEL g");
  run("GEOADD g 45 65 n1 -135 85.05 n2");
  EXPECT_EQ(search("g FROMMEMBER n1 BYRADIUS 5009431 m"), "n1 n2");
  run("DEL g");
  run("GEOADD g 10 85 a -170 85 b 100 85 c 10 85.05112878 d");
  EXPECT_EQ(search("g FROMMEMBER a BYRADIUS 1200 km ASC"), "a d c b");
  EXPECT_EQ(search("g FROMMEMBER a BYBOX 2400 20 km ASC"), "a d c b");
}

TEST_P(GeoSearchTest, FindsInAPolygon) {
  run("GEOADD g 2 1 a 5 1 b 5 6 c 9.5 9 d 20 1 e");
  EXPECT_EQ(search("g BYPOLYGON 5 0 0 10 0 10 10 5 3 0 10 ASC"), "b a d");
  EXPECT_EQ(search("g BYPOLYGON 3 0 0 10 0 10 10 DESC COUNT 1"), "d");
  EXPECT_EQ(flat("GEOSEARCH g BYPOLYGON 4 0 0 10 0 10 10 0 10 WITHDIST ASC"),
            "c 109112.8601 b 447018.7620 a 557507.2272 d 665392.1544");
  // On the map it goes through 0, though its center is at 180.
  EXPECT_EQ(search("g BYPOLYGON 4 -170 -10 170 -10 170 10 -170 10 ASC"), "e d c b a");
  run("GEOADD star 0 0 middle 0 8 arm");
  EXPECT_EQ(search("star BYPOLYGON 5 0 10 6 -8 -10 3 10 3 -6 -8"), "arm");
}

TEST_P(GeoSearchTest, ZeroDistancesAreExact) {
  run("GEOADD g -122.40710645914077759 37.79430076631935975 p");
  EXPECT_EQ(flat("GEOSEARCH g FROMMEMBER p BYRADIUS 0 mi ASC WITHDIST"), "p 0.0000");
  EXPECT_EQ(flat("GEOSEARCH g FROMLONLAT -122.40710645914077759 37.79430076631935975 BYRADIUS 0 mi "
                 "WITHDIST"),
            "p 0.0000");
}

// ---- Options ----

TEST_P(GeoSearchTest, RepliesWithDistanceHashAndPosition) {
  add_sicily();
  EXPECT_EQ(run("GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHCOORD WITHHASH WITHDIST "
                "COUNT 1"),
            "[[\"Catania\", \"56.4413\", (integer) 3479447370796909, "
            "[\"15.08726745843887329\", \"37.50266842333162032\"]]]");
  EXPECT_EQ(run("GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 400 400 km WITHDIST ASC"),
            "[[\"Catania\", \"56.4413\"], [\"Palermo\", \"190.4424\"]]");
  set_protocol(3);
  EXPECT_EQ(raw({"GEOSEARCH", "Sicily", "FROMMEMBER", "Catania", "BYRADIUS", "1", "m", "WITHDIST",
                 "WITHCOORD"}),
            "*1\r\n*3\r\n$7\r\nCatania\r\n$6\r\n0.0000\r\n*2\r\n,15.08726745843887329\r\n"
            ",37.50266842333162032\r\n");
}

TEST_P(GeoSearchTest, CountTakesTheNearestAndAnyTheFirst) {
  add_nyc();
  const std::string around = "nyc FROMLONLAT -73.9798091 40.7598464 BYRADIUS 10 km ";
  EXPECT_EQ(search(around + "COUNT 3"), "central park n/q/r 4545 union square");
  EXPECT_EQ(search(around + "COUNT 2 DESC"), "wtc one q4");
  EXPECT_EQ(search(around + "COUNT 3 ANY"), "wtc one union square central park n/q/r");
  EXPECT_EQ(search(around + "COUNT 3 ANY ASC"), "central park n/q/r union square wtc one");
  EXPECT_EQ(search(around + "COUNT 100"),
            "central park n/q/r 4545 union square lic market q4 wtc one");
}

TEST_P(GeoSearchTest, EqualDistancesStayInOrder) {
  run("GEOADD g 1 1 d 1 1 b 1 1 a 1 1 c 2 2 e");
  EXPECT_EQ(search("g FROMLONLAT 1 1 BYRADIUS 500 km ASC"), "a b c d e");
  EXPECT_EQ(search("g FROMLONLAT 1 1 BYRADIUS 500 km DESC"), "e a b c d");
  EXPECT_EQ(search("g FROMLONLAT 1 1 BYRADIUS 500 km COUNT 2"), "a b");
}

// Many members are visited in parts of cells, but in the order of the whole cell.
TEST_P(GeoSearchTest, WithoutAnOrderResultsComeCellByCell) {
  for (int i = 0; i < 900; ++i) {
    const std::string place = std::to_string(10 + i % 30 * 0.001) + " " +
                              std::to_string(20 + i / 30 * 0.001) + " m" + std::to_string(i);
    run("GEOADD g " + place);
  }
  const std::string reply = run("GEOSEARCH g FROMLONLAT 10.015 20.015 BYRADIUS 1.2 km WITHHASH");
  std::vector<std::string> hashes;
  for (std::size_t at = 0; (at = reply.find("(integer) ", at)) != std::string::npos; ++at) {
    hashes.push_back(reply.substr(at + 10, 16));
  }
  std::size_t descents = 0;
  for (std::size_t i = 1; i < hashes.size(); ++i) descents += hashes[i] < hashes[i - 1];
  EXPECT_GT(hashes.size(), 200u);
  EXPECT_EQ(descents, 2u);  // three cells
}

TEST_P(GeoSearchTest, WithoutAKeyNothingIsFound) {
  EXPECT_EQ(run("GEOSEARCH none FROMLONLAT 0 0 BYRADIUS 1 km"), "[]");
  EXPECT_EQ(events(), "m:keymiss:none");
  EXPECT_EQ(run("GEOSEARCH none FROMMEMBER m BYBOX 1 1 km"), "[]");
  EXPECT_EQ(run("GEOSEARCH none FROMMEMBER m BYBOX 1 x km"), "(error) ERR need numeric height");
}

// ---- Errors ----

TEST_P(GeoSearchTest, RefusesOtherTypesFirst) {
  put_string("s");
  EXPECT_EQ(run("GEOSEARCH s FROMLONLAT 0 0 BYRADIUS 1 km"), kWrongType);
  EXPECT_EQ(run("GEOSEARCH s FROMMEMBER member BYBOX 1 1 foo"), kWrongType);
  EXPECT_EQ(run("GEOSEARCHSTORE t s FROMMEMBER member BYBOX 1 1 m"), kWrongType);
}

TEST_P(GeoSearchTest, RefusesWrongAreas) {
  add_sicily("g");
  EXPECT_EQ(run("GEOSEARCH g FROMMEMBER none BYRADIUS 300 km"),
            "(error) ERR member none does not exist");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 91 BYRADIUS 3 km"),
            "(error) ERR invalid longitude,latitude pair 1.000000,91.000000");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 x BYRADIUS 3 km"), kNoFloat);
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYRADIUS x km"), "(error) ERR need numeric radius");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYRADIUS -1 km"),
            "(error) ERR radius cannot be negative");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 1 mm"), kNoUnit);
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYBOX x y mm"), "(error) ERR need numeric width");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYBOX -1 y mm"), "(error) ERR need numeric height");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYBOX -1 1 mm"),
            "(error) ERR height or width cannot be negative");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYBOX 1 1 mm"), kNoUnit);
}

TEST_P(GeoSearchTest, WantsOneCenterAndOneArea) {
  add_sicily("g");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 FROMMEMBER xxx BYBOX 6 6 km ASC"), kSyntax);
  EXPECT_EQ(run("GEOSEARCH g FROMMEMBER Palermo FROMLONLAT 1 1 BYBOX 6 6 km"), kSyntax);
  EXPECT_EQ(run("GEOSEARCH g BYBOX 3 3 km ASC DESC WITHHASH WITHDIST"),
            "(error) ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCH");
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 3 km BYBOX 3 3 km ASC"), kSyntax);
  EXPECT_EQ(run("GEOSEARCH g FROMLONLAT 1 1 BYBOX 3 3 km BYRADIUS 3 km ASC"), kSyntax);
  EXPECT_EQ(run("geoSearch g FROMLONLAT 1 1 ASC DESC WITHHASH"),
            "(error) ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for "
            "geoSearch");
  EXPECT_EQ(run("GEOSEARCH g FROMMEMBER Palermo BYRADIUS 3"), arity_error("geosearch"));
  EXPECT_EQ(run("GEOSEARCH g FROMMEMBER Palermo ASC BYRADIUS 3"), kSyntax);
}

TEST_P(GeoSearchTest, RefusesWrongPolygons) {
  add_sicily("g");
  constexpr std::string_view kFew = "(error) ERR GEOSEARCH BYPOLYGON must have at least 3 vertices";
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON 2 1 1 2 2"), kFew);
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON 3 1 1 2 2"), kFew);
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON -3 1 1 2 2"), kFew);
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON x 1 1 2 2"), "(error) ERR invalid number of vertices");
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON 3000000000 1 1 2 2"),
            "(error) ERR invalid number of vertices");
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON 3 1 1 2 2 3 91"),
            "(error) ERR invalid longitude,latitude pair 3.000000,91.000000");
  for (const std::string_view other :
       {"BYBOX 4 4 km", "BYRADIUS 4 km", "FROMLONLAT 1 1", "FROMMEMBER Palermo"}) {
    const std::string polygon = " BYPOLYGON 3 1 1 2 2 3 3 ";
    EXPECT_EQ(run("GEOSEARCH g" + polygon + std::string(other)), kSyntax) << other;
    EXPECT_EQ(run("GEOSEARCH g " + std::string(other) + polygon), kSyntax) << other;
  }
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON 3 1 1 2 2 3 3 COUNT x"), kNoInteger);
  EXPECT_EQ(run("GEOSEARCH g BYPOLYGON 3 1 1 2 2 3 3 COUNT -1"), "(error) ERR COUNT must be > 0");
}

TEST_P(GeoSearchTest, RefusesWrongOptions) {
  add_sicily("g");
  const std::string around = "GEOSEARCH g FROMLONLAT 1 1 BYRADIUS 3 km ";
  EXPECT_EQ(run(around + "STOREDIST"), kSyntax);
  EXPECT_EQ(run(around + "STORE t"), kSyntax);
  EXPECT_EQ(run(around + "ANY"), "(error) ERR the ANY argument requires COUNT argument");
  EXPECT_EQ(run(around + "COUNT"), kSyntax);
  EXPECT_EQ(run(around + "COUNT 0"), "(error) ERR COUNT must be > 0");
  EXPECT_EQ(run(around + "COUNT 1.5"), kNoInteger);
  EXPECT_EQ(run(around + "WITHCOORDS"), kSyntax);
  EXPECT_EQ(run("GEOSEARCHSTORE t g FROMLONLAT 1 1 BYRADIUS 50 km STORE abc"), kSyntax);
  for (const std::string_view with : {"WITHDIST", "WITHHASH", "WITHCOORD"}) {
    EXPECT_EQ(run("GEOSEARCHSTORE t g FROMLONLAT 1 1 BYRADIUS 50 km " + std::string(with)),
              "(error) ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD "
              "options");
  }
}

// ---- Storing ----

TEST_P(GeoSearchTest, StoresPositions) {
  add_sicily("g");
  EXPECT_EQ(run("GEOSEARCHSTORE t g FROMLONLAT 13.361389 38.115556 BYRADIUS 500 km"),
            "(integer) 2");
  EXPECT_EQ(events(), "n:new:t z:geosearchstore:t");
  EXPECT_EQ(changed_keys(), "t");
  EXPECT_EQ(propagated(), "GEOSEARCHSTORE t g FROMLONLAT 13.361389 38.115556 BYRADIUS 500 km");
  EXPECT_EQ(run("ZRANGE t 0 -1 WITHSCORES"), run("ZRANGE g 0 -1 WITHSCORES"));
}

TEST_P(GeoSearchTest, StoresDistances) {
  add_sicily("g");
  put_string("t");
  EXPECT_EQ(run("GEOSEARCHSTORE t g STOREDIST FROMMEMBER Palermo BYRADIUS 500 km"), "(integer) 2");
  EXPECT_EQ(events(), "z:geosearchstore:t");
  EXPECT_EQ(flat("ZRANGE t 0 -1 WITHSCORES"), "Palermo 0 Catania 166.27415156960032");
  EXPECT_EQ(run("GEOSEARCHSTORE t g FROMMEMBER Palermo BYRADIUS 500 km STOREDIST DESC COUNT 1"),
            "(integer) 1");
  EXPECT_EQ(flat("ZRANGE t 0 -1"), "Catania");
}

TEST_P(GeoSearchTest, StoresOverItsSource) {
  add_sicily("g");
  EXPECT_EQ(run("GEOSEARCHSTORE g g FROMMEMBER Palermo BYRADIUS 500 km STOREDIST COUNT 1"),
            "(integer) 1");
  EXPECT_EQ(flat("ZRANGE g 0 -1 WITHSCORES"), "Palermo 0");
}

TEST_P(GeoSearchTest, StoringNothingRemovesTheTarget) {
  add_sicily("g");
  put_string("t");
  EXPECT_EQ(run("GEOSEARCHSTORE t g FROMLONLAT 0 0 BYRADIUS 1 km"), "(integer) 0");
  EXPECT_EQ(events(), "g:del:t");
  EXPECT_EQ(propagated(), "GEOSEARCHSTORE t g FROMLONLAT 0 0 BYRADIUS 1 km");
  EXPECT_EQ(run("GEOSEARCHSTORE t g FROMLONLAT 0 0 BYRADIUS 1 km"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  put_string("t");
  EXPECT_EQ(run("GEOSEARCHSTORE t none FROMMEMBER m BYRADIUS 1 km"), "(integer) 0");
  EXPECT_EQ(events(), "m:keymiss:none g:del:t");
  EXPECT_EQ(run("GEOSEARCHSTORE t none FROMMEMBER m BYRADIUS 1 cm"), kNoUnit);
}

// Another server may take another one of them.
TEST_P(GeoSearchTest, AChoiceAmongEqualDistancesIsPropagatedByValue) {
  run("GEOADD g 1 1 a 1 1 b 2 2 c");
  run("GEOSEARCHSTORE t g FROMLONLAT 1 1 BYRADIUS 500 km COUNT 1 STOREDIST");
  EXPECT_EQ(propagated(), "DEL t; ZADD t 6.0521617125866494e-5 a");
  run("GEOSEARCHSTORE t g FROMLONLAT 1 1 BYRADIUS 500 km COUNT 2");
  EXPECT_EQ(propagated(), "GEOSEARCHSTORE t g FROMLONLAT 1 1 BYRADIUS 500 km COUNT 2");
}

// ---- Deadlines ----

TEST_P(GeoSearchTest, ADueMemberIsNotFound) {
  add_partly_due();
  EXPECT_EQ(search("g FROMLONLAT 0 0 BYRADIUS 1000 km ASC"), "a b l c");
  EXPECT_EQ(events(), "zx:zexpired:g");
  EXPECT_TRUE(propagated().starts_with("ZREM g ")) << propagated();
}

TEST_P(GeoSearchTest, ADueMemberIsNoCenter) {
  add_partly_due();
  EXPECT_EQ(run("GEOSEARCH g FROMMEMBER x BYRADIUS 1000 km"),
            "(error) ERR member x does not exist");
  EXPECT_EQ(events(), "zx:zexpired:g");
  EXPECT_EQ(propagated(), "ZREM g x");
}

TEST_P(GeoSearchTest, AResultHasNoDeadlinesAndIsPropagatedByValue) {
  add_partly_due();
  EXPECT_EQ(run("GEOSEARCHSTORE t g FROMMEMBER l BYRADIUS 60 km STOREDIST"), "(integer) 3");
  EXPECT_EQ(events(), "zx:zexpired:g n:new:t z:geosearchstore:t");
  EXPECT_EQ(deadline_of("t", "l"), kNever);
  EXPECT_NE(propagated().find("; DEL t; ZADD t 0 l 55."), std::string::npos) << propagated();
}

TEST_P(GeoSearchTest, NothingIsReclaimedWhereThePolicySaysSo) {
  add_partly_due();
  context().policy = Policy::hide;
  EXPECT_EQ(search("g FROMLONLAT 0 0 BYRADIUS 1000 km ASC"), "a b l c");
  EXPECT_EQ(events(), "");
  context().policy = Policy::show;
  EXPECT_EQ(search("g FROMLONLAT 0 0 BYRADIUS 1000 km ASC"), "a x b y l c");
}

}  // namespace geo_search_test
}  // namespace mayfly
