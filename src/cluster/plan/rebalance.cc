// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/rebalance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace mayfly {
namespace {

Result<double> sum_of_weights(const std::vector<RebalanceShard>& shards) {
  double sum = 0;
  for (const RebalanceShard& shard : shards) {
    if (!(shard.weight >= 0) || !std::isfinite(shard.weight)) {
      return Error{Code::invalid, "the weight of shard " + shard.id + " is negative"};
    }
    sum += shard.weight;
  }
  if (sum <= 0) return Error{Code::invalid, "all weights are zero (give a shard more)"};
  return sum;
}

std::size_t range_size(const SlotRange& range) {
  return static_cast<std::size_t>(range.last - range.first) + 1;
}

// How many slots each shard shall have. A share that is no whole number is rounded up for shards
// that have more than it now: one slot less has to move for each.
std::vector<std::size_t> slot_shares(const std::vector<RebalanceShard>& shards, double weights) {
  std::size_t all = 0;
  for (const RebalanceShard& shard : shards) all += shard.slots.count();
  std::vector<std::size_t> shares;
  std::vector<std::size_t> may_have_more;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const double share = static_cast<double>(all) * shards[i].weight / weights;
    const double whole = std::floor(share + 1e-9);
    shares.push_back(static_cast<std::size_t>(whole));
    if (share - whole > 1e-9) may_have_more.push_back(i);
  }
  std::ranges::stable_sort(may_have_more, std::ranges::greater(),
                           [&](std::size_t i) { return shards[i].slots.count() > shares[i]; });
  std::size_t left = all - std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  for (const std::size_t i : may_have_more) {
    if (left == 0) break;
    ++shares[i];
    --left;
  }
  return shares;
}

// A shard and how many slots it has to give, or to get.
struct Amount {
  std::size_t shard;
  std::size_t slots;
};

// Gives from those that have too much to those that have too little, the largest amounts first.
MovePlan match(const std::vector<RebalanceShard>& shards, std::vector<Amount> givers,
               std::vector<Amount> takers) {
  std::ranges::stable_sort(givers, std::ranges::greater(), &Amount::slots);
  std::ranges::stable_sort(takers, std::ranges::greater(), &Amount::slots);
  MovePlan plan;
  auto taker = takers.begin();
  for (const Amount& giver : givers) {
    SlotSet has = shards[giver.shard].slots;
    std::size_t left = giver.slots;
    while (left > 0 && taker != takers.end()) {
      const std::size_t count = std::min(left, taker->slots);
      const RebalanceShard& target = shards[taker->shard];
      const SlotSet chosen = choose_slots(has, target.slots, count);
      has -= chosen;
      plan.push_back({shards[giver.shard].id, target.id, chosen});
      left -= count;
      taker->slots -= count;
      if (taker->slots == 0) ++taker;
    }
  }
  return plan;
}

// What a shard has, beside its share.
struct KeyLoad {
  double keys = 0;
  double share = 0;
  double surplus() const { return keys - share; }
};

struct SlotLoad {
  HashSlot slot;
  double keys;
};

// Slots of a shard that have keys, the fullest first.
std::vector<SlotLoad> full_slots(const SlotSet& slots, const SlotKeys& keys) {
  std::vector<SlotLoad> loads;
  slots.each([&](HashSlot slot) {
    if (keys[slot] > 0) loads.push_back({slot, static_cast<double>(keys[slot])});
  });
  std::ranges::stable_sort(loads, std::ranges::greater(), &SlotLoad::keys);
  return loads;
}

}  // namespace

