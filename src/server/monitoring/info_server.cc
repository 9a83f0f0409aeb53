// SPDX-License-Identifier: Apache-2.0
// INFO about the process, its clients and its memory.

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/version.h"
#include "server/admin/client_list.h"
#include "server/blocking/key_waiters.h"
#include "server/core/clients.h"
#include "server/core/pauses.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/monitoring/info.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"
#include "server/persistence/persistence.h"
#include "server/replication/replication.h"
#include "server/scripting/functions.h"
#include "server/scripting/scripting.h"
#include "server/tracking/tracking.h"
#include "server/transactions/watches.h"

namespace mayfly {
namespace {

void info_bytes(std::string& text, std::string_view name, std::uint64_t bytes) {
  info_line(text, name, bytes);
  text += fmt::format("{}_human:{}\r\n", name, human_bytes(bytes));
}

void info_excess(std::string& text, std::string_view name, std::size_t whole, std::size_t part) {
  text += fmt::format("{}_ratio:{:.2f}\r\n", name, ratio(whole, part));
  text += fmt::format("{}_bytes:{}\r\n", name,
                      static_cast<std::int64_t>(whole) - static_cast<std::int64_t>(part));
}

// The clock of idle times, in Valkey's form: seconds, in 24 bits.
std::int64_t lru_clock(Time now) {
  return std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count() & 0xFFFFFF;
}

}  // namespace

std::size_t deadline_bytes(const Database& database) {
  return (database.deadline_count() + database.member_deadline_count()) * kDeadlineBytes;
}

MemoryOverhead memory_overhead(const ServerParts& server) {
  MemoryOverhead overhead;
  for (const auto& [id, client] : server.clients.all()) {
    (client->is_attached_replica() ? overhead.replica_clients : overhead.normal_clients) +=
        memory_of(*client);
  }
  overhead.backlog = server.replication.stream().log().memory();
  const Aof* const log = server.persistence.aof().log();
  overhead.aof_buffer = log == nullptr ? 0 : log->buffered();
  const ExecContext context = server.reclaimer.context();
  for (int number = 0; number < server.keyspace.count(); ++number) {
    const Database& database = server.keyspace[number];
    if (database.size(context) == 0) continue;
    overhead.tables += database.table_bytes() + deadline_bytes(database);
  }
  return overhead;
}

void info_server(const ServerParts& server, std::string& text) {
  const Time now = server.clock.now();
  const std::int64_t uptime = seconds_since(server.stats.started, now);
  utsname system{};
  ::uname(&system);
  info_line(text, "redis_version", kCompatibleVersion);  // first: some clients read this line only
  info_line(text, "server_name", "mayfly");
  info_line(text, "valkey_version", kCompatibleValkey);
  info_line(text, "mayfly_version", kMayflyVersion);
  const std::string_view mode = server.config.cluster_enabled ? "cluster" : "standalone";
  info_line(text, "redis_mode", mode);
  info_line(text, "server_mode", mode);
  info_line(text, "os", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  info_line(text, "arch_bits", sizeof(void*) * 8);
  info_line(text, "monotonic_clock", "POSIX clock_gettime");
  info_line(text, "multiplexing_api", "epoll");
  info_line(text, "gcc_version", __VERSION__);
  info_line(text, "process_id", ::getpid());
  info_line(text, "process_supervised", "no");
  info_line(text, "run_id", server.run_id);
  info_line(text, "tcp_port", server.host.port());
  info_line(text, "availability_zone", server.config.availability_zone);
  info_line(text, "server_time_usec", now.time_since_epoch().count() * 1000);
  info_line(text, "uptime_in_seconds", uptime);
  info_line(text, "uptime_in_days", uptime / 86'400);
  info_line(text, "hz", server.config.hz);
  info_line(text, "configured_hz", server.config.hz);
  info_line(text, "lru_clock", lru_clock(now));
  info_line(text, "executable", server.host.executable());
  info_line(text, "config_file", server.config.file);
  info_line(text, "io_threads_active", 0);
  const Shutdown& shutdown = server.persistence.shutdown();
  if (shutdown.is_waiting()) {
    info_line(text, "shutdown_in_milliseconds", remaining(shutdown.end(), now).count());
  }
  std::string listener = "name=tcp";
  for (const std::string& address : server.config.bind) listener += ",bind=" + address;
  if (server.host.port() > 0) {
    info_line(text, "listener0", fmt::format("{},port={}", listener, server.host.port()));
  }
}

void info_clients(const ServerParts& server, std::string& text) {
  std::size_t input = 0;
  std::size_t output = 0;
  std::size_t paused = 0;
  std::size_t replicas = 0;
  for (const auto& [id, client] : server.clients.all()) {
    input = std::max(input, client->link().input().size());
    output = std::max(output, client->link().pending());
    if (client->limits.is_paused) ++paused;
    if (client->is_attached_replica()) ++replicas;
  }
  info_line(text, "connected_clients", server.clients.all().size() - replicas);
  info_line(text, "cluster_connections", 0);
  info_line(text, "maxclients", server.config.maxclients);
  info_line(text, "client_recent_max_input_buffer", input);
  info_line(text, "client_recent_max_output_buffer", output);
  info_line(text, "blocked_clients",
            server.blocked.size() + paused + server.persistence.shutdown().askers());
  info_line(text, "tracking_clients", server.tracking.clients());
  info_line(text, "pubsub_clients",
            std::ranges::count_if(server.clients.all(),
                                  [](const auto& entry) { return entry.second->is_subscriber(); }));
  info_line(text, "watching_clients",
            std::ranges::count_if(server.clients.all(), [](const auto& entry) {
              return entry.second->transaction.watched_keys > 0;
            }));
  info_line(text, "clients_in_timeout_table", server.blocked.with_timeout());
  info_line(text, "total_watched_keys", server.watches.keys());
  info_line(text, "total_blocking_keys", server.key_waiters.keys());
  info_line(text, "total_blocking_keys_on_nokey", server.key_waiters.keys_without_key());
  const Pauses::Summary pause = server.pauses.summary(server.clock.now());
  info_line(text, "paused_reason", pause.reason);
  info_line(text, "paused_actions", pause.actions);
  info_line(text, "paused_timeout_milliseconds", pause.remaining_ms);
}

static void info_scripts(const Scripting& scripting, std::string& text) {
  const Functions& functions = scripting.functions();
  info_bytes(text, "used_memory_lua", scripting.lua_bytes());
  info_line(text, "used_memory_vm_eval", scripting.lua_bytes());
  info_line(text, "used_memory_scripts_eval", scripting.script_bytes());
  info_line(text, "number_of_cached_scripts", scripting.count());
  info_line(text, "number_of_functions", functions.count());
  info_line(text, "number_of_libraries", functions.libraries().size());
  info_line(text, "used_memory_vm_functions", functions.lua_bytes());
  info_bytes(text, "used_memory_vm_total", scripting.lua_bytes() + functions.lua_bytes());
  info_line(text, "used_memory_functions", functions.code_bytes());
  info_bytes(text, "used_memory_scripts", scripting.script_bytes() + functions.code_bytes());
}

void info_memory(const ServerParts& server, std::string& text) {
  const MemoryNumbers numbers = memory_numbers();
  Stats& stats = server.stats;
  stats.memory_peak = std::max<std::uint64_t>(stats.memory_peak, numbers.used);
  info_bytes(text, "used_memory", numbers.used);
  info_bytes(text, "used_memory_rss", numbers.rss);
  info_bytes(text, "used_memory_peak", stats.memory_peak);
  text += fmt::format("used_memory_peak_perc:{:.2f}%\r\n",
                      ratio(numbers.used, stats.memory_peak) * 100);
  const MemoryOverhead overhead = memory_overhead(server);
  const std::size_t data = numbers.used - std::min(overhead.total(), numbers.used);
  info_line(text, "used_memory_overhead", overhead.total());
  info_line(text, "used_memory_startup", stats.memory_startup);
  info_line(text, "used_memory_dataset", data);
  text += fmt::format("used_memory_dataset_perc:{:.2f}%\r\n", ratio(data, numbers.used) * 100);
  info_line(text, "allocator_allocated", numbers.allocated);
  info_line(text, "allocator_active", numbers.active);
  info_line(text, "allocator_resident", numbers.resident);
  info_bytes(text, "total_system_memory", numbers.system);
  info_scripts(server.scripting, text);
  info_bytes(text, "maxmemory", server.config.maxmemory);
  info_line(text, "maxmemory_policy", name_of(server.config.maxmemory_policy));
  info_excess(text, "allocator_frag", numbers.active, numbers.allocated);
  info_excess(text, "allocator_rss", numbers.resident, numbers.active);
  info_excess(text, "rss_overhead", numbers.rss, numbers.resident);
  info_excess(text, "mem_fragmentation", numbers.rss, numbers.used);
  info_line(text, "mem_not_counted_for_evict", server.reclaimer.uncounted_memory());
  info_line(text, "mem_replication_backlog", overhead.backlog);
  info_line(text, "mem_total_replication_buffers", overhead.backlog + overhead.replica_clients);
  info_line(text, "mem_clients_slaves", overhead.replica_clients);
  info_line(text, "mem_clients_normal", overhead.normal_clients);
  info_line(text, "mem_cluster_links", 0);
  info_line(text, "mem_aof_buffer", overhead.aof_buffer);
  info_line(text, "mem_allocator", numbers.allocator);
  info_line(text, "active_defrag_running", 0);
  info_line(text, "lazyfree_pending_objects", server.keyspace.lazy_free().pending());
  info_line(text, "lazyfreed_objects", server.stats.lazily_freed);
}

}  // namespace mayfly
