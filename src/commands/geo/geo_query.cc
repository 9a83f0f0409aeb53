// SPDX-License-Identifier: Apache-2.0
#include "commands/geo/geo_query.h"

#include <string>

#include "commands/geo/geo_reply.h"
#include "commands/geo/geo_shape.h"
#include "commands/geo/geo_words.h"
#include "commands/zset/zset_steps.h"

namespace mayfly {
namespace {

GeoShape shape_of(const GeoQuery& query) {
  switch (query.area) {
    case GeoQuery::Area::polygon:
      return GeoShape::polygon(query.vertices);
    case GeoQuery::Area::box:
      return GeoShape::box(query.center, query.width * query.unit, query.height * query.unit);
    default:
      return GeoShape::circle(query.center, query.width * query.unit);
  }
}

void reply_hits(Call& call, const GeoQuery& query, const GeoHits& hits) {
  Reply& reply = call.reply();
  const std::size_t extra =
      std::size_t{query.with_distance} + query.with_hash + query.with_position;
  reply.array(hits.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const GeoHit& hit = hits[i];
    if (extra > 0) reply.array(1 + extra);
    reply.bulk(hit.name);
    if (query.with_distance) reply_distance(reply, hit.distance / query.unit);
    if (query.with_hash) reply.integer(static_cast<std::int64_t>(hit.score));
    if (query.with_position) reply_point(reply, point_of(hit.score));
  }
}

// If members of the source have deadlines, the result is propagated: a replica may still hold
// members that have expired here. So it is if COUNT separates members at the same distance: other
// servers may choose others of them.
void store_hits(Call& call, MembersRef& zset, std::string_view source, const GeoQuery& query,
                const GeoHits& hits) {
  const bool is_by_value = zset.has_deadlines() || hits.is_cut_between_equals();
  ScoredNames result;
  result.items().reserve(hits.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const GeoHit& hit = hits[i];
    result.add(hit.name, query.stores_distance ? hit.distance / query.unit : hit.score);
  }
  call.finish(zset, source);
  if (source == *query.target) result.copy_all();
  store_result(call, *query.target, query.event, result, is_by_value);
  if (hits.size() > 1) call.count_changes(static_cast<std::int64_t>(hits.size()) - 1);
}

}  // namespace

std::size_t read_query_option(Call& call, std::size_t i, GeoQuery& query) {
  const auto is = [&](std::string_view word, bool& option) {
    const bool is_it = call.is(i, word);
    if (is_it) option = true;
    return is_it;
  };
  if (is("withdist", query.with_distance) || is("withhash", query.with_hash) ||
      is("withcoord", query.with_position) || is("any", query.any)) {
    return 1;
  }
  if (call.is(i, "asc") || call.is(i, "desc")) {
    query.order = call.is(i, "asc") ? GeoOrder::nearest : GeoOrder::farthest;
    return 1;
  }
  if (!call.is(i, "count") || i + 1 == call.count()) return 0;
  const std::optional<std::int64_t> count = call.integer(i + 1);
  if (!count) return 0;
  if (*count <= 0) {
    call.fail("ERR COUNT must be > 0");
    return 0;
  }
  query.count = static_cast<std::size_t>(*count);
  return 2;
}

bool read_circle(Call& call, std::size_t i, GeoQuery& query) {
  const std::optional<double> radius = read_length(call, i, "ERR need numeric radius");
  if (!radius) return false;
  if (*radius < 0) {
    call.fail("ERR radius cannot be negative");
    return false;
  }
  const std::optional<double> unit = read_unit(call, i + 1);
  if (!unit) return false;
  query.area = GeoQuery::Area::circle;
  query.width = *radius;
  query.unit = *unit;
  return true;
}

bool read_box(Call& call, std::size_t i, GeoQuery& query) {
  const std::optional<double> width = read_length(call, i, "ERR need numeric width");
  if (!width) return false;
  const std::optional<double> height = read_length(call, i + 1, "ERR need numeric height");
  if (!height) return false;
  if (*width < 0 || *height < 0) {
    call.fail("ERR height or width cannot be negative");
    return false;
  }
  const std::optional<double> unit = read_unit(call, i + 2);
  if (!unit) return false;
  query.area = GeoQuery::Area::box;
  query.width = *width;
  query.height = *height;
  query.unit = *unit;
  return true;
}

bool read_member_center(Call& call, std::size_t i, MembersRef& zset, GeoQuery& query) {
  const std::string_view name = call.word(i);
  const std::optional<Member> found = zset.find(name);
  if (found) {
    query.center = point_of(found->score());
    return true;
  }
  std::string text = "ERR member ";
  text.append(name.substr(0, name.find('\0'))).append(" does not exist");
  call.fail(text);
  return false;
}

void answer_query(Call& call, MembersRef* zset, std::string_view source, const GeoQuery& query) {
  if (zset == nullptr) {
    if (!query.target) return call.reply().array(0);
    return store_result(call, *query.target, query.event, {}, false);
  }
  GeoWish wish{.order = query.order, .count = query.count, .any = query.any};
  // The nearest ones, unless any will do.
  if (query.count > 0 && !query.any && query.order == GeoOrder::none) {
    wish.order = GeoOrder::nearest;
  }
  wish.with_distance = query.with_distance || query.stores_distance;
  const MembersOrder order = zset->order();
  const GeoHits hits = find_in_shape(order, shape_of(query), wish);
  if (query.target) return store_hits(call, *zset, source, query, hits);
  reply_hits(call, query, hits);
  call.finish(*zset, source);
}

}  // namespace mayfly
