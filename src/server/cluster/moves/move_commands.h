// SPDX-License-Identifier: Apache-2.0
// The subcommands of CLUSTER that move slots, in the words of Valkey 9.

#pragma once

#include "server/cluster/cluster.h"
#include "server/core/server_call.h"

namespace mayfly {

// CLUSTER MIGRATESLOTS SLOTSRANGE start end [start end ...] NODE node-id [SLOTSRANGE ...]
void cluster_migrateslots(ServerCall& call, Cluster& cluster);
void cluster_getslotmigrations(ServerCall& call, Cluster& cluster);
void cluster_cancelslotmigrations(ServerCall& call, Cluster& cluster);

// Sent by the source of a move to its target:
//
//   CLUSTER IMPORT BEGIN job source source-epoch target-epoch now has-set slots
//   CLUSTER IMPORT LAST job now | YOURS job | PING job
void cluster_import(ServerCall& call, Cluster& cluster);

}  // namespace mayfly
