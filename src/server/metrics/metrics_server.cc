// SPDX-License-Identifier: Apache-2.0
// Metrics about clients, files and replication.

#include <algorithm>
#include <string>

#include "server/blocking/blocked_clients.h"
#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/metrics/metric_helpers.h"
#include "server/metrics/metrics.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"
#include "server/tracking/tracking.h"

namespace mayfly {

void metrics_of_clients(const ServerParts& server, PrometheusText& out) {
  const Stats& stats = server.stats;
  const auto& clients = server.clients.all();
  std::uint64_t bytes_out = stats.bytes_out;
  std::size_t paused = 0;
  std::size_t subscribers = 0;
  for (const auto& [id, client] : clients) {
    bytes_out += client->link().sent();
    if (client->limits.is_paused) ++paused;
    if (client->is_subscriber()) ++subscribers;
  }
  one_gauge(out, "mayfly_connected_clients", "Clients that are connected.", clients.size());
  one_gauge(out, "mayfly_max_clients", "The limit maxclients.", server.config.maxclients);
  one_gauge(out, "mayfly_blocked_clients", "Clients whose last request waits.",
            server.blocked.size() + paused);
  one_gauge(out, "mayfly_pubsub_clients", "Clients that subscribe to channels.", subscribers);
  one_gauge(out, "mayfly_tracking_clients", "Clients that cache keys (CLIENT TRACKING).",
            server.tracking.clients());
  one_counter(out, "mayfly_connections_total", "Connections of clients.", stats.connections);
  one_counter(out, "mayfly_rejected_connections_total", "Connections of clients that were refused.",
              stats.rejected_connections);
  one_counter(out, "mayfly_evicted_clients_total",
              "Clients that were closed because of maxmemory-clients.", stats.evicted_clients);
  one_counter(out, "mayfly_net_input_bytes_total", "Bytes received from clients.", stats.bytes_in);
  one_counter(out, "mayfly_net_output_bytes_total", "Bytes sent to clients.", bytes_out);
  out.family("mayfly_pubsub_channels", "Channels and patterns with subscribers.",
             MetricType::gauge);
  out.sample({{"kind", "channel"}}, server.pubsub.channels().size());
  out.sample({{"kind", "pattern"}}, server.pubsub.patterns().size());
  out.sample({{"kind", "shard"}}, server.pubsub.shard_channels().size());
  one_gauge(out, "mayfly_tracked_keys", "Keys that clients cache.", server.tracking.table().keys());
}

void metrics_of_persistence(const ServerParts& server, PrometheusText& out) {
  Persistence& persistence = server.persistence;
  const Snapshots& snapshots = persistence.snapshots();
  const AofWriter& aof = persistence.aof();
  const Aof* const log = aof.log();
  one_flag(out, "mayfly_loading", "Whether data is loaded.", server.loading.is_active());
  one_gauge(out, "mayfly_rdb_changes_since_last_save", "Changes since the last save.",
            server.stats.dirty);
  one_flag(out, "mayfly_rdb_save_in_progress", "Whether a child process saves.",
           server.background.is_doing(Job::save));
  one_gauge(out, "mayfly_rdb_last_save_timestamp_seconds",
            "When the last save ended, as a Unix time; the start if there was none.",
            metric_seconds(snapshots.last_save().time_since_epoch()));
  one_flag(out, "mayfly_rdb_last_save_success", "Whether the last save by a child worked.",
           snapshots.last_worked());
  one_gauge(out, "mayfly_rdb_last_save_duration_seconds",
            "How long the last save by a child took; -1: there was none.",
            snapshots.last_took() ? metric_seconds(*snapshots.last_took()) : -1.0);
  one_counter(out, "mayfly_rdb_saves_total", "Saves that worked.", snapshots.count());
  one_flag(out, "mayfly_aof_enabled", "Whether the append-only file is on.", aof.is_on());
  one_gauge(out, "mayfly_aof_size_bytes", "The size of the append-only file.",
            log == nullptr ? 0 : log->size());
  one_gauge(out, "mayfly_aof_base_size_bytes", "Its size after the last rewrite.",
            log == nullptr ? 0 : log->base_size());
  one_gauge(out, "mayfly_aof_buffer_bytes", "Bytes that are not written to the file yet.",
            log == nullptr ? 0 : log->buffered());
  one_flag(out, "mayfly_aof_last_write_success", "Whether the last write to the file worked.",
           aof.last_write_worked());
  one_flag(out, "mayfly_aof_rewrite_in_progress", "Whether a child process rewrites the file.",
           server.background.is_doing(Job::rewrite));
  one_flag(out, "mayfly_aof_last_rewrite_success", "Whether the last rewrite worked.",
           aof.last_rewrite_worked());
  one_gauge(out, "mayfly_aof_last_rewrite_duration_seconds",
            "How long the last rewrite took; -1: there was none.",
            aof.last_rewrite_took() ? metric_seconds(*aof.last_rewrite_took()) : -1.0);
  one_counter(out, "mayfly_aof_rewrites_total", "Rewrites that worked.", aof.rewrites());
  one_counter(out, "mayfly_forks_total", "Child processes that were started.",
              server.background.forks());
  one_gauge(out, "mayfly_last_fork_duration_seconds", "How long the last fork took.",
            static_cast<double>(server.background.fork_micros()) / 1e6);
}

void metrics_of_replication(const ServerParts& server, PrometheusText& out) {
  Replication& replication = server.replication;
  const PrimaryLink* const primary = replication.primary();
  const Time now = server.clock.now();
  const std::uint64_t offset = replication.stream().log().end();
  one_flag(out, "mayfly_is_replica", "Whether this server follows a primary.",
           replication.is_replica());
  one_gauge(out, "mayfly_replication_offset_bytes", "Where the replication stream ends here.",
            offset);
  one_gauge(out, "mayfly_replication_backlog_bytes", "Bytes of the stream that are kept.",
            offset - replication.stream().log().begin());
  out.family("mayfly_primary_link_up", "Whether the primary is connected; none on a primary.",
             MetricType::gauge);
  if (primary != nullptr) out.sample({}, primary->is_up() ? 1 : 0);
  out.family("mayfly_primary_last_io_age_seconds",
             "Time since the primary sent something, while it is connected.", MetricType::gauge);
  if (primary != nullptr && primary->is_up()) {
    out.sample({}, metric_seconds(std::max(now - primary->last_received(), Millis(0))));
  }
  const auto& replicas = replication.replicas().all();
  one_gauge(out, "mayfly_connected_replicas", "Replicas that follow this server.", replicas.size());
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    out.family(name, help, MetricType::gauge);
    for (const Client* const client : replicas) {
      const std::string host = replica_host(*client);
      out.sample({{"replica", host + ":" + std::to_string(client->replica->port)}},
                 value(*client->replica));
    }
  };
  each("mayfly_replica_online", "Whether a replica has all data and gets the stream.",
       [](const ReplicaState& replica) { return replica.is_online() ? 1 : 0; });
  each("mayfly_replica_lag_bytes", "Bytes of the stream that a replica has not acknowledged.",
       [&](const ReplicaState& replica) { return offset - std::min(replica.acked, offset); });
  each("mayfly_replica_ack_age_seconds", "Time since a replica acknowledged something.",
       [&](const ReplicaState& replica) {
         return replica.is_online() ? metric_seconds(std::max(now - replica.acked_at, Millis(0)))
                                    : 0.0;
       });
  out.family("mayfly_replica_syncs_total", "Synchronizations that replicas asked for, by result.",
             MetricType::counter);
  out.sample({{"kind", "full"}}, server.stats.full_syncs);
  out.sample({{"kind", "partial"}}, server.stats.partial_syncs);
  out.sample({{"kind", "partial_refused"}}, server.stats.refused_partial_syncs);
}

}  // namespace mayfly
