// SPDX-License-Identifier: Apache-2.0
// Forgetting what was counted.

#include "server/monitoring/stats.h"

namespace mayfly {

// What is a state rather than a count stays: when it started, what has changed since the last save,
// the rate. Commands keep their places, to which clients point.
void Stats::reset() {
  Stats fresh;
  fresh.started = started;
  fresh.dirty = dirty;
  fresh.memory_peak = memory_peak;
  fresh.memory_startup = memory_startup;
  fresh.commands_per_second = commands_per_second;
  fresh.by_command = std::move(by_command);
  for (auto& [command, counts] : fresh.by_command) counts = {};
  *this = std::move(fresh);
}

}  // namespace mayfly
