// SPDX-License-Identifier: Apache-2.0
// MemberType: hashes, sets and sorted sets, as the measurements write them.
//
//   RespPipeline pipeline(client);
//   for (std::size_t i = 0; i < 1000; i += 10) {
//     add_members(pipeline, kSetType, key_name(kSetType, i / 10), {i, i + 10}, deadline);
//   }
//   must(pipeline.finish());
//
// A name has 13 bytes, and a value of a hash too.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bench/server/server_child.h"
#include "mayfly/time.h"
#include "tools/resp_client.h"

namespace mayfly::bench {

struct MemberType {
  std::string_view one;      // "set"
  std::string_view many;     // "sets"
  std::string_view members;  // "set members"
  std::string_view key;      // what keys begin with
  std::string_view name;     // what names of members begin with
  std::string_view add;      // the command without a deadline,
  std::string_view add_ttl;  // and with one, which has
  std::string_view count;    // this word before the number of members
  std::string_view event;    // when a member has expired
  bool ServerProgram::*has_ttl;
  bool has_value = false;  // behind the name
  bool has_score = false;  // before it
};

inline constexpr MemberType kHashType = {.one = "hash",
                                         .many = "hashes",
                                         .members = "fields",
                                         .key = "hash",
                                         .name = "field",
                                         .add = "HSET",
                                         .add_ttl = "HSETEX",
                                         .count = "FIELDS",
                                         .event = "hexpired",
                                         .has_ttl = &ServerProgram::has_field_ttl,
                                         .has_value = true};
inline constexpr MemberType kSetType = {.one = "set",
                                        .many = "sets",
                                        .members = "set members",
                                        .key = "set",
                                        .name = "entry",
                                        .add = "SADD",
                                        .add_ttl = "SADDEX",
                                        .count = "MEMBERS",
                                        .event = "sexpired",
                                        .has_ttl = &ServerProgram::has_member_ttl};
inline constexpr MemberType kSortedSetType = {.one = "sorted set",
                                              .many = "sorted sets",
                                              .members = "sorted set members",
                                              .key = "zset",
                                              .name = "entry",
                                              .add = "ZADD",
                                              .add_ttl = "ZADDEX",
                                              .count = "MEMBERS",
                                              .event = "zexpired",
                                              .has_ttl = &ServerProgram::has_member_ttl,
                                              .has_score = true};

// Members by their numbers, from the first until before the last.
struct MemberRange {
  std::size_t first;
  std::size_t last;
};

// "set:0000007".
std::string key_name(const MemberType& type, std::size_t number);

// "one set", or "sets of 10" if `all` members are in keys of fewer.
std::string shape_title(const MemberType& type, std::size_t each, std::size_t all);

// The score of a member. Members in the order of their numbers have them in no order, and each its
// own below ten million.
std::size_t score_of(std::size_t number);

// One command that adds these members to a key, with this deadline for all of them.
void add_members(RespPipeline& pipeline, const MemberType& type, std::string_view key,
                 MemberRange members, std::optional<Time> deadline = {});

}  // namespace mayfly::bench
