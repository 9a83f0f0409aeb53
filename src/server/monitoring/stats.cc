// SPDX-License-Identifier: Apache-2.0
// Resetting counts, and percentiles of the time that commands took.

#include "server/monitoring/stats.h"

#include <utility>

#include "commands/command.h"

namespace mayfly {

// Commands keep their places, as clients point to them.
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

std::map<std::string, const CommandStats*> commands_by_name(const Stats& stats) {
  std::map<std::string, const CommandStats*> named;
  for (const auto& [command, counts] : stats.by_command) {
    if (counts.calls + counts.rejected > 0) named.emplace(full_name(*command), &counts);
  }
  return named;
}

std::uint64_t percentile_micros(const CommandStats& stats, double share) {
  auto left = static_cast<std::uint64_t>(share * static_cast<double>(stats.calls));
  for (std::size_t i = 0; i < stats.micros_log2.size(); ++i) {
    if (stats.micros_log2[i] > left) return bucket_micros(i);
    left -= stats.micros_log2[i];
  }
  return bucket_micros(stats.micros_log2.size() - 1);
}

}  // namespace mayfly
