// SPDX-License-Identifier: Apache-2.0
// Which nodes become primaries and replicas of which shards in a new cluster.
//
// The nodes of a shard are in different zones where that is possible, and on different hosts where
// that is; primaries are spread evenly over zones and hosts; slots are dealt out evenly.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cluster/plan/cluster_view.h"
#include "cluster/slot_set.h"
#include "mayfly/result.h"

namespace mayfly {

struct PlacementNode {
  std::string id;
  std::string host;
  std::string zone;  // empty: the host is a zone of its own
};

struct PlacedShard {
  std::string id;
  std::size_t primary = 0;            // an index of the nodes
  std::vector<std::size_t> replicas;  // the same
  SlotSet slots;
};

// As many shards as there can be, each with `replicas` at least: nodes that are left over become
// further replicas. Code::invalid if there are too few nodes for one shard.
Result<std::vector<PlacedShard>> place_shards(const std::vector<PlacementNode>& nodes,
                                              int replicas);

// "a" ... "z", "aa", "ab" ...
std::string shard_name(std::size_t number);

// The number of the first name that no shard has had yet.
std::size_t free_shard_number(const ClusterView& view);

// The share of shard `number` out of `shards`, rounded as redis-cli does: 0-5460, 5461-10922, ...
SlotSet even_slots(std::size_t number, std::size_t shards);

}  // namespace mayfly
