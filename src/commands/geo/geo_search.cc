// SPDX-License-Identifier: Apache-2.0
// GEOSEARCH and GEOSEARCHSTORE.
//
//   GEOSEARCH key FROMMEMBER member | FROMLONLAT longitude latitude
//             BYRADIUS radius unit | BYBOX width height unit
//             [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]
//   GEOSEARCH key BYPOLYGON count longitude latitude ... [ASC | DESC] ...
//
// Words are read from left to right, and a member is looked up where it is named: that decides
// which of several errors a client sees.

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>

#include "commands/command.h"
#include "commands/geo/geo_query.h"
#include "commands/geo/geo_words.h"

namespace mayfly {
namespace {

struct GeoSearch : GeoQuery {
  enum class From { nowhere, member, position };
  From from = From::nowhere;
};

// BYPOLYGON count longitude latitude ...; returns how many words it takes, 0 after an error reply.
std::size_t read_polygon(Call& call, std::size_t i, GeoSearch& search) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::optional<std::int64_t> count =
      call.integer(i + 1, -kMost - 1, kMost, "ERR invalid number of vertices");
  if (!count) return 0;
  if (*count < 3 || static_cast<std::uint64_t>(*count) > (call.count() - i - 2) / 2) {
    call.fail("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");
    return 0;
  }
  const auto vertices = static_cast<std::size_t>(*count);
  search.area = GeoQuery::Area::polygon;
  search.unit = 1;
  search.vertices.clear();
  for (std::size_t k = 0; k < vertices; ++k) {
    const std::optional<GeoPoint> vertex = read_point(call, i + 2 + 2 * k);
    if (!vertex) return 0;
    search.vertices.push_back(*vertex);
  }
  return 2 + 2 * vertices;
}

// The center; returns how many words it takes, 0 after an error reply.
std::size_t read_from(Call& call, std::size_t i, MembersRef* zset, GeoSearch& search) {
  if (call.is(i, "frommember")) {
    if (zset != nullptr && !read_member_center(call, i + 1, *zset, search)) return 0;
    search.from = GeoSearch::From::member;
    return 2;
  }
  const std::optional<GeoPoint> center = read_point(call, i + 1);
  if (!center) return 0;
  search.center = *center;
  search.from = GeoSearch::From::position;
  return 3;
}

// Reads the option at word `i`, and returns how many words it takes; 0 after an error reply.
std::size_t read_search_option(Call& call, std::size_t i, MembersRef* zset, GeoSearch& search) {
  using enum GeoQuery::Area;
  using From = GeoSearch::From;
  const std::size_t taken = read_query_option(call, i, search);
  if (taken > 0 || call.has_failed()) return taken;
  const std::size_t left = call.count() - i - 1;
  const auto area_is = [&](GeoQuery::Area area) {
    return search.area == none || search.area == area;
  };
  const bool is_member = call.is(i, "frommember") && left >= 1 && search.from != From::position;
  const bool is_position = call.is(i, "fromlonlat") && left >= 2 && search.from != From::member;
  if ((is_member || is_position) && search.area != polygon) {
    return read_from(call, i, zset, search);
  }
  if (call.is(i, "byradius") && left >= 2 && area_is(circle)) {
    return read_circle(call, i + 1, search) ? 3 : 0;
  }
  if (call.is(i, "bybox") && left >= 3 && area_is(box)) {
    return read_box(call, i + 1, search) ? 4 : 0;
  }
  if (call.is(i, "bypolygon") && left >= 2 && area_is(polygon) && search.from == From::nowhere) {
    return read_polygon(call, i, search);
  }
  if (call.is(i, "storedist") && search.target) {
    search.stores_distance = true;
    return 1;
  }
  call.fail_syntax();
  return 0;
}

// False after an error reply.
bool check_search(Call& call, const GeoSearch& search) {
  using enum GeoQuery::Area;
  if (search.target && (search.with_distance || search.with_hash || search.with_position)) {
    call.fail("ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
  } else if (search.from == GeoSearch::From::nowhere && search.area != polygon) {
    call.fail(fmt::format("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {}",
                          call.word(0)));
  } else if (search.area == none) {
    call.fail(fmt::format(
        "ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for {}", call.word(0)));
  } else if (search.any && search.count == 0) {
    call.fail("ERR the ANY argument requires COUNT argument");
  }
  return !call.has_failed();
}

// The source is word `at`; `zset` is null if there is no such key.
void search_source(Call& call, std::size_t at, MembersRef* zset, GeoSearch& search) {
  for (std::size_t i = at + 1; i < call.count() && !call.has_failed();) {
    i += read_search_option(call, i, zset, search);
  }
  if (!call.has_failed() && check_search(call, search)) {
    return answer_query(call, zset, call.word(at), search);
  }
  if (zset != nullptr) call.finish(*zset, call.word(at));
}

void run_search(Call& call, std::size_t at, GeoSearch search) {
  const Slot slot = call.find_to_read(call.word(at), ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return search_source(call, at, nullptr, search);
  MembersRef zset = call.members(slot);
  search_source(call, at, &zset, search);
}

// GEOSEARCH key ...
void geosearch(Call& call) { run_search(call, 1, {}); }

// GEOSEARCHSTORE destination source ... [STOREDIST]
void geosearchstore(Call& call) {
  GeoSearch search;
  search.target = call.word(1);
  search.event = "geosearchstore";
  run_search(call, 2, std::move(search));
}

}  // namespace

std::span<const Command> geo_search_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  static constexpr KeyRange kStore = {2, 2, 1, access::ro | access::access, 0, 1};
  // clang-format off
  static constexpr Command kRows[] = {
      {"geosearch", geosearch, -7, flag::readonly, kGet, "geo", "6.2.0",
       "key search-type:(radius-or-box:(from:(FROMMEMBER member | "
       "FROMLONLAT longitude:double latitude:double) "
       "by:(circle:(BYRADIUS radius:double unit:('m' | 'km' | 'ft' | 'mi')) | "
       "box:(BYBOX width:double height:double unit:('m' | 'km' | 'ft' | 'mi')))) | "
       "polygon:(BYPOLYGON num-vertices:int (longitude:double latitude:double) "
       "(longitude:double latitude:double) (longitude:double latitude:double)...)) "
       "[order:(ASC | DESC)] [count-block:(COUNT count:int [ANY])] [WITHCOORD] "
       "[WITHDIST] [WITHHASH]",
       "Returns the members inside a circle, a box or a polygon."},
      {"geosearchstore", geosearchstore, -8, flag::write | flag::denyoom, kStore, "geo", "6.2.0",
       "destination:key source:key "
       "search-type:(radius-or-box:(from:(FROMMEMBER member | "
       "FROMLONLAT longitude:double latitude:double) "
       "by:(circle:(BYRADIUS radius:double unit:('m' | 'km' | 'ft' | 'mi')) | "
       "box:(BYBOX width:double height:double unit:('m' | 'km' | 'ft' | 'mi')))) | "
       "polygon:(BYPOLYGON num-vertices:int (longitude:double latitude:double) "
       "(longitude:double latitude:double) (longitude:double latitude:double)...)) "
       "[order:(ASC | DESC)] [count-block:(COUNT count:int [ANY])] [STOREDIST]",
       "Stores the members inside a circle, a box or a polygon in another key."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
