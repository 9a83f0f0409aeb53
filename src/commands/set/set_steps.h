// SPDX-License-Identifier: Apache-2.0
// What the commands of sets share.

#pragma once

#include <cstddef>
#include <string_view>

#include "commands/call.h"

namespace mayfly {

// Ends a command that changed `times` members of a set: reports expired members, `event`, and `del`
// if no member is left.
inline void finish_set(Call& call, MembersRef& set, std::string_view key, std::string_view event,
                       std::size_t times) {
  const bool is_gone = set.finish();
  call.changed(key, static_cast<std::int64_t>(times));
  call.notify(Event::set, event, key);
  if (is_gone) call.notify(Event::generic, "del", key);
}

}  // namespace mayfly
