// SPDX-License-Identifier: Apache-2.0
// TtlHistogram: how many entries expire within the coming second, 10 seconds, minute, 10 minutes,
// hour, day, week, and later; and how many are overdue: expired, but not removed yet.
//
// An entry counts in one bucket: the first whose bound its deadline does not exceed.

#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mayfly/time.h"

namespace mayfly {

// A bucket has the entries with at most `within` left, and more than the bound before it.
struct TtlBound {
  std::string_view name;
  Millis within;
};

inline constexpr std::size_t kTtlBuckets = 8;
inline constexpr std::array<TtlBound, kTtlBuckets> kTtlBounds = {{
    {"1s", std::chrono::seconds(1)},
    {"10s", std::chrono::seconds(10)},
    {"1m", std::chrono::minutes(1)},
    {"10m", std::chrono::minutes(10)},
    {"1h", std::chrono::hours(1)},
    {"1d", std::chrono::days(1)},
    {"1w", std::chrono::days(7)},
    {"later", Millis::max()},
}};

// The index of the bucket of what has so much left.
constexpr std::size_t ttl_bucket(Millis left) {
  std::size_t bucket = 0;
  while (left > kTtlBounds[bucket].within) ++bucket;
  return bucket;
}

struct TtlCount {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // of keys and values; 0 unless it was asked for

  TtlCount& operator+=(const TtlCount& other) {
    entries += other.entries;
    bytes += other.bytes;
    return *this;
  }
  bool operator==(const TtlCount&) const = default;
};

struct TtlHistogram {
  std::array<TtlCount, kTtlBuckets> buckets{};  // in the order of kTtlBounds
  TtlCount overdue{};
  Time oldest_overdue = kNever;  // the earliest deadline of these; kNever: there are none

  // Adds what expires at `deadline`, as seen at `now`. What never expires is not added.
  void add(Time deadline, Time now, TtlCount count) {
    if (deadline == kNever) return;
    if (!is_due(deadline, now)) {
      buckets[ttl_bucket(remaining(deadline, now))] += count;
      return;
    }
    overdue += count;
    oldest_overdue = std::min(oldest_overdue, deadline);
  }

  // What has a deadline and is not overdue.
  TtlCount total() const {
    TtlCount sum;
    for (const TtlCount& bucket : buckets) sum += bucket;
    return sum;
  }

  // Adds another histogram of the same moment.
  TtlHistogram& operator+=(const TtlHistogram& other) {
    for (std::size_t i = 0; i < kTtlBuckets; ++i) buckets[i] += other.buckets[i];
    overdue += other.overdue;
    oldest_overdue = std::min(oldest_overdue, other.oldest_overdue);
    return *this;
  }
  bool operator==(const TtlHistogram&) const = default;
};

}  // namespace mayfly
