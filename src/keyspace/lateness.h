// SPDX-License-Identifier: Apache-2.0
// Lateness: how long after their deadlines entries were removed. A histogram of fixed size.
//
// Four buckets to each power of two: a percentile is exact below 8 ms and at most 25 % too high
// above. The greatest value is kept exactly.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

#include "mayfly/time.h"

namespace mayfly {

class Lateness {
 public:
  // Of an entry with `deadline` that is removed at `now`. Any two moments will do: a file may hold
  // deadlines before all calendars.
  void add(Time deadline, Time now) {
    const auto from = static_cast<std::uint64_t>(deadline.time_since_epoch().count());
    const auto to = static_cast<std::uint64_t>(now.time_since_epoch().count());
    const std::uint64_t ms = is_due(deadline, now) ? to - from : 0;
    if (ms != last_) {  // many that are due at once are late by the same
      last_ = ms;
      last_bucket_ = bucket_of(ms);
      max_ = std::max(max_, ms);
    }
    ++counts_[last_bucket_];
    sum_ += ms;
    carry_ += sum_ < ms ? 1 : 0;
  }

  std::uint64_t count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }
  std::uint64_t max_ms() const { return max_; }
  double sum_ms() const { return static_cast<double>(carry_) * 0x1p64 + static_cast<double>(sum_); }

  // How many were at most `ms` late. Exact if `ms` is 2^n - 1, or less than 8.
  std::uint64_t count_until(std::uint64_t ms) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= bucket_of(ms); ++i) count += counts_[i];
    return count;
  }

  // The lateness that `share` of all entries (0.5, 0.99) did not exceed; 0 if there are none.
  std::uint64_t percentile_ms(double share) const {
    std::uint64_t left = static_cast<std::uint64_t>(share * static_cast<double>(count()));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > left) return std::min(upper_of(i), max_);
      left -= counts_[i];
    }
    return max_;
  }

 private:
  static constexpr std::size_t kBuckets = 256;

  // 0 to 7 have a bucket each; then the two bits below the highest one choose among four.
  static std::size_t bucket_of(std::uint64_t ms) {
    if (ms < 8) return ms;
    const auto width = static_cast<std::size_t>(std::bit_width(ms));
    return 8 + (width - 4) * 4 + (ms >> (width - 3) & 3);
  }

  static std::uint64_t upper_of(std::size_t bucket) {
    if (bucket < 8) return bucket;
    const std::size_t width = (bucket - 8) / 4 + 4;
    const std::uint64_t low = (4 + (bucket - 8) % 4) << (width - 3);
    return low + (std::uint64_t{1} << (width - 3)) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t last_ = 0;
  std::size_t last_bucket_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t sum_ = 0;    // its lower half
  std::uint64_t carry_ = 0;  // and the upper one
};

}  // namespace mayfly
