// SPDX-License-Identifier: Apache-2.0
// GEOADD, GEOPOS, GEODIST and GEOHASH: replies, errors, events, what is propagated, and deadlines.

#include <gtest/gtest.h>

#include "commands/geo/geo_fixture.h"

namespace mayfly {
namespace geo_commands_test {

class GeoCommandsTest : public GeoFixture {};
INSTANTIATE_TEST_SUITE_P(Geo, GeoCommandsTest, kBothForms, form_name);

// ---- GEOADD ----

TEST_P(GeoCommandsTest, AddIsAZaddWithPositions) {
  EXPECT_EQ(run("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:g z:zadd:g");
  EXPECT_EQ(changed_keys(), "g");
  EXPECT_EQ(propagated(), "ZADD g 3479099956230698 Palermo 3479447370796909 Catania");
  EXPECT_EQ(flat("ZRANGE g 0 -1 WITHSCORES"), "Palermo 3479099956230698 Catania 3479447370796909");
}

TEST_P(GeoCommandsTest, AddCountsNewMembersOrChangedOnes) {
  EXPECT_EQ(run("GEOADD g 10 20 a"), "(integer) 1");
  EXPECT_EQ(run("GEOADD g 10 20 a"), "(integer) 0");
  EXPECT_EQ(events(), "");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("GEOADD g 11 20 a 12 20 b"), "(integer) 1");
  EXPECT_EQ(run("GEOADD g CH 12 20 a 12 20 b 12 20 c"), "(integer) 2");
  EXPECT_EQ(propagated(), "ZADD g CH 3409895266802780 a 3409895266802780 b 3409895266802780 c");
}

TEST_P(GeoCommandsTest, AddHasConditions) {
  EXPECT_EQ(run("GEOADD g XX 10 20 a"), "(integer) 0");
  EXPECT_EQ(run("EXISTS g"), "(integer) 0");
  run("GEOADD g 10 20 a");
  EXPECT_EQ(run("GEOADD g NX 11 20 a 11 20 b"), "(integer) 1");
  EXPECT_EQ(run("GEOADD g nx ch 11 20 a 11 20 c"), "(integer) 1");
  EXPECT_EQ(run("GEODIST g a b"), run("GEODIST g a c"));
  EXPECT_EQ(run("GEOADD g XX 12 20 a 12 20 d"), "(integer) 0");
  EXPECT_EQ(propagated(), "ZADD g XX 3409895266802780 a 3409895266802780 d");
  EXPECT_EQ(run("GEOADD g CH XX 13 20 a 12 20 d"), "(integer) 1");
  EXPECT_EQ(run("ZCARD g"), "(integer) 3");
}

TEST_P(GeoCommandsTest, AddRefusesWrongArguments) {
  EXPECT_EQ(run("GEOADD g 1 2"), arity_error("geoadd"));
  EXPECT_EQ(run("GEOADD g NX XX 1 2 a"), kSyntax);
  EXPECT_EQ(run("GEOADD g CH XX foo 1 2 a"), kSyntax);
  EXPECT_EQ(run("GEOADD g 1 2 a 3"), kSyntax);
  EXPECT_EQ(run("GEOADD g NX CH CH"), kSyntax);
  EXPECT_EQ(run("GEOADD g 1 2 a foo bar b"), kNoFloat);
  EXPECT_EQ(run("GEOADD g 1 nan a"), kNoFloat);
  EXPECT_EQ(run("GEOADD g 210 10 a"),
            "(error) ERR invalid longitude,latitude pair 210.000000,10.000000");
  EXPECT_EQ(run("GEOADD g 1 2 a 1 -85.06 b"),
            "(error) ERR invalid longitude,latitude pair 1.000000,-85.060000");
  EXPECT_EQ(run("GEOADD g inf 0 a"), "(error) ERR invalid longitude,latitude pair inf,0.000000");
  EXPECT_EQ(run("EXISTS g"), "(integer) 0");
  put_string("s");
  EXPECT_EQ(run("GEOADD s 1 2 a"), kWrongType);
  EXPECT_EQ(run("GEOADD s 1 200 a"),
            "(error) ERR invalid longitude,latitude pair 1.000000,200.000000");
}

TEST_P(GeoCommandsTest, AddKeepsDeadlines) {
  add_partly_due();
  const Time deadline = deadline_of("g", "l");
  EXPECT_EQ(run("GEOADD g 9 9 l 9 9 x"), "(integer) 1");
  EXPECT_EQ(events(), "zx:zexpired:g z:zadd:g");
  EXPECT_EQ(deadline_of("g", "l"), deadline);
  EXPECT_EQ(deadline_of("g", "x"), kNever);
}

// A replica may still hold members that have expired here.
TEST_P(GeoCommandsTest, AddWithAConditionIsPropagatedByValueIfThereAreDeadlines) {
  add_partly_due();
  EXPECT_EQ(run("GEOADD g NX CH 9 9 a 9 9 x 9 9 n"), "(integer) 2");
  EXPECT_EQ(propagated(), "ZREM g x; ZADD g 3386042809045974 x 3386042809045974 n");
  EXPECT_EQ(run("GEOADD g XX 9 9 y 9 9 l"), "(integer) 0");
  EXPECT_EQ(propagated(), "ZREM g y; ZADD g 3386042809045974 l");
  EXPECT_EQ(run("GEOADD g NX 8 8 a"), "(integer) 0");
  EXPECT_EQ(propagated(), "");
  EXPECT_EQ(run("GEOADD g CH 9 9 a"), "(integer) 1");
  EXPECT_EQ(propagated(), "ZADD g CH 3386042809045974 a");
}

// ---- GEOPOS, GEOHASH, GEODIST ----

TEST_P(GeoCommandsTest, PosGivesCoordinates) {
  add_sicily();
  EXPECT_EQ(run("GEOPOS Sicily Palermo none"),
            "[[\"13.36138933897018433\", \"38.11555639549629859\"], (nil)]");
  EXPECT_EQ(raw({"GEOPOS", "Sicily", "none"}), "*1\r\n*-1\r\n");
  EXPECT_EQ(run("GEOPOS Sicily"), "[]");
  EXPECT_EQ(run("GEOPOS none a b"), "[(nil), (nil)]");
  set_protocol(3);
  EXPECT_EQ(raw({"GEOPOS", "Sicily", "Palermo", "none"}),
            "*2\r\n*2\r\n,13.36138933897018433\r\n,38.11555639549629859\r\n_\r\n");
}

TEST_P(GeoCommandsTest, HashGivesStandardGeohashes) {
  run("GEOADD points -5.6 42.6 test");
  EXPECT_EQ(run("GEOHASH points test"), "[\"ezs42e44yx0\"]");
  add_sicily();
  EXPECT_EQ(run("GEOHASH Sicily Palermo none Catania"),
            "[\"sqc8b49rny0\", (nil), \"sqdtr74hyu0\"]");
  EXPECT_EQ(raw({"GEOHASH", "Sicily", "none"}), "*1\r\n$-1\r\n");
  EXPECT_EQ(run("GEOHASH Sicily"), "[]");
  EXPECT_EQ(run("GEOHASH none a"), "[(nil)]");
}

TEST_P(GeoCommandsTest, DistHasUnits) {
  add_sicily();
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania"), "\"166274.1516\"");
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania m"), "\"166274.1516\"");
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania km"), "\"166.2742\"");
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania MI"), "\"103.3182\"");
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania Ft"), "\"545518.8700\"");
  EXPECT_EQ(run("GEODIST Sicily Palermo Palermo"), "\"0.0000\"");
  EXPECT_EQ(run("GEODIST Sicily Palermo Agrigento"), "(nil)");
  EXPECT_EQ(run("GEODIST Sicily Ragusa Agrigento"), "(nil)");
  EXPECT_EQ(run("GEODIST none Palermo Catania"), "(nil)");
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania cm"), kNoUnit);
  EXPECT_EQ(run("GEODIST Sicily Palermo Catania m m"), kSyntax);
  EXPECT_EQ(run("GEODIST Sicily Palermo"), arity_error("geodist"));
  set_protocol(3);
  EXPECT_EQ(raw({"GEODIST", "Sicily", "Palermo", "Palermo"}), "$6\r\n0.0000\r\n");
}

