// SPDX-License-Identifier: Apache-2.0
// The classes of keyspace events, as `notify-keyspace-events` names them by letters.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  // Channels that name members; not in A.
  subkeyspace = 1 << 14,       // S: __subkeyspace@<db>__:<key>
  subkeyevent = 1 << 15,       // T: __subkeyevent@<db>__:<event>
  subkeyspaceitem = 1 << 16,   // I: __subkeyspaceitem@<db>__:<key>\n<member>
  subkeyspaceevent = 1 << 17,  // V: __subkeyspaceevent@<db>__:<event>|<key>
  subkeys = subkeyspace | subkeyevent | subkeyspaceitem | subkeyspaceevent,
  all = generic | string | list | set | hash | zset | expired | evicted | stream | module,  // A
};

constexpr Event operator|(Event a, Event b) {
  return static_cast<Event>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Event operator&(Event a, Event b) {
  return static_cast<Event>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool any(Event events) { return events != Event::none; }

// The names of members among words, `step` words apart. Valid as long as the words are.
class MemberView {
 public:
  MemberView() = default;
  MemberView(std::span<const std::string_view> words, std::size_t step = 1)
      : words_(words), step_(step) {}
  MemberView(const std::vector<std::string_view>& names) : MemberView(std::span(names)) {}

  bool empty() const { return words_.empty(); }
  std::size_t size() const { return (words_.size() + step_ - 1) / step_; }
  std::string_view operator[](std::size_t i) const { return words_[i * step_]; }

 private:
  std::span<const std::string_view> words_;
  std::size_t step_ = 1;
};

// "KEA" and the like; nothing if a letter is unknown.
std::optional<Event> parse_events(std::string_view letters);

// The canonical spelling, as CONFIG GET shows it: "AKE", "xKE", "".
std::string format_events(Event events);

}  // namespace mayfly
