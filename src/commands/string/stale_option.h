// SPDX-License-Identifier: Apache-2.0
// Values that are served for some time after their TTL, while one caller computes the new one.
//
//   SET page html EX 60 STALE 30     fresh for 60 s, then stale for 30 s, then gone
//   GETSTALE page                    html, "stale", and for one caller a token
//   SET page new EX 60 STALE 30 TOKEN <token>      stored if the caller still has the lease
//   DELLEASE page <token>            the caller gives up
//
// For all other commands the key lives until the end of the stale time.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "commands/steps.h"
#include "mayfly/time.h"

namespace mayfly {

// STALE or PSTALE with a time.
struct StaleOption {
  std::size_t at = 0;  // the word with the time; 0: none
  bool is_seconds = false;

  // Reads the option at word `i`. Returns how many words it takes; 0 if it is another option, or
  // if there was one already.
  std::size_t read(const Call& call, std::size_t i);

  // Zero if there is no such option, or after an error reply: check has_failed(). A key that has
  // no TTL is never stale: that is an error.
  Millis time(Call& call, std::optional<Time> fresh_until) const;
};

// The life of a key that is fresh until then. Nothing after an error reply: too far in the future.
// REQUIRES: fresh_until is after 1970, and not kNever.
std::optional<KeyLife> stale_life(Call& call, Time fresh_until, Millis stale);

// Whether the token is that of the lease of this key, and the lease is not over.
bool holds_lease(Call& call, std::string_view key, std::string_view token);

}  // namespace mayfly
