// SPDX-License-Identifier: Apache-2.0
// Time as an unsigned number in the same order, so that an index can cut digits from it.

#pragma once

#include <cstdint>

#include "mayfly/time.h"

namespace mayfly::internal {

inline constexpr std::uint64_t kOrdinalOfEpoch = std::uint64_t{1} << 63;

constexpr std::uint64_t ordinal(Time time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count()) ^ kOrdinalOfEpoch;
}

constexpr Time from_ordinal(std::uint64_t ordinal) {
  return Time(Millis(static_cast<std::int64_t>(ordinal ^ kOrdinalOfEpoch)));
}

static_assert(ordinal(Time::min()) == 0);
static_assert(from_ordinal(ordinal(kNever)) == kNever);

}  // namespace mayfly::internal
