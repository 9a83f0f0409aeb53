// SPDX-License-Identifier: Apache-2.0
// How long commands took, for INFO and LATENCY HISTOGRAM.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/monitoring/stats.h"

namespace mayfly {

// "config|get" of a subcommand.
std::string full_name(const Command& command);

// In the order of the alphabet. The pointers are good until the next command is counted.
std::map<std::string, const CommandStats*> commands_by_name(const Stats& stats);

// The longest time that bucket `i` of CommandStats::micros_log2 stands for.
constexpr std::uint64_t bucket_micros(std::size_t i) { return (std::uint64_t{1} << i) - 1; }

// The time that `share` of the calls (0.5, 0.99) did not exceed, at most twice too high.
std::uint64_t percentile_micros(const CommandStats& stats, double share);

}  // namespace mayfly
