// SPDX-License-Identifier: Apache-2.0
// What GEOSEARCH and the older GEORADIUS ask for, in one form, and the answer to it.
//
//   GeoQuery query;
//   ... read_query_option(call, i, query) for the options that all of them have
//   answer_query(call, zset, source, query);

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/geo/geo_scan.h"
#include "commands/geo/geohash.h"

namespace mayfly {

struct GeoQuery {
  // The center and the area come in any order.
  enum class Area { none, circle, box, polygon };
  GeoPoint center;
  Area area = Area::none;
  double width = 0;   // of a circle the radius
  double height = 0;  // of a box
  double unit = 1;    // of all lengths, in meters
  std::vector<GeoPoint> vertices;

  GeoOrder order = GeoOrder::none;
  std::size_t count = 0;  // 0: all
  bool any = false;       // the first that are found will do
  bool with_distance = false;
  bool with_hash = false;
  bool with_position = false;

  std::optional<std::string_view> target;  // the key to store the result in
  bool stores_distance = false;
  std::string_view event;  // that tells of it
};

// Reads an option that all commands have, at word `i`. Returns how many words it takes; 0 if it is
// no such option, or after an error reply.
std::size_t read_query_option(Call& call, std::size_t i, GeoQuery& query);

// A radius or the sides of a box, and the unit. False after an error reply.
bool read_circle(Call& call, std::size_t i, GeoQuery& query);
bool read_box(Call& call, std::size_t i, GeoQuery& query);

// The position of a member as the center. False after an error reply.
bool read_member_center(Call& call, std::size_t i, MembersRef& zset, GeoQuery& query);

// Replies with the members in the area, or stores them. `zset` is null if there is no such key.
void answer_query(Call& call, MembersRef* zset, std::string_view source, const GeoQuery& query);

}  // namespace mayfly
