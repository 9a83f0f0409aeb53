// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster init`: makes a cluster out of empty nodes.

#pragma once

#include <string>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "cli/cluster/session/node_facts.h"

namespace mayfly {

struct InitArgs {
  std::vector<std::string> nodes;  // HOST:PORT
  int replicas = 1;
  int lease_ms = 2000;
};

Result<Exit> run_init(const InitArgs& args, ClusterSession& session);

// A node that is to come into a cluster: it answers, has no data, belongs to this name and this
// etcd, and to no shard. Also for `add`.
struct Newcomer {
  NodeAddress address;  // as the user has named it
  NodeFacts facts;
  NodeRecord record;
};
Result<Newcomer> check_newcomer(const ClusterSession& session, const ClusterView& view,
                                NodeAddress address, NodeFacts facts);

// Waits until the primaries of these shards serve; says so if they do not.
void wait_for_service(ClusterSession& session, const std::vector<std::string>& shards);

// 40 random hexadecimal digits.
std::string random_cluster_id();

}  // namespace mayfly
