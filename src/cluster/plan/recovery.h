// SPDX-License-Identifier: Apache-2.0
// Recovery of a shard after the end of all its memories: which node has the most data, and whether
// that is enough to recover without an operator. Nodes decide by it, and `mayfly cluster status`
// shows why they wait.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cluster/records.h"

namespace mayfly {

// Processes of the nodes of a shard, by node. They need not be named by its record.
using LiveProcesses = std::map<std::string, LiveRecord>;

// Epoch and offset of the data of a process. There is one log in each epoch, so of two processes
// the one with the greater pair has all that was safe of the data of the other.
using DataEnd = std::pair<std::uint64_t, std::uint64_t>;
DataEnd data_of(const LiveRecord& live);

struct RecoveryChoice {
  std::string best;       // of the nodes that the record names; empty: one of them is not alive
  std::string holder;     // a node with data that the best may lack; empty: none
  bool is_asked = false;  // the holder has not announced yet how much it has
};

// REQUIRES: the memories that the record names have ended. `version` is the record's version.
//
// The best may recover if it has loaded the epoch of the record, and no other process has more.
// Else it has lost data, and all replicas would copy the rest of it. So it waits as long as another
// process of the shard has more, or has data in memory and has not announced how much. A process
// that has loaded an earlier epoch waits for any data in memory.
RecoveryChoice choose_recovery(const ShardRecord& record, std::uint64_t version,
                               const LiveProcesses& lives);

}  // namespace mayfly
