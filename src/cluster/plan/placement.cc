// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace mayfly {
namespace {

std::string zone_of(const PlacementNode& node) {
  return node.zone.empty() ? "host " + node.host : "zone " + node.zone;
}

// Nodes of a zone stand together, in it those of a host. The largest zones come first, then as the
// user has named them.
std::vector<std::size_t> by_zone(const std::vector<PlacementNode>& nodes) {
  struct Group {
    std::size_t size = 0;
    std::size_t first = 0;
  };
  std::map<std::string, Group> zones;
  std::map<std::string, Group> hosts;
  const auto count = [](Group& group, std::size_t at) {
    if (group.size++ == 0) group.first = at;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    count(zones[zone_of(nodes[i])], i);
    count(hosts[nodes[i].host], i);
  }
  const auto rank = [&](std::size_t i) {
    const Group& zone = zones[zone_of(nodes[i])];
    const Group& host = hosts[nodes[i].host];
    return std::tuple(nodes.size() - zone.size, zone.first, nodes.size() - host.size, host.first,
                      i);
  };
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, rank);
  return order;
}

// How many primaries there are where a node is.
struct PrimaryCounts {
  std::map<std::string, int> zones;
  std::map<std::string, int> hosts;

  void add(const PlacementNode& node, int one) {
    zones[zone_of(node)] += one;
    hosts[node.host] += one;
  }
  std::tuple<int, int> at(const PlacementNode& node) {
    return {zones[zone_of(node)], hosts[node.host]};
  }
};

// Each shard chooses where the fewest primaries are; then those that would be better off elsewhere
// choose again.
void choose_primaries(const std::vector<PlacementNode>& nodes, std::vector<PlacedShard>& shards) {
  PrimaryCounts counts;
  const auto choose = [&](PlacedShard& shard) {
    for (std::size_t& replica : shard.replicas) {
      if (counts.at(nodes[replica]) < counts.at(nodes[shard.primary])) {
        std::swap(replica, shard.primary);
      }
    }
    counts.add(nodes[shard.primary], 1);
  };
  for (PlacedShard& shard : shards) choose(shard);
  for (std::size_t round = 0; round < shards.size(); ++round) {
    for (PlacedShard& shard : shards) {
      counts.add(nodes[shard.primary], -1);
      choose(shard);
    }
  }
}

}  // namespace

std::string shard_name(std::size_t number) {
  std::string name;
  for (std::size_t left = number + 1; left > 0; left = (left - 1) / 26) {
    name.insert(name.begin(), static_cast<char>('a' + (left - 1) % 26));
  }
  return name;
}

std::size_t free_shard_number(const ClusterView& view) {
  std::size_t number = view.config() ? view.config()->record.shards : 0;
  while (view.shard(shard_name(number)) != nullptr) ++number;
  return number;
}

SlotSet even_slots(std::size_t number, std::size_t shards) {
  const auto first_of = [&](std::size_t i) { return (i * kHashSlots + shards / 2) / shards; };
  const std::size_t first = first_of(number);
  const std::size_t end = first_of(number + 1);
  if (first == end) return {};
  return SlotSet({{static_cast<HashSlot>(first), static_cast<HashSlot>(end - 1)}});
}

Result<std::vector<PlacedShard>> place_shards(const std::vector<PlacementNode>& nodes,
                                              int replicas) {
  const std::size_t each = static_cast<std::size_t>(replicas) + 1;
  if (nodes.size() < each) {
    return Error{Code::invalid, std::to_string(nodes.size()) +
                                    " nodes are too few for a shard of " + std::to_string(each) +
                                    " (name more, or fewer --replicas)"};
  }
  std::vector<PlacedShard> shards(std::min<std::size_t>(nodes.size() / each, kHashSlots));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].id = shard_name(i);
    shards[i].slots = even_slots(i, shards.size());
  }
  // Dealt out in turn, the nodes of a zone go to as many shards as possible: a zone comes twice to
  // a shard only if it has more nodes than there are shards.
  const std::vector<std::size_t> order = by_zone(nodes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    PlacedShard& shard = shards[i % shards.size()];
    if (i < shards.size()) {
      shard.primary = order[i];
    } else {
      shard.replicas.push_back(order[i]);
    }
  }
  choose_primaries(nodes, shards);
  return shards;
}

}  // namespace mayfly
