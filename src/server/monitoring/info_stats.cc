// SPDX-License-Identifier: Apache-2.0
// INFO: counts, errors, and the time that commands took.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "commands/command.h"
#include "server/core/clients.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/migration/migration_targets.h"
#include "server/monitoring/info.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/replication.h"
#include "server/tracking/tracking.h"

namespace mayfly {
namespace {

std::uint64_t micros(std::uint64_t ns) { return ns / 1000; }

void info_kilobytes(std::string& text, std::string_view name, const Rate& rate) {
  info_line(text, name, rate.per_second() / 1024);
}

void info_network(const ServerParts& server, std::string& text) {
  const Stats& stats = server.stats;
  const SentBytes sent = sent_bytes(server);
  info_line(text, "total_net_input_bytes", stats.bytes_in);
  info_line(text, "total_net_output_bytes", sent.all);
  info_line(text, "total_net_repl_input_bytes", stats.replication_bytes_in);
  info_line(text, "total_net_repl_output_bytes", sent.to_replicas);
  info_kilobytes(text, "instantaneous_input_kbps", stats.rates.bytes_in);
  info_kilobytes(text, "instantaneous_output_kbps", stats.rates.bytes_out);
  info_kilobytes(text, "instantaneous_input_repl_kbps", stats.rates.replication_bytes_in);
  info_kilobytes(text, "instantaneous_output_repl_kbps", stats.rates.replication_bytes_out);
}

void info_loop(const ServerParts& server, std::string& text) {
  const Stats& stats = server.stats;
  const LoopCounts now = server.host.loop_counts();
  const LoopCounts& before = stats.loop_before;
  info_line(text, "total_reads_processed", now.reads - before.reads);
  info_line(text, "total_writes_processed", now.writes - before.writes);
  info_line(text, "io_threaded_reads_processed", 0);
  info_line(text, "io_threaded_writes_processed", 0);
  info_line(text, "client_query_buffer_limit_disconnections", stats.query_limit_disconnections);
  info_line(text, "client_output_buffer_limit_disconnections", stats.output_limit_disconnections);
  info_line(text, "eventloop_cycles", now.turns - before.turns);
  info_line(text, "eventloop_duration_sum", micros(now.busy_ns - before.busy_ns));
  info_line(text, "eventloop_duration_cmd_sum", micros(stats.command_ns));
  const double turns = stats.rates.turns.per_second();
  const double busy_micros = stats.rates.busy_ns.per_second() / 1000;
  info_line(text, "instantaneous_eventloop_cycles_per_sec",
            static_cast<std::uint64_t>(turns + 0.5));
  info_line(text, "instantaneous_eventloop_duration_usec",
            static_cast<std::uint64_t>(turns < 1 ? 0 : busy_micros / turns + 0.5));
}

}  // namespace

// Of connections that are closed, and of those that are not.
SentBytes sent_bytes(const ServerParts& server) {
  SentBytes sent{server.stats.bytes_out, server.stats.replication_bytes_out};
  for (const auto& [id, client] : server.clients.all()) {
    sent.all += client->link().sent();
    if (client->is_attached_replica()) sent.to_replicas += client->link().sent();
  }
  return sent;
}

void info_stats(const ServerParts& server, std::string& text) {
  const Stats& stats = server.stats;
  const KeyspaceStats& keys = server.keyspace.stats();
  info_line(text, "total_connections_received", stats.connections);
  info_line(text, "total_commands_processed", stats.commands);
  info_line(text, "instantaneous_ops_per_sec",
            static_cast<std::uint64_t>(stats.rates.commands.per_second() + 0.5));
  info_network(server, text);
  info_line(text, "rejected_connections", stats.rejected_connections);
  info_line(text, "sync_full", stats.full_syncs);
  info_line(text, "sync_partial_ok", stats.partial_syncs);
  info_line(text, "sync_partial_err", stats.refused_partial_syncs);
  info_line(text, "expired_keys", keys.expired_keys);
  info_line(text, "expired_fields", keys.expired_members);
  info_line(text, "expired_past", keys.expired_past());
  info_line(text, "expired_stale_perc", stale_percent(server));
  info_line(text, "expired_time_cap_reached_count", stats.sweep_slices_cut);
  info_line(text, "expire_cycle_cpu_milliseconds", stats.sweep_micros / 1000);
  info_line(text, "slave_expires_tracked_keys", server.replication.local_expiries().size());
  info_line(text, "evicted_keys", keys.evicted_keys);
  info_line(text, "evicted_clients", stats.evicted_clients);
  info_line(text, "keyspace_hits", stats.hits);
  info_line(text, "keyspace_misses", stats.misses);
  info_line(text, "evicted_scripts", stats.evicted_scripts);
  info_line(text, "pubsub_channels", server.pubsub.channels().size());
  info_line(text, "pubsub_patterns", server.pubsub.patterns().size());
  info_line(text, "pubsubshard_channels", server.pubsub.shard_channels().size());
  info_line(text, "latest_fork_usec", server.background.fork_micros());
  info_line(text, "total_forks", server.background.forks());
  info_line(text, "migrate_cached_sockets", server.migration_targets.size());
  info_line(text, "tracking_total_keys", server.tracking.table().keys());
  info_line(text, "tracking_total_items", server.tracking.table().items());
  info_line(text, "tracking_total_prefixes", server.tracking.prefixes());
  info_line(text, "ttl_policy_rules", server.config.ttl_policy.rules().size());
  info_line(text, "ttl_policy_violations", stats.ttl_violations);
  info_line(text, "unexpected_error_replies", stats.unexpected_errors);
  info_line(text, "total_error_replies", stats.errors);
  info_line(text, "acl_access_denied_auth", stats.failed_logins);
  info_line(text, "acl_access_denied_cmd", 0);
  info_line(text, "acl_access_denied_key", 0);
  info_line(text, "acl_access_denied_channel", 0);
  info_line(text, "unauthenticated_client_disconnections", stats.stranger_disconnections);
  info_loop(server, text);
}

void info_command_stats(const ServerParts& server, std::string& text) {
  for (const auto& [name, stats] : commands_by_name(server.stats)) {
    const double calls = static_cast<double>(std::max<std::uint64_t>(stats->calls, 1));
    text += fmt::format(
        "cmdstat_{}:calls={},usec={},usec_per_call={:.2f},rejected_calls={},failed_calls={}\r\n",
        name, stats->calls, stats->micros, static_cast<double>(stats->micros) / calls,
        stats->rejected, stats->failed);
  }
}

void info_error_stats(const ServerParts& server, std::string& text) {
  for (const auto& [code, count] : server.stats.by_error) {
    text += fmt::format("errorstat_{}:count={}\r\n", code, count);
  }
}

void info_latency_stats(const ServerParts& server, std::string& text) {
  if (!server.config.latency_tracking) return;
  for (const auto& [name, stats] : commands_by_name(server.stats)) {
    if (stats->calls == 0) continue;
    text += fmt::format("latency_percentiles_usec_{}:", name);
    for (const double percentile : server.config.latency_percentiles) {
      text += fmt::format("{}p{}={}.000", text.ends_with(':') ? "" : ",", percentile,
                          percentile_micros(*stats, percentile / 100));
    }
    text += "\r\n";
  }
}

// ---- Stats ----

// Commands keep their places, as clients point to them.
void Stats::reset() {
  Stats fresh;
  fresh.started = started;
  fresh.dirty = dirty;
  fresh.memory_peak = memory_peak;
  fresh.memory_startup = memory_startup;
  fresh.rates = rates;
  fresh.by_command = std::move(by_command);
  for (auto& [command, counts] : fresh.by_command) counts = {};
  *this = std::move(fresh);
}

std::map<std::string, const CommandStats*> commands_by_name(const Stats& stats) {
  std::map<std::string, const CommandStats*> named;
  for (const auto& [command, counts] : stats.by_command) {
    if (counts.calls + counts.rejected > 0) named.emplace(full_name(*command), &counts);
  }
  return named;
}

std::uint64_t percentile_micros(const CommandStats& stats, double share) {
  auto left = static_cast<std::uint64_t>(share * static_cast<double>(stats.calls));
  left = std::min(left, stats.calls - std::min<std::uint64_t>(stats.calls, 1));
  for (std::size_t i = 0; i < stats.micros_log2.size(); ++i) {
    if (stats.micros_log2[i] > left) return bucket_micros(i);
    left -= stats.micros_log2[i];
  }
  return bucket_micros(stats.micros_log2.size() - 1);
}

}  // namespace mayfly
