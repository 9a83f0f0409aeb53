// SPDX-License-Identifier: Apache-2.0
// Recovery of a shard after the end of all its memories: which node has the most data, and whether
// that is enough to recover without an operator. Nodes decide by it, and `mayfly cluster status`
// shows why they wait.

#pragma once

#include <map>
#include <string>

#include "cluster/records.h"

namespace mayfly {

// Processes of the nodes of a shard, by node. They need not be named by its record.
using LiveProcesses = std::map<std::string, LiveRecord>;

struct RecoveryChoice {
  std::string best;    // of the nodes that the record names; empty: one of them is not alive
  std::string holder;  // another node with data that the best may lack; empty: none
};

// REQUIRES: the memories that the record names have ended.
//
// A process that has loaded the epoch of the record may recover. One that has loaded less has lost
// data, and all replicas would copy the rest of it. So it waits as long as another process of the
// shard has data in memory, or has loaded more.
RecoveryChoice choose_recovery(const ShardRecord& record, const LiveProcesses& lives);

}  // namespace mayfly
