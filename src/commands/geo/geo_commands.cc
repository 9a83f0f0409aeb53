// SPDX-License-Identifier: Apache-2.0
// GEOADD, GEOPOS, GEODIST and GEOHASH: members of a sorted set as positions.
//
//   GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]
//
// GEOADD is a ZADD with positions for scores: it notifies and is propagated as one. A member that
// exists keeps its deadline. If members have deadlines, a request with a condition is propagated as
// its result: a replica may still hold a member that has expired here.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "commands/geo/geo_reply.h"
#include "commands/geo/geo_words.h"
#include "commands/members/member_steps.h"
#include "commands/zset/zset_steps.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// ---- GEOADD ----

struct GeoaddRequest {
  bool only_new = false;          // NX
  bool only_existing = false;     // XX
  bool counts_changed = false;    // CH
  std::size_t first = 2;          // the word with the first longitude
  std::vector<ScoredName> items;  // the names are words of the request
};

bool read_geoadd_option(const Call& call, std::size_t i, GeoaddRequest& request) {
  if (call.is(i, "nx")) return request.only_new = true;
  if (call.is(i, "xx")) return request.only_existing = true;
  if (call.is(i, "ch")) return request.counts_changed = true;
  return false;
}

// Nothing after an error reply.
std::optional<GeoaddRequest> read_geoadd(Call& call) {
  GeoaddRequest request;
  while (request.first < call.count() && read_geoadd_option(call, request.first, request)) {
    ++request.first;
  }
  const std::size_t words = call.count() - request.first;
  if (words == 0 || words % 3 != 0 || (request.only_new && request.only_existing)) {
    call.fail_syntax();
    return std::nullopt;
  }
  request.items.reserve(words / 3);
  for (std::size_t i = request.first; i < call.count(); i += 3) {
    const std::optional<GeoPoint> point = read_point(call, i);
    if (!point) return std::nullopt;
    request.items.push_back({call.word(i + 2), score_of(*point)});
  }
  return request;
}

enum class Geoadded { no, updated, added };

Geoadded add_position(MembersRef& zset, const ScoredName& item, const GeoaddRequest& request) {
  const std::optional<Member> found = zset.find(item.name);
  if (found ? request.only_new : request.only_existing) return Geoadded::no;
  if (!found) {
    put_score(zset, item.name, item.score);
    return Geoadded::added;
  }
  if (found->score() == item.score) return Geoadded::no;
  const Time deadline = found->deadline;
  put_score(zset, item.name, item.score, deadline);
  return Geoadded::updated;
}

// ZADD key [option ...] score member ...; without options, if these are members that were changed.
void propagate_zadd(Call& call, const GeoaddRequest& request, const std::vector<ScoredName>& items,
                    bool is_by_value) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words = {"ZADD", std::string(call.word(1))};
  words.reserve(request.first + 2 * items.size());
  for (std::size_t i = 2; i < request.first && !is_by_value; ++i) words.emplace_back(call.word(i));
  for (const ScoredName& item : items) {
    words.push_back(format_double(item.score));
    words.emplace_back(item.name);
  }
  call.propagate_list(std::move(words));
}

// GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]
void geoadd(Call& call) {
  const std::optional<GeoaddRequest> request = read_geoadd(call);
  if (!request) return;
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key, ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) {
    if (request->only_existing) return call.reply().integer(0);
    slot = call.make_members(ValueType::zset, key);
  }

  MembersRef zset = call.members(slot);
  const bool is_by_value = zset.has_deadlines() && (request->only_new || request->only_existing);
  std::vector<ScoredName> written;  // if it is propagated by value
  std::size_t added = 0;
  ChangedMembers changed(call, Event::zset);
  for (const ScoredName& item : request->items) {
    const Geoadded done = add_position(zset, item, *request);
    if (done == Geoadded::added) ++added;
    if (done != Geoadded::no) changed.add(item.name);
    if (is_by_value && done != Geoadded::no) written.push_back(item);
  }
  const std::size_t count = request->counts_changed ? changed.count() : added;
  call.reply().integer(static_cast<std::int64_t>(count));
  if (changed.count() == 0) return call.finish(zset, key);
  finish_write(call, zset, key, "zadd", changed.count(), changed.names());
  propagate_zadd(call, *request, is_by_value ? written : request->items, is_by_value);
}

// ---- Reading ----

// Replies with an array: for each member named from word 2 on, `reply_found(score)` or
// `reply_none()`.
template <class ReplyFound, class ReplyNone>
void reply_positions(Call& call, ReplyFound reply_found, ReplyNone reply_none) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  const Words names = call.words().subspan(2);
  call.reply().array(names.size());
  if (slot == kNoSlot) {
    for (std::size_t i = 0; i < names.size(); ++i) reply_none();
    return;
  }
  MembersRef zset = call.members(slot);
  for (const std::string_view name : names) {
    if (const std::optional<Member> found = zset.find(name)) {
      reply_found(found->score());
    } else {
      reply_none();
    }
  }
  call.finish(zset, call.word(1));
}

// GEOPOS key [member ...]
void geopos(Call& call) {
  Reply& reply = call.reply();
  reply_positions(
      call, [&](double score) { reply_point(reply, point_of(score)); },
      [&] { reply.null_array(); });
}

// GEOHASH key [member ...]
void geohash(Call& call) {
  Reply& reply = call.reply();
  reply_positions(
      call,
      [&](double score) {
        const GeohashText text = geohash_text(point_of(score));
        reply.bulk({text.data(), text.size()});
      },
      [&] { reply.null(); });
}

// GEODIST key member1 member2 [M | KM | FT | MI]
void geodist(Call& call) {
  if (call.count() > 5) return call.fail_syntax();
  const std::optional<double> unit = call.count() == 5 ? read_unit(call, 4) : 1;
  if (!unit) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();

  MembersRef zset = call.members(slot);
  const auto position = [&](std::size_t i) -> std::optional<GeoPoint> {
    const std::optional<Member> found = zset.find(call.word(i));
    if (!found) return std::nullopt;
    return point_of(found->score());
  };
  const std::optional<GeoPoint> from = position(2);
  const std::optional<GeoPoint> to = from ? position(3) : std::nullopt;
  if (to) {
    reply_distance(call.reply(), distance_between(*from, *to) / *unit);
  } else {
    call.reply().null();
  }
  call.finish(zset, call.word(1));
}

}  // namespace

std::span<const Command> geo_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"geoadd", geoadd, -5, flag::write | flag::denyoom, one_key(access::rw | access::update),
       "geo", "3.2.0",
       "key [condition:(NX | XX)] [change:(CH)] (longitude:double latitude:double member)...",
       "Adds members with positions to a sorted set, or moves them. They keep their TTLs."},
      {"geopos", geopos, -2, flag::readonly, kGet, "geo", "3.2.0",
       "key [member...]", "Returns the longitudes and latitudes of members."},
      {"geohash", geohash, -2, flag::readonly, kGet, "geo", "3.2.0",
       "key [member...]", "Returns the positions of members as geohash strings."},
      {"geodist", geodist, -4, flag::readonly, kGet, "geo", "3.2.0",
       "key member1 member2 [unit:(M | KM | FT | MI)]",
       "Returns the distance between two members."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
