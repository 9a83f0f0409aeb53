// SPDX-License-Identifier: Apache-2.0
// The letters of `notify-keyspace-events`.

#include "commands/events.h"

#include <algorithm>
#include <array>

namespace mayfly {
namespace {

struct Letter {
  char letter;
  Event event;
};

// In the order in which Valkey writes them.
constexpr std::array kClasses = {
    Letter{'g', Event::generic}, Letter{'$', Event::string},  Letter{'l', Event::list},
    Letter{'s', Event::set},     Letter{'h', Event::hash},    Letter{'z', Event::zset},
    Letter{'x', Event::expired}, Letter{'e', Event::evicted}, Letter{'t', Event::stream},
    Letter{'d', Event::module},
};
constexpr std::array kOthers = {
    Letter{'K', Event::keyspace},
    Letter{'E', Event::keyevent},
    Letter{'m', Event::miss},
    Letter{'n', Event::created},
    Letter{'S', Event::subkeyspace},
    Letter{'T', Event::subkeyevent},
    Letter{'I', Event::subkeyspaceitem},
    Letter{'V', Event::subkeyspaceevent},
};

Event event_of(char letter) {
  if (letter == 'A') return Event::all;
  for (const Letter& row : kClasses) {
    if (row.letter == letter) return row.event;
  }
  for (const Letter& row : kOthers) {
    if (row.letter == letter) return row.event;
  }
  return Event::none;
}

}  // namespace

std::optional<Event> parse_events(std::string_view letters) {
  Event events = Event::none;
  for (const char letter : letters) {
    const Event event = event_of(letter);
    if (event == Event::none) return std::nullopt;
    events = events | event;
  }
  return events;
}

std::string format_events(Event events) {
  std::string letters;
  if ((events & Event::all) == Event::all) {
    letters += 'A';
  } else {
    for (const Letter& row : kClasses) {
      if (any(events & row.event)) letters += row.letter;
    }
  }
  for (const Letter& row : kOthers) {
    if (any(events & row.event)) letters += row.letter;
  }
  return letters;
}

}  // namespace mayfly
