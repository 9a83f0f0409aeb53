// SPDX-License-Identifier: Apache-2.0
// Metrics of a node of a cluster. A server without cluster-enabled has none of them.

#include <algorithm>

#include "server/cluster/cluster.h"
#include "server/core/server_call.h"
#include "server/metrics/metric_helpers.h"
#include "server/metrics/metrics.h"

namespace mayfly {
namespace {

void metrics_of_shard(const Cluster& cluster, PrometheusText& out) {
  const ShardMachine* const machine = cluster.node().machine();
  const ShardMachine::Stats stats = machine == nullptr ? ShardMachine::Stats{} : machine->stats();
  one_flag(out, "mayfly_cluster_primary", "Whether this node is the primary of its shard.",
           cluster.is_leading());
  one_flag(out, "mayfly_cluster_serving", "Whether it may serve the slots of its shard now.",
           cluster.is_serving());
  one_gauge(out, "mayfly_cluster_slots", "Hash slots of its shard.", cluster.own_slots().count());
  one_gauge(out, "mayfly_cluster_epoch", "The epoch of its shard, which each takeover raises.",
            machine == nullptr ? 0 : machine->record().epoch);
  one_gauge(out, "mayfly_cluster_insync_replicas",
            "Replicas that may take over, by the record of the shard.",
            machine == nullptr ? 0 : machine->record().insync.size());
  const std::uint64_t end = cluster.node().log_end();
  const bool has_set = cluster.is_leading() && machine->has_set();
  one_gauge(out, "mayfly_cluster_unsafe_bytes",
            "The end of the primary's log that not all in-sync replicas have.",
            has_set ? end - std::min(end, machine->safe_offset()) : 0);
  one_counter(out, "mayfly_cluster_takeovers_total", "How often this process took over its shard.",
              stats.takeovers);
  one_counter(out, "mayfly_cluster_insync_changes_total",
              "Replicas that this primary added to the in-sync set, or removed from it.",
              stats.additions + stats.removals);
  one_flag(out, "mayfly_cluster_waits_for_holder",
           "Whether its shard has no primary because another process may have more of its data.",
           machine != nullptr && machine->is_waiting_for_holder());
}

}  // namespace

void metrics_of_cluster(const ServerParts& server, PrometheusText& out) {
  const Cluster& cluster = server.cluster;
  if (!cluster.is_enabled()) return;
  const ClusterStats& stats = cluster.stats();
  one_flag(out, "mayfly_cluster_ok", "Whether the state of the cluster is ok, as in CLUSTER INFO.",
           cluster.is_ok());
  metrics_of_shard(cluster, out);
  one_counter(out, "mayfly_cluster_fenced_total",
              "How often this primary stopped serving, as promises of replicas had run out.",
              stats.fenced);
  one_counter(out, "mayfly_cluster_fenced_seconds_total",
              "How long it did not serve for that reason, without the present time if it does not.",
              metric_seconds(stats.fenced_time));
  one_gauge(out, "mayfly_cluster_clients_with_held_replies",
            "Clients whose replies wait until they are safe (cluster-replies in-sync).",
            cluster.held().clients());
  out.family("mayfly_cluster_redirected_requests_total",
             "Requests that were refused because of their slot, by the error.",
             MetricType::counter);
  out.sample({{"error", "MOVED"}}, stats.moved_replies);
  out.sample({{"error", "CROSSSLOT"}}, stats.crossslot_errors);
  out.sample({{"error", "TRYAGAIN"}}, stats.tryagain_errors);
  const SlotMoves& moves = cluster.moves();
  out.family("mayfly_cluster_moves_total", "Moves of slots that have ended at this node.",
             MetricType::counter);
  out.sample({{"result", "done"}}, moves.stats().done);
  out.sample({{"result", "failed"}}, moves.stats().failed);
  out.sample({{"result", "imported"}}, moves.stats().imported);
  one_gauge(out, "mayfly_cluster_clock_floor_seconds",
            "By that the time of this node is ahead of the clock of its machine.",
            metric_seconds(server.host.clock_ahead()));
  if (server.cluster.reg() == nullptr) return;
  const RegisterStats& reg = server.cluster.reg()->stats();
  one_flag(out, "mayfly_cluster_register_connected", "Whether etcd answers.", reg.is_connected);
  one_flag(out, "mayfly_cluster_register_usable",
           "Whether this etcd is the one that the node knows, with records that it can read.",
           cluster.register_problem().empty());
  one_counter(out, "mayfly_cluster_register_unknown_total",
              "Commits to etcd whose outcome is not known.", reg.unknown);
}

}  // namespace mayfly
