// SPDX-License-Identifier: Apache-2.0
// Pauses: why requests have to wait, and until when.
//
// Each reason has a pause of its own, so that the end of one does not end another. A second pause
// for the same reason makes the first one longer and stricter, never the other way.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

enum class PauseReason { client_command, shutdown, failover };

// What waits, from nothing to everything.
enum class PauseLevel { none, writes, all };

class Pauses {
 public:
  void begin(PauseReason reason, Time until, PauseLevel level);
  void end(PauseReason reason);

  // Drops the pauses that are over.
  void update(Time now);

  // The strictest of the pauses that were not dropped.
  PauseLevel level() const { return level_; }
  bool any() const { return level_ != PauseLevel::none; }

  // When the next one is over; kNever if none is.
  Time next_end() const;

  // As INFO shows it: the longest of the strictest pauses.
  struct Summary {
    std::string_view reason = "none";
    std::string_view actions = "none";
    std::int64_t remaining_ms = 0;
  };
  Summary summary(Time now) const;

 private:
  struct Pause {
    PauseLevel level = PauseLevel::none;
    Time until = Time::min();
  };
  Pause& of(PauseReason reason) { return pauses_[static_cast<std::size_t>(reason)]; }
  void find_level();

  std::array<Pause, 3> pauses_;  // by reason
  PauseLevel level_ = PauseLevel::none;
};

inline void Pauses::begin(PauseReason reason, Time until, PauseLevel level) {
  Pause& pause = of(reason);
  pause.level = std::max(pause.level, level);
  pause.until = std::max(pause.until, until);
  find_level();
}

inline void Pauses::end(PauseReason reason) {
  of(reason) = {};
  find_level();
}

inline void Pauses::update(Time now) {
  for (Pause& pause : pauses_) {
    if (pause.level != PauseLevel::none && is_due(pause.until, now)) pause = {};
  }
  find_level();
}

inline void Pauses::find_level() {
  level_ = PauseLevel::none;
  for (const Pause& pause : pauses_) level_ = std::max(level_, pause.level);
}

inline Time Pauses::next_end() const {
  Time next = kNever;
  for (const Pause& pause : pauses_) {
    if (pause.level != PauseLevel::none) next = std::min(next, pause.until);
  }
  return next;
}

inline Pauses::Summary Pauses::summary(Time now) const {
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
