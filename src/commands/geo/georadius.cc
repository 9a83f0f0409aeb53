// SPDX-License-Identifier: Apache-2.0
// The commands that were there before GEOSEARCH. Those that end in _RO cannot store.
//
//   GEORADIUS key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH]
//             [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]
//   GEORADIUSBYMEMBER key member radius unit ...

#include <optional>

#include "commands/command.h"
#include "commands/geo/geo_query.h"
#include "commands/geo/geo_words.h"

namespace mayfly {
namespace {

struct RadiusForm {
  bool by_member = false;
  bool can_store = false;

  std::size_t radius_at() const { return by_member ? 3 : 4; }
};

// The center and the radius. Without a key there is no member, and the radius is not looked at.
bool read_radius_area(Call& call, const RadiusForm& form, MembersRef* zset, GeoQuery& query) {
  if (form.by_member) {
    if (zset == nullptr) return true;
    if (!read_member_center(call, 2, *zset, query)) return false;
  } else {
    const std::optional<GeoPoint> center = read_point(call, 2);
    if (!center) return false;
    query.center = *center;
  }
  return read_circle(call, form.radius_at(), query);
}

// Reads the option at word `i`, and returns how many words it takes; 0 after an error reply.
std::size_t read_radius_option(Call& call, std::size_t i, const RadiusForm& form, GeoQuery& query) {
  const std::size_t taken = read_query_option(call, i, query);
  if (taken > 0 || call.has_failed()) return taken;
  const bool is_store = call.is(i, "store") || call.is(i, "storedist");
  if (form.can_store && is_store && i + 1 < call.count()) {
    query.target = call.word(i + 1);
    query.stores_distance = call.is(i, "storedist");
    return 2;
  }
  call.fail_syntax();
  return 0;
}

// False after an error reply.
bool read_radius(Call& call, const RadiusForm& form, MembersRef* zset, GeoQuery& query) {
  if (!read_radius_area(call, form, zset, query)) return false;
  for (std::size_t i = form.radius_at() + 2; i < call.count() && !call.has_failed();) {
    i += read_radius_option(call, i, form, query);
  }
  if (call.has_failed()) return false;
  if (query.target && (query.with_distance || query.with_hash || query.with_position)) {
    call.fail(
        "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and "
        "WITHCOORD options");
  } else if (query.any && query.count == 0) {
    call.fail("ERR the ANY argument requires COUNT argument");
  }
  return !call.has_failed();
}

void search_radius(Call& call, const RadiusForm& form, MembersRef* zset) {
  const std::string_view key = call.word(1);
  GeoQuery query;
  query.event = "georadiusstore";
  if (read_radius(call, form, zset, query)) return answer_query(call, zset, key, query);
  if (zset != nullptr) call.finish(*zset, key);
}

void run_radius(Call& call, const RadiusForm& form) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return search_radius(call, form, nullptr);
  MembersRef zset = call.members(slot);
  search_radius(call, form, &zset);
}

void georadius(Call& call) { run_radius(call, {.can_store = true}); }
void georadius_ro(Call& call) { run_radius(call, {}); }
void georadiusbymember(Call& call) { run_radius(call, {.by_member = true, .can_store = true}); }
void georadiusbymember_ro(Call& call) { run_radius(call, {.by_member = true}); }

}  // namespace

std::span<const Command> geo_radius_commands() {
  static constexpr std::uint64_t kWrite =
      flag::write | flag::denyoom | flag::movablekeys | flag::store_option;
  static constexpr KeyRange kSource = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"georadius", georadius, -6, kWrite, kSource, "geo", "3.2.0",
       "key longitude:double latitude:double radius:double unit:('m' | 'km' | 'ft' | 'mi') "
       "[WITHCOORD] [WITHDIST] [WITHHASH] [count-block:(COUNT count:int [ANY])] "
       "[order:(ASC | DESC)] "
       "[store:(STORE storekey:key | STOREDIST storedistkey:key)]",
       "Returns or stores the members within a distance of a position. See GEOSEARCH."},
      {"georadius_ro", georadius_ro, -6, flag::readonly, kSource, "geo", "3.2.10",
       "key longitude:double latitude:double radius:double unit:('m' | 'km' | 'ft' | 'mi') "
       "[WITHCOORD] [WITHDIST] [WITHHASH] [count-block:(COUNT count:int [ANY])] "
       "[order:(ASC | DESC)]",
       "Returns the members within a distance of a position. See GEOSEARCH."},
      {"georadiusbymember", georadiusbymember, -5, kWrite, kSource, "geo", "3.2.0",
       "key member radius:double unit:('m' | 'km' | 'ft' | 'mi') "
       "[WITHCOORD] [WITHDIST] [WITHHASH] [count-block:(COUNT count:int [ANY])] "
       "[order:(ASC | DESC)] "
       "[store:(STORE storekey:key | STOREDIST storedistkey:key)]",
       "Returns or stores the members within a distance of a member. See GEOSEARCH."},
      {"georadiusbymember_ro", georadiusbymember_ro, -5, flag::readonly, kSource, "geo", "3.2.10",
       "key member radius:double unit:('m' | 'km' | 'ft' | 'mi') "
       "[WITHCOORD] [WITHDIST] [WITHHASH] [count-block:(COUNT count:int [ANY])] "
       "[order:(ASC | DESC)]",
       "Returns the members within a distance of a member. See GEOSEARCH."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
