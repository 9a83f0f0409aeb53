// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster reshard`, `rebalance` and `cancel`: slots move to other shards.

#pragma once

#include <string>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "cluster/plan/rebalance.h"

namespace mayfly {

struct ReshardArgs {
  std::string source;
  std::string target;
  int slots = 0;                    // --slots; or
  std::vector<std::string> ranges;  // --range
};

struct RebalanceArgs {
  std::vector<std::string> weights;  // SHARD=2
  std::string by = "slots";
};

struct CancelArgs {
  std::vector<std::string> jobs;  // empty: all
};

Result<Exit> run_reshard(const ReshardArgs& args, ClusterSession& session);
Result<Exit> run_rebalance(const RebalanceArgs& args, ClusterSession& session);
Result<Exit> run_cancel(const CancelArgs& args, ClusterSession& session);

// Shows the plan, asks, writes the jobs and watches them.
Result<Exit> run_moves(ClusterSession& session, const MovePlan& plan);

// The shards of a view, each with weight 1.
std::vector<RebalanceShard> shards_of(const ClusterView& view);

}  // namespace mayfly
