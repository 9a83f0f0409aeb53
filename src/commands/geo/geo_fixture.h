// SPDX-License-Identifier: Apache-2.0
// GeoFixture: what the tests of the geo commands have in common. Each runs with sorted sets in both
// forms.

#pragma once

#include <string>
#include <string_view>

#include "commands/zset/zset_fixture.h"

namespace mayfly {

inline constexpr std::string_view kNoUnit =
    "(error) ERR unsupported unit provided. please use M, KM, FT, MI";

class GeoFixture : public ZsetFixture {
 protected:
  // Two cities of Sicily, 166 km apart.
  void add_sicily(std::string_view key = "Sicily") {
    run({"GEOADD", key, "13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania"});
  }

  // Places in New York.
  void add_nyc() {
    run({"GEOADD",      "nyc",         "-73.9454966",  "40.747533",
         "lic market",  "-73.9733487", "40.7648057",   "central park n/q/r",
         "-73.9903085", "40.7362513",  "union square", "-74.0131604",
         "40.7126674",  "wtc one",     "-73.7858139",  "40.6428986",
         "jfk",         "-73.9375699", "40.7498929",   "q4",
         "-73.9564142", "40.7480973",  "4545"});
  }

  // Members of `g` on the equator: at 0, 1 and 2 degrees a, b and c stay; x (0.5) and y (1) are due
  // now; l (1.5) will be due in a minute. All are still stored.
  void add_partly_due() {
    run("GEOADD g 0 0 a 1 0 b 2 0 c 0.5 0 x 1 0 y 1.5 0 l");
    for (const std::string_view name : {"x", "y"}) expire_in("g", name, Millis(100));
    expire_in("g", "l", Millis(60'100));
    advance(Millis(100));
  }
};

}  // namespace mayfly
