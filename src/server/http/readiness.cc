// SPDX-License-Identifier: Apache-2.0
#include "server/http/readiness.h"

#include <fmt/format.h>

#include "keyspace/eviction.h"
#include "server/cluster/cluster.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/monitoring/memory.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

std::optional<std::string> why_cluster_not_ready(const Cluster& cluster) {
  if (!cluster.is_enabled() || cluster.is_ok()) return std::nullopt;
  if (cluster.node().machine() == nullptr) return "cluster: this node belongs to no shard";
  if (cluster.is_leading() && !cluster.is_serving()) {
    return "cluster: this primary may not serve, as no promise of its in-sync replicas is left";
  }
  return "cluster: it is down for this node (see CLUSTER INFO)";
}

}  // namespace

std::optional<std::string> why_writes_refused(const ServerParts& parts) {
  if (parts.replication.is_replica()) return std::nullopt;
  if (const Status status = parts.persistence.check_writable(); !status) {
    return status.error().message;
  }
  if (const Status status = parts.replication.check_writable(parts.clock); !status) {
    return fmt::format("{} (min-replicas-to-write is {})", status.error().message,
                       parts.config.min_replicas_to_write);
  }
  if (!parts.reclaimer.lacks_room()) return std::nullopt;
  return fmt::format(
      "OOM {} bytes are used, maxmemory is {}, and with maxmemory-policy {} nothing can be evicted",
      used_memory(), parts.config.maxmemory, name_of(parts.config.maxmemory_policy));
}

std::optional<std::string> why_not_ready(const ServerParts& parts) {
  if (parts.loading.is_active()) return "loading: the data is read from disk or from the primary";
  if (parts.replication.is_stale()) {
    return "stale: the primary is not connected, and replica-serve-stale-data is 'no'";
  }
  if (auto why = why_writes_refused(parts)) return why;
  if (auto why = why_cluster_not_ready(parts.cluster)) return why;
  if (parts.scripting.is_busy()) return "busy: a script runs for long";
  if (parts.persistence.shutdown().is_waiting()) return "stopping: the server shuts down";
  return std::nullopt;
}

}  // namespace mayfly
