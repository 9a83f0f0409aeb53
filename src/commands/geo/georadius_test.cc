// SPDX-License-Identifier: Apache-2.0
// GEORADIUS and its relatives: what differs from GEOSEARCH.

#include <gtest/gtest.h>

#include "commands/geo/geo_fixture.h"

namespace mayfly {
namespace georadius_test {

class GeoradiusTest : public GeoFixture {};
INSTANTIATE_TEST_SUITE_P(Geo, GeoradiusTest, kBothForms, form_name);

TEST_P(GeoradiusTest, FindsAroundAPosition) {
  add_nyc();
  for (const std::string name : {"GEORADIUS", "GEORADIUS_RO"}) {
    EXPECT_EQ(flat(name + " nyc -73.9798091 40.7598464 3 km ASC"),
              "central park n/q/r 4545 union square");
    EXPECT_EQ(flat(name + " nyc -73.9798091 40.7598464 3 km WITHDIST ASC"),
              "central park n/q/r 0.7750 4545 2.3651 union square 2.7697");
    EXPECT_EQ(run(name + " nyc -73.9798091 40.7598464 10 km WITHHASH WITHCOORD COUNT 1"),
              "[[\"central park n/q/r\", (integer) 1791875761332224, "
              "[\"-73.97334784269332886\", \"40.76480639569881959\"]]]");
  }
  run("GEOADD users -47.271613776683807 -54.534504198047678 user");
  EXPECT_EQ(flat("GEORADIUS users 0 0 50000 km"), "user");
  run("GEOADD g -122.407107 37.794300 1 -122.227336 37.794300 2");
  EXPECT_EQ(flat("GEORADIUS g -122.407107 37.794300 30 mi ASC WITHDIST"), "1 0.0001 2 9.8182");
}

TEST_P(GeoradiusTest, FindsAroundAMember) {
  add_nyc();
  for (const std::string_view name : {"GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO"}) {
    EXPECT_EQ(run({name, "nyc", "wtc one", "7", "km"}),
              "[\"wtc one\", \"union square\", \"central park n/q/r\", \"4545\", \"lic market\"]");
    EXPECT_EQ(run({name, "nyc", "wtc one", "4", "km", "WITHDIST"}),
              "[[\"wtc one\", \"0.0000\"], [\"union square\", \"3.2544\"]]");
    EXPECT_EQ(run({name, "nyc", "none", "7", "km"}), "(error) ERR member none does not exist");
  }
}

TEST_P(GeoradiusTest, RefusesWrongArguments) {
  add_sicily("g");
  EXPECT_EQ(run("GEORADIUS g 1 1 3"), arity_error("georadius"));
  EXPECT_EQ(run("GEORADIUS g 1 x 3 km"), kNoFloat);
  EXPECT_EQ(run("GEORADIUS g 1 99 3 km"),
            "(error) ERR invalid longitude,latitude pair 1.000000,99.000000");
  EXPECT_EQ(run("GEORADIUS g 1 1 x km"), "(error) ERR need numeric radius");
  EXPECT_EQ(run("GEORADIUS g 1 1 3 cm"), kNoUnit);
  EXPECT_EQ(run("GEORADIUS g 1 1 3 km ANY ASC"),
            "(error) ERR the ANY argument requires COUNT argument");
  EXPECT_EQ(run("GEORADIUS g 1 1 3 km COUNT"), kSyntax);
  EXPECT_EQ(run("GEORADIUS g 1 1 3 km FROMLONLAT 1 1"), kSyntax);
  EXPECT_EQ(run("GEORADIUSBYMEMBER g Palermo -3 km"), "(error) ERR radius cannot be negative");
  EXPECT_EQ(run("GEORADIUSBYMEMBER g none -3 cm"), "(error) ERR member none does not exist");
  put_string("s");
  EXPECT_EQ(run("GEORADIUS s x y z cm"), kWrongType);
  EXPECT_EQ(run("GEORADIUSBYMEMBER s m 1 km STORE t"), kWrongType);
}

TEST_P(GeoradiusTest, WithoutAKeyOptionsAreChecked) {
  EXPECT_EQ(run("GEORADIUS none 1 1 1 km"), "[]");
  EXPECT_EQ(run("GEORADIUS none 1 1 x km"), "(error) ERR need numeric radius");
  EXPECT_EQ(run("GEORADIUSBYMEMBER none m 1 km"), "[]");
  EXPECT_EQ(run("GEORADIUSBYMEMBER none m x y"), "[]");  // as Valkey has it
  EXPECT_EQ(run("GEORADIUSBYMEMBER none m 1 km FOO"), kSyntax);
  put_string("t");
  EXPECT_EQ(run("GEORADIUSBYMEMBER none m 1 km STORE t"), "(integer) 0");
  EXPECT_EQ(run("EXISTS t"), "(integer) 0");
}

TEST_P(GeoradiusTest, StoresPositionsOrDistances) {
  add_sicily("g");
  EXPECT_EQ(run("GEORADIUS g 13.361389 38.115556 500 km STORE t"), "(integer) 2");
  EXPECT_EQ(events(), "n:new:t z:georadiusstore:t");
  EXPECT_EQ(propagated(), "GEORADIUS g 13.361389 38.115556 500 km STORE t");
  EXPECT_EQ(run("ZRANGE t 0 -1 WITHSCORES"), run("ZRANGE g 0 -1 WITHSCORES"));
  EXPECT_EQ(run("GEORADIUSBYMEMBER g Catania 500 km STOREDIST t"), "(integer) 2");
  EXPECT_EQ(flat("ZRANGE t 0 -1 WITHSCORES"), "Catania 0 Palermo 166.27415156960032");
  EXPECT_EQ(run("GEORADIUS g 13.361389 38.115556 500 km STOREDIST t ASC COUNT 1"), "(integer) 1");
  EXPECT_EQ(flat("ZRANGE t 0 -1"), "Palermo");
  EXPECT_EQ(run("GEORADIUSBYMEMBER g Catania 500 km STOREDIST u STORE t DESC COUNT 1"),
            "(integer) 1");
  EXPECT_EQ(flat("ZRANGE t 0 -1 WITHSCORES"), "Palermo 3479099956230698");
  EXPECT_EQ(run("EXISTS u"), "(integer) 0");
}

TEST_P(GeoradiusTest, RefusesToStore) {
  add_sicily("g");
  EXPECT_EQ(run("GEORADIUS g 13.361389 38.115556 50 km STORE"), kSyntax);
  EXPECT_EQ(run("GEORADIUS_RO g 13.361389 38.115556 50 km STORE t"), kSyntax);
  EXPECT_EQ(run("GEORADIUSBYMEMBER_RO g Palermo 50 km STOREDIST t"), kSyntax);
  for (const std::string_view with : {"WITHDIST", "WITHHASH", "WITHCOORD"}) {
    EXPECT_EQ(run("GEORADIUS g 13.361389 38.115556 50 km STORE t " + std::string(with)),
              "(error) ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and "
              "WITHCOORD options");
  }
  EXPECT_EQ(run("EXISTS t"), "(integer) 0");
}

TEST_P(GeoradiusTest, ReadingIsNotPropagated) {
  add_sicily("g");
  run("GEORADIUS g 15 37 200 km");
  EXPECT_EQ(events() + propagated() + changed_keys(), "");
}

TEST_P(GeoradiusTest, ADueMemberIsNoCenter) {
  add_partly_due();
  EXPECT_EQ(run("GEORADIUSBYMEMBER g x 1 m"), "(error) ERR member x does not exist");
  EXPECT_EQ(events(), "zx:zexpired:g");
  EXPECT_EQ(propagated(), "ZREM g x");
}

TEST_P(GeoradiusTest, AResultIsPropagatedByValueIfThereAreDeadlines) {
  add_partly_due();
  EXPECT_EQ(run("GEORADIUSBYMEMBER g b 1 m STORE t"), "(integer) 1");
  EXPECT_EQ(events(), "zx:zexpired:g n:new:t z:georadiusstore:t");
  EXPECT_TRUE(propagated().ends_with("; DEL t; ZADD t 3377736806566050 b")) << propagated();
  EXPECT_EQ(run("GEORADIUSBYMEMBER g b 1 m STORE g"), "(integer) 1");
  EXPECT_EQ(propagated(), "DEL g; ZADD g 3377736806566050 b");
  EXPECT_EQ(flat("ZRANGE g 0 -1"), "b");
}

}  // namespace georadius_test
}  // namespace mayfly
