// SPDX-License-Identifier: Apache-2.0
// Pauses: who has asked that requests wait, and until when.
//
// Each reason has a pause of its own, so that the end of one does not end another. A second pause
// for the same reason makes the first one longer and stricter, never the other way.

#pragma once

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

  // Forgets the pauses that are over.
  void update(Time now);

  // The strictest of those that have not been forgotten.
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

}  // namespace mayfly
