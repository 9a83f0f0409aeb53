// SPDX-License-Identifier: Apache-2.0
// The classes of keyspace events, as `notify-keyspace-events` names them by letters.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mayfly {

enum class Event : unsigned {
  none = 0,
  keyspace = 1 << 0,  // K: published to __keyspace@<db>__:<key>
  keyevent = 1 << 1,  // E: published to __keyevent@<db>__:<event>
  generic = 1 << 2,   // g
  string = 1 << 3,    // $
  list = 1 << 4,      // l
  set = 1 << 5,       // s
  hash = 1 << 6,      // h
  zset = 1 << 7,      // z
  expired = 1 << 8,   // x
  evicted = 1 << 9,   // e
  stream = 1 << 10,   // t
  module = 1 << 11,   // d
  miss = 1 << 12,     // m, not in A
  created = 1 << 13,  // n, not in A
  all = generic | string | list | set | hash | zset | expired | evicted | stream | module,  // A
};

constexpr Event operator|(Event a, Event b) {
  return static_cast<Event>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Event operator&(Event a, Event b) {
  return static_cast<Event>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool any(Event events) { return events != Event::none; }

// "KEA" and the like; nothing if a letter is unknown.
std::optional<Event> parse_events(std::string_view letters);

// The canonical spelling, as CONFIG GET shows it: "AKE", "xKE", "".
std::string format_events(Event events);

}  // namespace mayfly
