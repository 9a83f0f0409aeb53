// SPDX-License-Identifier: Apache-2.0
// Keeping what took longer than the threshold: the longest of each second.

#include "server/monitoring/latency.h"

#include <algorithm>

namespace mayfly {

void Latency::add(std::string_view event, std::int64_t ms, std::int64_t threshold_ms, Time now) {
  if (threshold_ms == 0 || ms < threshold_ms) return;
  const auto found = events_.find(event);
  LatencyEvent& kept = found != events_.end() ? found->second : events_[std::string(event)];
  const std::int64_t second =
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();

  kept.max_ms = std::max(kept.max_ms, ms);
  kept.sum_ms += ms;
  ++kept.count;
  if (!kept.samples.empty() && kept.samples.back().at_seconds == second) {
    kept.samples.back().ms = std::max(kept.samples.back().ms, ms);
    return;
  }
  kept.samples.push_back({second, ms});
  if (kept.samples.size() > kSamples) kept.samples.pop_front();
}

bool Latency::reset(std::string_view event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return false;
  events_.erase(found);
  return true;
}

}  // namespace mayfly
