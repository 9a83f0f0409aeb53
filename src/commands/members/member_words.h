// SPDX-License-Identifier: Apache-2.0
// The words for members of each type: in events, and in commands that are propagated.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "commands/events.h"
#include "keyspace/key_node.h"

namespace mayfly {

struct MemberWords {
  ValueType type;
  Event event;  // the class of its events

  // Events.
  std::string_view expire;
  std::string_view expired;
  std::string_view persist;
  std::string_view removed;

  // Commands.
  std::string_view expire_command;  // with an absolute time in milliseconds
  std::string_view persist_command;
  std::string_view remove_command;

  // Members that are set together with a deadline: HSETEX, SADDEX, ZADDEX.
  std::string_view put;  // the event
  std::string_view put_command;
  std::size_t item_words;  // what a request has for each member: field value, member, score member
  std::size_t name_at;     // where in them its name is

  // The list of members in a request: FIELDS count field ...
  std::string_view list;
  std::string_view wrong_count;  // the error
};

inline constexpr MemberWords kHashWords = {
    .type = ValueType::hash,
    .event = Event::hash,
    .expire = "hexpire",
    .expired = "hexpired",
    .persist = "hpersist",
    .removed = "hdel",
    .expire_command = "HPEXPIREAT",
    .persist_command = "HPERSIST",
    .remove_command = "HDEL",
    .put = "hset",
    .put_command = "HSETEX",
    .item_words = 2,
    .name_at = 0,
    .list = "FIELDS",
    .wrong_count = "ERR numfields should be greater than 0 and match the provided number of fields",
};

inline constexpr MemberWords kSetWords = {
    .type = ValueType::set,
    .event = Event::set,
    .expire = "sexpire",
    .expired = "sexpired",
    .persist = "spersist",
    .removed = "srem",
    .expire_command = "SPEXPIREAT",
    .persist_command = "SPERSIST",
    .remove_command = "SREM",
    .put = "sadd",
    .put_command = "SADDEX",
    .item_words = 1,
    .name_at = 0,
    .list = "MEMBERS",
    .wrong_count =
        "ERR nummembers should be greater than 0 and match the provided number of members",
};

inline constexpr MemberWords kZsetWords = {
    .type = ValueType::zset,
    .event = Event::zset,
    .expire = "zexpire",
    .expired = "zexpired",
    .persist = "zpersist",
    .removed = "zrem",
    .expire_command = "ZPEXPIREAT",
    .persist_command = "ZPERSIST",
    .remove_command = "ZREM",
    .put = "zadd",
    .put_command = "ZADDEX",
    .item_words = 2,
    .name_at = 1,
    .list = "MEMBERS",
    .wrong_count =
        "ERR nummembers should be greater than 0 and match the provided number of members",
};

constexpr bool has_members(ValueType type) {
  return type == ValueType::hash || type == ValueType::set || type == ValueType::zset;
}

// REQUIRES: the type has members.
constexpr const MemberWords& words_of(ValueType type) {
  if (type == ValueType::set) return kSetWords;
  return type == ValueType::zset ? kZsetWords : kHashWords;
}

// HDEL, SREM or ZREM key name ...
template <class Names>
std::vector<std::string> removal_request(ValueType type, std::string_view key, const Names& names) {
  std::vector<std::string> request = {std::string(words_of(type).remove_command), std::string(key)};
  request.insert(request.end(), names.begin(), names.end());
  return request;
}

}  // namespace mayfly