TEST_P(GeoCommandsTest, ReadersRefuseOtherTypes) {
  put_string("s");
  EXPECT_EQ(run("GEOPOS s a"), kWrongType);
  EXPECT_EQ(run("GEOHASH s a"), kWrongType);
  EXPECT_EQ(run("GEODIST s a b"), kWrongType);
  EXPECT_EQ(run("GEODIST s a b cm"), kNoUnit);
}

TEST_P(GeoCommandsTest, ReadersCountLookups) {
  add_sicily();
  run("GEOPOS Sicily Palermo");
  EXPECT_EQ(lookups(), "h");
  run("GEOHASH none Palermo");
  EXPECT_EQ(lookups(), "m");
  EXPECT_EQ(events(), "m:keymiss:none");
}

TEST_P(GeoCommandsTest, ADueMemberHasNoPosition) {
  add_partly_due();
  EXPECT_EQ(run("GEODIST g a l"), "\"166839.2909\"");
  EXPECT_EQ(run("GEODIST g a x"), "(nil)");
  EXPECT_EQ(events(), "zx:zexpired:g");
  EXPECT_EQ(propagated(), "ZREM g x");
  EXPECT_EQ(run("GEOHASH g y b"), "[(nil), \"s008nb00j80\"]");
  EXPECT_EQ(propagated(), "ZREM g y");
}

TEST_P(GeoCommandsTest, AKeyIsGoneWithItsLastMember) {
  run("GEOADD g 0 0 a 1 1 b");
  expire_in("g", "a", Millis(10));
  expire_in("g", "b", Millis(20));
  advance(Millis(20));
  EXPECT_EQ(run("GEOPOS g a b"), "[(nil), (nil)]");
  EXPECT_EQ(run("EXISTS g"), "(integer) 0");
}

// Scores of any sorted set are read as positions, as Valkey does.
TEST_P(GeoCommandsTest, AnyScoreHasAPosition) {
  run("ZADD z -1 a 1.5 b inf c -inf d 1e17 e");
  EXPECT_EQ(flat("GEOPOS z a b c d e"),
            "180 85.0511287799999991 -179.99999731779098511 -85.05112497791824921 "
            "-179.99999731779098511 -85.05112751263942528 180 -85.05112751263942528 "
            "180 85.0511287799999991");
  EXPECT_EQ(flat("GEOHASH z a b c d e"),
            "bp05b5048p0 00bh0hbj210 00bh0hbj200 00bh0hbj200 bp05b5048p0");
  EXPECT_EQ(run("GEODIST z b b"), "\"0.0000\"");
}

}  // namespace geo_commands_test
}  // namespace mayfly
