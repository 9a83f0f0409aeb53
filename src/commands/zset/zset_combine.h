// SPDX-License-Identifier: Apache-2.0
// Unions, intersections and differences of sets and sorted sets. A member of a set has the score 1.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/zset/zset_steps.h"

namespace mayfly {

enum class ScoreAggregate { sum, min, max };

struct ZsetSource {
  std::string_view key;
  Slot slot = kNoSlot;
  bool is_set = false;
  std::size_t size = 0;
  double weight = 1;

  double score_of(const Member& member) const { return is_set ? 1 : member.score(); }
};

struct ZsetSources {
  std::vector<ZsetSource> sources;  // at least one
  ScoreAggregate aggregate = ScoreAggregate::sum;
};

enum class ZsetOperation { unite, intersect, subtract };

// The result in the order of a sorted set. Its names may be views into the sources. Reports members
// that were found expired.
ScoredNames combine_zsets(Call& call, ZsetOperation operation, ZsetSources sources);

// How many members are in all sources; it stops at `limit`.
std::size_t count_common(Call& call, ZsetSources sources, std::size_t limit);

}  // namespace mayfly
