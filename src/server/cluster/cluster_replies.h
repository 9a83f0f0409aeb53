// SPDX-License-Identifier: Apache-2.0
// What CLUSTER NODES, SLOTS, SHARDS and INFO show. Clients find their way by these: the forms are
// those of Redis.

#pragma once

#include <string>
#include <string_view>

#include "resp/reply.h"
#include "server/cluster/cluster.h"

namespace mayfly {

// A line for each node.
std::string nodes_text(const Cluster& cluster);

// The line of one node.
std::string node_line(const Cluster& cluster, const std::string& id);

void reply_slots(Reply& reply, const Cluster& cluster);
void reply_shards(Reply& reply, const Cluster& cluster);

// The lines of CLUSTER INFO, also for INFO cluster.
std::string cluster_info_text(const ServerParts& server);

// The id of a shard as clients see it: 40 hexadecimal digits made from its name.
std::string shard_digits(std::string_view name);

}  // namespace mayfly
