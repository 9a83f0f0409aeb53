// SPDX-License-Identifier: Apache-2.0
// INFO replication: by names that Sentinel and monitoring tools read.

#include <fmt/format.h>

#include "server/core/server_call.h"
#include "server/monitoring/info.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

std::string_view phase_text(ReplicaPhase phase) {
  switch (phase) {
    case ReplicaPhase::online:
      return "online";
    case ReplicaPhase::sending:
    case ReplicaPhase::streaming:
    case ReplicaPhase::loading:
      return "send_bulk";
    default:
      return "wait_bgsave";
  }
}

void info_primary_link(const ServerParts& server, const PrimaryLink& primary, std::string& text) {
  const Config& config = server.config;
  const Time now = server.clock.now();
  const bool is_syncing =
      primary.state() == LinkState::transfer || primary.state() == LinkState::loading;
  const auto offset = static_cast<std::int64_t>(server.replication.stream().log().end());
  info_line(text, "master_host", primary.host());
  info_line(text, "master_port", primary.port());
  info_line(text, "master_link_status", primary.is_up() ? "up" : "down");
  info_line(text, "master_last_io_seconds_ago",
            primary.is_up() ? seconds_since(primary.last_received(), now) : -1);
  info_line(text, "master_sync_in_progress", is_syncing);
  info_line(text, "slave_read_repl_offset",
            offset + static_cast<std::int64_t>(primary.unapplied_bytes()));
  info_line(text, "slave_repl_offset", offset);
  if (is_syncing) {
    const std::uint64_t total = primary.bytes_to_transfer();
    const std::uint64_t read = primary.transferred_bytes();
    info_line(text, "master_sync_total_bytes", total);
    info_line(text, "master_sync_read_bytes", read);
    info_line(text, "master_sync_left_bytes",
              total == 0 ? -1 : static_cast<std::int64_t>(total - read));
    info_line(text, "master_sync_perc",
              total == 0 ? 0.0 : 100.0 * static_cast<double>(read) / static_cast<double>(total));
    info_line(text, "master_sync_last_io_seconds_ago", seconds_since(primary.last_received(), now));
  }
  if (!primary.is_up()) {
    info_line(text, "master_link_down_since_seconds", seconds_since(primary.down_since(), now));
  }
  info_line(text, "slave_priority", config.replica_priority);
  info_line(text, "slave_read_only", config.replica_read_only);
  info_line(text, "replica_announced", config.replica_announced);
}

void info_replicas(const ServerParts& server, std::string& text) {
  Replicas& replicas = server.replication.replicas();
  const Time now = server.clock.now();
  info_line(text, "connected_slaves", replicas.all().size());
  if (server.config.min_replicas_to_write > 0) {
    info_line(text, "min_slaves_good_slaves", replicas.good(now));
  }
  std::size_t number = 0;
  for (const Client* const client : replicas.all()) {
    const ReplicaState& replica = *client->replica;
    text +=
        fmt::format("slave{}:ip={},port={},state={},offset={},lag={},type=replica\r\n", number++,
                    replica_host(*client), replica.port, phase_text(replica.phase), replica.acked,
                    replica.is_online() ? seconds_since(replica.acked_at, now) : 0);
  }
}

}  // namespace

void info_replication(const ServerParts& server, std::string& text) {
  Replication& replication = server.replication;
  const ReplicationIds& ids = replication.stream().ids();
  const ReplicationLog& log = replication.stream().log();
  info_line(text, "role", replication.is_replica() ? "slave" : "master");
  if (const PrimaryLink* const primary = replication.primary()) {
    info_primary_link(server, *primary, text);
  }
  info_replicas(server, text);
  info_line(text, "replicas_waiting_psync", 0);
  info_line(text, "master_failover_state", replication.failover().state_text());
  info_line(text, "master_replid", ids.id);
  info_line(text, "master_replid2", ids.former.empty() ? std::string(40, '0') : ids.former);
  info_line(text, "master_repl_offset", log.end());
  info_line(text, "second_repl_offset",
            ids.former.empty() ? -1 : static_cast<std::int64_t>(ids.former_end) + 1);
  info_line(text, "repl_backlog_active", replication.stream().is_open());
  info_line(text, "repl_backlog_size", server.config.repl_backlog_size);
  info_line(text, "repl_backlog_first_byte_offset",
            replication.stream().is_open() ? log.begin() + 1 : std::uint64_t{0});
  info_line(text, "repl_backlog_histlen", log.end() - log.begin());
}

}  // namespace mayfly
