// SPDX-License-Identifier: Apache-2.0
// The directives about replicas and primaries.

#include <fmt/format.h>

#include "commands/words.h"
#include "server/config/config_fields.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kBacklogLeast = 16 * 1024;

// replicaof host port | no one
Status set_replicaof(Config& config, Values values, bool) {
  const std::vector<std::string> words = split_words(values);
  const bool is_empty = words.empty() || (words.size() == 1 && words[0].empty());
  if (!is_empty && words.size() != 2) {
    return bad_value("replicaof takes a host and a port, or NO ONE");
  }
  if (is_empty || (equals(words[0], "no") && equals(words[1], "one"))) {
    config.replicaof_host.clear();
    config.replicaof_port = 0;
    return Done{};
  }
  const auto port = read_number(words[1], 1, 65'535);
  if (!port) return port.error();
  config.replicaof_host = words[0];
  config.replicaof_port = *port;
  return Done{};
}

std::string show_replicaof(const Config& config) {
  if (config.replicaof_host.empty()) return {};
  return fmt::format("{} {}", config.replicaof_host, config.replicaof_port);
}

constexpr Field kReplicaof{set_replicaof, show_replicaof};

// clang-format off
constexpr Directive kReplicationDirectives[] = {
    {"replicaof",   "slaveof",    kReplicaof,                  mark::fixed | mark::several},
    {"primaryauth", "masterauth", text<&Config::primaryauth>,  mark::secret},
    {"primaryuser", "masteruser", text<&Config::primaryuser>},
    {"replica-read-only",        "slave-read-only", boolean<&Config::replica_read_only>},
    {"replica-serve-stale-data", "slave-serve-stale-data",
     boolean<&Config::replica_serve_stale_data>},
    {"replica-priority",      "slave-priority", number<&Config::replica_priority, 0, kIntMax>},
    {"replica-announce-ip",   "slave-announce-ip",   text<&Config::replica_announce_ip>},
    {"replica-announce-port", "slave-announce-port",
     number<&Config::replica_announce_port, 0, 65'535>},
    {"replica-announced",     "", boolean<&Config::replica_announced>},
    {"repl-timeout",          "", number<&Config::repl_timeout, 1, kIntMax>},
    {"repl-ping-replica-period", "repl-ping-slave-period",
     number<&Config::repl_ping_replica_period, 1, kIntMax>},
    {"repl-backlog-size",     "", memory<&Config::repl_backlog_size, kBacklogLeast>},
    {"repl-backlog-ttl",      "", number<&Config::repl_backlog_ttl, 0, kIntMax>},
    {"repl-diskless-sync",    "", boolean<&Config::repl_diskless_sync>},
    {"repl-diskless-sync-delay", "", number<&Config::repl_diskless_sync_delay, 0, kIntMax>},
    {"repl-diskless-sync-max-replicas", "",
     number<&Config::repl_diskless_sync_max_replicas, 0, kIntMax>},
    {"min-replicas-to-write", "min-slaves-to-write",
     number<&Config::min_replicas_to_write, 0, kIntMax>},
    {"min-replicas-max-lag",  "min-slaves-max-lag",
     number<&Config::min_replicas_max_lag, 0, kIntMax>},
    {"shutdown-timeout",      "", number<&Config::shutdown_timeout, 0, kIntMax>},
};
// clang-format on

}  // namespace

std::span<const Directive> replication_directives() { return kReplicationDirectives; }

}  // namespace mayfly
