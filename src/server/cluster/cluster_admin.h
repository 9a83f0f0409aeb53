// SPDX-License-Identifier: Apache-2.0
// The subcommands of CLUSTER that change the cluster, in the words of Redis, so that `redis-cli
// --cluster` works. Each is a transaction of the register, and the client waits for it.

#pragma once

#include "server/cluster/cluster.h"
#include "server/core/server_call.h"

namespace mayfly {

void cluster_meet(ServerCall& call, Cluster& cluster);
void cluster_addslots(ServerCall& call, Cluster& cluster);
void cluster_addslotsrange(ServerCall& call, Cluster& cluster);
void cluster_replicate(ServerCall& call, Cluster& cluster);
void cluster_forget(ServerCall& call, Cluster& cluster);
void cluster_reset(ServerCall& call, Cluster& cluster);
void cluster_failover(ServerCall& call, Cluster& cluster);

// Sent by a replica to its primary: hands over to it.
void cluster_handover(ServerCall& call, Cluster& cluster);

// Refused, with what to do instead.
void cluster_no_setslot(ServerCall& call, Cluster& cluster);
void cluster_no_delslots(ServerCall& call, Cluster& cluster);

}  // namespace mayfly
