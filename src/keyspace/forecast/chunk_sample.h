// SPDX-License-Identifier: Apache-2.0
// ChunkSample: when chunks of slots become empty, and so give their memory back. A slab and a
// column have chunks of 256 slots (mayfly/internal/slab.h, slot_column.h): memory follows the last
// slot of a chunk, not each.
//
//   ChunkSample sample(ends);
//   for (chunk : ChunkSample::choose(extent, 64, random)) sample.add(when its last slot is free);
//   sample.emptied(extent / 256)   // for each end: how many chunks are empty then, but not now
//
// All chunks are looked at if they are few, else some of them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "mayfly/random.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

class ChunkSample {
 public:
  static constexpr Time kNotInUse = Time::min();

  // REQUIRES: in order, and they outlive this.
  explicit ChunkSample(std::span<const Time> ends) : ends_(ends), emptied_(ends.size()) {}

  // The numbers of at most `most` chunks, spread over all, in no order.
  static std::vector<std::size_t> choose(std::size_t extent, std::size_t most, Random& random) {
    const std::size_t all = extent / kChunkSlots;
    const std::size_t count = std::min(all, most);
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = all * i / count;
      const std::size_t size = all * (i + 1) / count - first;
      chosen.push_back(size == 1 ? first : first + random.below(size));
    }
    for (std::size_t i = chosen.size(); i > 1; --i) {
      std::swap(chosen[i - 1], chosen[random.below(i)]);
    }
    return chosen;
  }

  // A chunk of which the last slot is free from this moment on; kNotInUse if all are free now.
  void add(Time last) {
    ++looked_at_;
    if (last == kNotInUse) return;
    const auto end = std::ranges::upper_bound(ends_, last);
    if (end != ends_.end()) ++emptied_[static_cast<std::size_t>(end - ends_.begin())];
  }

  // For each moment: how many of `all` chunks become empty until then.
  std::vector<double> emptied(std::size_t all) const {
    std::vector<double> sums(emptied_.size());
    double sum = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sum += static_cast<double>(emptied_[i]);
      sums[i] =
          looked_at_ == 0 ? 0 : sum * static_cast<double>(all) / static_cast<double>(looked_at_);
    }
    return sums;
  }

 private:
  std::span<const Time> ends_;
  std::vector<std::size_t> emptied_;  // of those looked at, between a moment and the one before
  std::size_t looked_at_ = 0;
};

// Bytes of a chunk: in a slab of pointers, and in the columns of a VolatileSet.
inline constexpr double kSlabChunkBytes = 8.0 * kChunkSlots;
inline constexpr double kIndexChunkBytes = 10.0 * kChunkSlots;

// Of a slot in a bucket of a VolatileSet, on average.
inline constexpr double kIndexBucketBytes = 4.6;

}  // namespace mayfly
