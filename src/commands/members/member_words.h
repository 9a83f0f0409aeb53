// SPDX-License-Identifier: Apache-2.0
// The words for members of each type: in events, and in commands that are propagated.

#pragma once

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
};

inline constexpr MemberWords kHashWords = {ValueType::hash, Event::hash, "hexpire",
                                           "hexpired",      "hpersist",  "hdel",
                                           "HPEXPIREAT",    "HPERSIST",  "HDEL"};
inline constexpr MemberWords kSetWords = {ValueType::set, Event::set, "sexpire",
                                          "sexpired",     "spersist", "srem",
                                          "SPEXPIREAT",   "SPERSIST", "SREM"};
inline constexpr MemberWords kZsetWords = {ValueType::zset, Event::zset, "zexpire",
                                           "zexpired",      "zpersist",  "zrem",
                                           "ZPEXPIREAT",    "ZPERSIST",  "ZREM"};

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
