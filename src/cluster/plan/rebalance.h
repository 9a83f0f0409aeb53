// SPDX-License-Identifier: Apache-2.0
// Which slots move where so that each shard has its share, with the fewest slots moved.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/slot_set.h"
#include "mayfly/result.h"

namespace mayfly {

struct RebalanceShard {
  std::string id;
  SlotSet slots;
  double weight = 1;  // its share is the weight divided by the sum of all; 0: none
};

struct PlannedMove {
  std::string source;
  std::string target;
  SlotSet slots;

  bool operator==(const PlannedMove&) const = default;
};

// At most one move for each pair of shards, in no order that matters.
using MovePlan = std::vector<PlannedMove>;

// Each shard gets its share of the slots that all of them have, to less than one slot.
// Code::invalid if a weight is negative or all are zero.
Result<MovePlan> rebalance_by_slots(const std::vector<RebalanceShard>& shards);

// Each shard gets its share of the keys, to within `tolerance` of it where slots can be divided so.
// The slots with the most keys move, so that few have to.
using SlotKeys = std::array<std::uint64_t, kHashSlots>;
Result<MovePlan> rebalance_by_keys(const std::vector<RebalanceShard>& shards, const SlotKeys& keys,
                                   double tolerance = 0.02);

// Moves all slots of shard `id` to the others, most to those that are the furthest below their
// share. Code::invalid if there is no other shard, or if the others have no weight.
Result<MovePlan> drain_shard(const std::vector<RebalanceShard>& shards, std::string_view id);

// `count` slots of `source`: small ranges first, then those next to what `target` has, so that both
// have few ranges afterwards. All of them if it has no more.
SlotSet choose_slots(const SlotSet& source, const SlotSet& target, std::size_t count);

}  // namespace mayfly
