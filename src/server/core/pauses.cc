// SPDX-License-Identifier: Apache-2.0
#include "server/core/pauses.h"

#include <algorithm>

namespace mayfly {

void Pauses::begin(PauseReason reason, Time until, PauseLevel level) {
  Pause& pause = of(reason);
  pause.level = std::max(pause.level, level);
  pause.until = std::max(pause.until, until);
  find_level();
}

void Pauses::end(PauseReason reason) {
  of(reason) = {};
  find_level();
}

void Pauses::update(Time now) {
  for (Pause& pause : pauses_) {
    if (pause.level != PauseLevel::none && is_due(pause.until, now)) pause = {};
  }
  find_level();
}

void Pauses::find_level() {
  level_ = PauseLevel::none;
  for (const Pause& pause : pauses_) level_ = std::max(level_, pause.level);
}

Time Pauses::next_end() const {
  Time next = kNever;
  for (const Pause& pause : pauses_) {
    if (pause.level != PauseLevel::none) next = std::min(next, pause.until);
  }
  return next;
}

Pauses::Summary Pauses::summary(Time now) const {
  static constexpr std::string_view kReasons[] = {"client_pause", "shutdown_in_progress",
                                                  "failover_in_progress"};
  Summary summary;
  if (level_ == PauseLevel::none) return summary;
  summary.actions = level_ == PauseLevel::all ? "all" : "write";
  Time longest = Time::min();
  for (std::size_t i = 0; i < pauses_.size(); ++i) {
    if (pauses_[i].level != level_ || pauses_[i].until <= longest) continue;
    longest = pauses_[i].until;
    summary.reason = kReasons[i];
    summary.remaining_ms = remaining(longest, now).count();
  }
  return summary;
}

}  // namespace mayfly
