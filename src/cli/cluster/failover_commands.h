// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster failover` and `recover`: another node becomes the primary of a shard, without a
// loss, or with one that somebody has accepted.

#pragma once

#include <string>

#include "cli/cluster/session/cluster_session.h"

namespace mayfly {

struct FailoverArgs {
  std::string shard;
  std::string node;  // --to; empty: the one that is the least behind
};

struct RecoverArgs {
  std::string shard;
  bool accepts_loss = false;
};

Result<Exit> run_failover(const FailoverArgs& args, ClusterSession& session);
Result<Exit> run_recover(const RecoverArgs& args, ClusterSession& session);

// Makes `node`, or the best replica if it is empty, the primary, and waits for it. Returns who it
// is now.
Result<std::string> hand_over(ClusterSession& session, const std::string& shard,
                              const std::string& node);

}  // namespace mayfly
