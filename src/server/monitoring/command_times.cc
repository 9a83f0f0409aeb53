// SPDX-License-Identifier: Apache-2.0
// Names and percentiles of what was counted by command.

#include "server/monitoring/command_times.h"

#include "commands/command.h"

namespace mayfly {

std::string full_name(const Command& command) {
  std::string name(command.parent);
  if (!name.empty()) name += '|';
  return name += command.name;
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