SlotSet choose_slots(const SlotSet& source, const SlotSet& target, std::size_t count) {
  std::vector<SlotRange> ranges = source.ranges();
  const auto is_next_above = [&](const SlotRange& range) {
    return range.last + 1 < kHashSlots && target.contains(static_cast<HashSlot>(range.last + 1));
  };
  const auto is_next_below = [&](const SlotRange& range) {
    return range.first > 0 && target.contains(static_cast<HashSlot>(range.first - 1));
  };
  std::ranges::stable_sort(ranges, {}, [&](const SlotRange& range) {
    return std::pair(range_size(range), !is_next_above(range) && !is_next_below(range));
  });
  SlotSet chosen;
  std::size_t left = count;
  for (SlotRange range : ranges) {
    if (left == 0) break;
    const std::size_t taken = std::min(left, range_size(range));
    if (is_next_below(range) && !is_next_above(range)) {
      range.last = static_cast<HashSlot>(range.first + taken - 1);
    } else {
      range.first = static_cast<HashSlot>(range.last - taken + 1);
    }
    chosen |= SlotSet({range});
    left -= taken;
  }
  return chosen;
}

Result<MovePlan> rebalance_by_slots(const std::vector<RebalanceShard>& shards) {
  const auto weights = sum_of_weights(shards);
  if (!weights) return weights.error();
  const std::vector<std::size_t> shares = slot_shares(shards, *weights);
  std::vector<Amount> givers;
  std::vector<Amount> takers;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t has = shards[i].slots.count();
    if (has > shares[i]) givers.push_back({i, has - shares[i]});
    if (has < shares[i]) takers.push_back({i, shares[i] - has});
  }
  return match(shards, std::move(givers), std::move(takers));
}

Result<MovePlan> rebalance_by_keys(const std::vector<RebalanceShard>& shards, const SlotKeys& keys,
                                   double tolerance) {
  const auto weights = sum_of_weights(shards);
  if (!weights) return weights.error();
  std::vector<KeyLoad> loads(shards.size());
  double all = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].slots.each([&](HashSlot slot) { loads[i].keys += static_cast<double>(keys[slot]); });
    all += loads[i].keys;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    loads[i].share = all * shards[i].weight / *weights;
  }

  std::map<std::pair<std::size_t, std::size_t>, SlotSet> moves;
  std::vector<std::size_t> order(shards.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return loads[i].surplus(); });
  for (const std::size_t giver : order) {
    // A slot moves to whoever lacks most, if neither of the two is beyond its share then.
    for (const SlotLoad& slot : full_slots(shards[giver].slots, keys)) {
      const double slack = loads[giver].share * tolerance;
      if (loads[giver].surplus() <= slack) break;
      const auto taker =
          std::ranges::min_element(order, {}, [&](std::size_t i) { return loads[i].surplus(); });
      const double room = std::min(loads[giver].surplus(), -loads[*taker].surplus());
      if (slot.keys > room) continue;
      moves[{giver, *taker}].add(slot.slot);
      loads[giver].keys -= slot.keys;
      loads[*taker].keys += slot.keys;
    }
  }
  MovePlan plan;
  for (auto& [pair, slots] : moves) {
    plan.push_back({shards[pair.first].id, shards[pair.second].id, slots});
  }
  return plan;
}

Result<MovePlan> drain_shard(const std::vector<RebalanceShard>& shards, std::string_view id) {
  std::vector<RebalanceShard> weighted = shards;
  for (RebalanceShard& shard : weighted) {
    if (shard.id == id) shard.weight = 0;
  }
  const auto weights = sum_of_weights(weighted);
  if (!weights) {
    return Error{Code::invalid, "no other shard can take the slots of shard " + std::string(id) +
                                    " (add one, or give one a weight)"};
  }
  const std::vector<std::size_t> shares = slot_shares(weighted, *weights);
  std::vector<Amount> givers;
  std::vector<Amount> takers;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::size_t has = shards[i].slots.count();
    if (shards[i].id == id) {
      givers.push_back({i, has});
    } else if (has < shares[i]) {
      takers.push_back({i, shares[i] - has});
    }
  }
  return match(weighted, std::move(givers), std::move(takers));
}

}  // namespace mayfly
