// SPDX-License-Identifier: Apache-2.0
// Medians and percentiles: what many measurements say in one number.
//
// Values are taken by copy, since finding a rank reorders them.

#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <vector>

namespace mayfly::bench {

// The value below or at which `percent` per cent of the values lie, by nearest rank: always one of
// the values, never a mean of two. REQUIRES: values is not empty, 0 <= percent <= 100.
template <class T>
T percentile(std::vector<T> values, double percent) {
  assert(!values.empty() && percent >= 0 && percent <= 100);
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  const auto place = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

// The middle value, or the mean of the two in the middle. REQUIRES: values is not empty.
inline double median(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

}  // namespace mayfly::bench
