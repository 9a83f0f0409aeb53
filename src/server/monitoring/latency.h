// SPDX-License-Identifier: Apache-2.0
// Latency: when work of a kind ("command", "expire-cycle") took longer than the threshold.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

struct LatencySample {
  std::int64_t at_seconds = 0;
  std::int64_t ms = 0;
};

struct LatencyEvent {
  std::deque<LatencySample> samples;  // at most 160, one a second
  std::int64_t max_ms = 0;
  std::int64_t sum_ms = 0;  // of all that was ever added,
  std::int64_t count = 0;   // and how often that was
};

class Latency {
 public:
  static constexpr std::size_t kSamples = 160;

  // Counts if `threshold_ms` is not 0 and was reached.
  void add(std::string_view event, std::int64_t ms, std::int64_t threshold_ms, Time now);

  const std::map<std::string, LatencyEvent, std::less<>>& events() const { return events_; }

  // Removes one event; returns whether there was one.
  bool reset(std::string_view event);
  void reset() { events_.clear(); }

 private:
  std::map<std::string, LatencyEvent, std::less<>> events_;
};

}  // namespace mayfly
