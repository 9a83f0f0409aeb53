// SPDX-License-Identifier: Apache-2.0
// Config: how a server is set up, by Valkey's names.
//
//   Config config;
//   Status status = load_config_file(config, "valkey.conf", warnings, strict);
//   status = set_directive(config, "maxmemory", std::vector<std::string>{"100mb"}, false);
//   directive_text(config, "maxmemory")                        // "104857600"
//
// Each directive is a row of a table (config_table.cc): its name, how its value is read and shown,
// and whether it can be changed while the server runs. A value that is refused leaves the old one.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/events.h"
#include "commands/ttl/ttl_policy.h"
#include "keyspace/eviction.h"
#include "mayfly/result.h"

namespace mayfly {

// How much output may wait for a client before it is dropped; 0: no limit.
struct OutputLimit {
  std::uint64_t hard_bytes = 0;
  std::uint64_t soft_bytes = 0;  // for longer than soft_seconds
  std::int64_t soft_seconds = 0;
};

// What a signal that ends the server asks for; nothing: the default.
struct EndFlags {
  bool saves = false;
  bool saves_not = false;
  bool is_now = false;
  bool is_forced = false;
};

struct SaveRule {
  std::int64_t seconds = 0;
  std::int64_t changes = 0;
};

struct Config {
  // Network
  std::vector<std::string> bind = {"127.0.0.1", "-::1"};  // a minus: not fatal if it fails
  std::int64_t port = 6379;
  std::string unixsocket;
  std::int64_t unixsocketperm = 0;
  std::int64_t tcp_backlog = 511;
  std::int64_t tcp_keepalive = 300;
  std::int64_t timeout = 0;        // seconds a client may idle; 0: no limit
  std::int64_t auth_timeout = 60;  // ours: seconds it may take to log in; 0: no limit
  bool protected_mode = true;
  std::int64_t maxclients = 10'000;

  // HTTP, ours: metrics, health and the console
  std::int64_t http_port = 0;  // 0: off
  std::vector<std::string> http_bind = {"127.0.0.1", "-::1"};
  std::vector<std::string> http_hosts;  // names, beside addresses and localhost, it is asked by
  std::int64_t http_maxconnections = 128;
  std::int64_t http_session_timeout = 3600;  // seconds a session of the console may idle

  // General
  std::int64_t databases = 16;
  std::string requirepass;
  std::string dir = ".";
  std::string start_directory;  // that a relative `dir` is below; empty: where the process is
  std::string dbfilename = "dump.rdb";
  std::string pidfile;
  std::string logfile;              // empty: standard output
  std::string loglevel = "notice";  // debug, verbose, notice, warning, nothing
  bool daemonize = false;
  bool crash_log_enabled = true;
  std::string enable_debug_command = "no";      // no, yes, local
  std::string enable_protected_configs = "no";  // likewise: whether CONFIG SET may change paths
  std::string availability_zone;                // shown by HELLO

  // Snapshots
  std::vector<SaveRule> save = {{3600, 1}, {300, 100}, {60, 10'000}};
  bool save_is_default = true;  // no save rule was given
  bool rdbcompression = true;
  bool rdbchecksum = true;
  bool rdb_save_incremental_fsync = true;
  bool stop_writes_on_bgsave_error = true;
  bool drop_unsupported = false;             // keys of unsupported types are left out, not refused
  std::string rdb_version_check = "strict";  // relaxed: versions newer than ours are tried
  bool skips_checksums = false;              // DEBUG SET-SKIP-CHECKSUM-VALIDATION; no directive
  std::int64_t key_load_delay = 0;           // for tests: microseconds; see delay_keys()
  std::int64_t rdb_key_save_delay = 0;

  // The append-only file
  bool appendonly = false;
  std::string appendfsync = "everysec";  // always, everysec, no
  std::string appendfilename = "appendonly.aof";
  std::string appenddirname = "appendonlydir";
  std::int64_t auto_aof_rewrite_percentage = 100;
  std::uint64_t auto_aof_rewrite_min_size = 64u << 20;
  bool aof_load_truncated = true;
  bool aof_use_rdb_preamble = true;
  bool no_appendfsync_on_rewrite = false;
  bool aof_load_failed_commands = true;

  // Replication
  std::string replicaof_host;  // empty: a primary
  std::int64_t replicaof_port = 0;
  std::string primaryauth;
  std::string primaryuser;
  bool replica_read_only = true;
  bool replica_serve_stale_data = true;
  std::int64_t replica_priority = 100;
  std::string replica_announce_ip;
  std::int64_t replica_announce_port = 0;
  bool replica_announced = true;
  std::int64_t repl_timeout = 60;              // seconds of silence
  std::int64_t repl_ping_replica_period = 10;  // seconds
  std::uint64_t repl_backlog_size = 10u << 20;
  std::int64_t repl_backlog_ttl = 3600;  // seconds without a replica; 0: no limit
  bool repl_diskless_sync = true;
  std::int64_t repl_diskless_sync_delay = 5;  // seconds to wait for more replicas
  std::int64_t repl_diskless_sync_max_replicas = 0;
  std::int64_t min_replicas_to_write = 0;
  std::int64_t min_replicas_max_lag = 10;  // seconds
  std::int64_t shutdown_timeout = 10;      // seconds to wait for replicas that lag
  EndFlags shutdown_on_sigint;
  EndFlags shutdown_on_sigterm;

  // Cluster: docs/cluster.md
  bool cluster_enabled = false;
  std::string cluster_name = "main";
  std::vector<std::string> cluster_etcd = {"http://127.0.0.1:2379"};  // endpoints
  std::string cluster_etcd_user;
  std::string cluster_etcd_password;
  std::string cluster_etcd_ca;  // files
  std::string cluster_etcd_cert;
  std::string cluster_etcd_key;
  std::string cluster_replies = "at-once";          // at-once, in-sync
  std::int64_t cluster_lease = 2000;                // ms; of a cluster that this node creates
  std::int64_t cluster_max_clock_difference = 500;  // ms
  std::string cluster_announce_ip;
  std::int64_t cluster_announce_port = 0;
  std::string cluster_announce_hostname;
  bool cluster_require_full_coverage = false;
  bool cluster_allow_reads_when_down = false;

  // Limits
  std::uint64_t maxmemory = 0;
  Eviction maxmemory_policy = Eviction::none;
  std::int64_t maxmemory_samples = 5;
  std::uint64_t client_query_buffer_limit = std::uint64_t{1} << 30;
  std::uint64_t proto_max_bulk_len = std::uint64_t{512} << 20;
  std::uint64_t lua_memory_limit = std::uint64_t{1} << 30;  // of a Lua state, while a script runs
  std::int64_t maxmemory_clients = 0;  // bytes; negative: percent of maxmemory; 0: no limit
  OutputLimit output_normal;
  OutputLimit output_replica = {256u << 20, 64u << 20, 60};
  OutputLimit output_pubsub = {32u << 20, 8u << 20, 60};

  // Data
  std::int64_t hash_max_listpack_entries = 512;
  std::int64_t hash_max_listpack_value = 64;
  std::int64_t set_max_intset_entries = 512;
  std::int64_t set_max_listpack_entries = 128;
  std::int64_t set_max_listpack_value = 64;
  std::int64_t zset_max_listpack_entries = 128;
  std::int64_t zset_max_listpack_value = 64;
  std::int64_t list_max_listpack_size = -2;  // elements, or -1 to -5: 4 to 64 KiB
  std::int64_t list_compress_depth = 0;      // shown by DEBUG OBJECT; nothing is compressed
  std::uint64_t stream_node_max_bytes = 4096;
  std::int64_t stream_node_max_entries = 100;
  std::uint64_t hll_sparse_max_bytes = 3000;
  Event notify_keyspace_events = Event::none;

  // Expiry
  std::int64_t hz = 10;
  std::int64_t active_expire_effort = 1;  // 1 to 10
  std::int64_t expire_slice_us =
      500;                  // expire-slice-microseconds, ours: longest pause a sweep makes
  bool expiry_log = false;  // expiries are written into streams
  std::int64_t expiry_log_max_entries = 1'000'000;  // of each stream; 0: no limit
  std::uint64_t expiry_log_max_bytes = 256u << 20;  // likewise
  bool expiry_log_values = false;                   // with the values that expired
  bool lazyfree_lazy_expire = true;
  bool lazyfree_lazy_server_del = true;
  std::int64_t busy_reply_threshold = 5000;  // ms that a script may run before others get BUSY
  bool lua_enable_insecure_api = false;      // scripts get getfenv, setfenv and newproxy
  bool allows_noscript = false;              // DEBUG SET-DISABLE-DENY-SCRIPTS
  bool pauses_periodic = false;              // DEBUG PAUSE-CRON
  bool enforces_reply_list = false;          // DEBUG CLIENT-ENFORCE-REPLY-LIST
  std::int64_t tracking_table_max_keys = 1'000'000;  // 0: no limit
  TtlPolicy ttl_policy;
  std::int64_t stale_lease_ms = 10'000;  // of GETSTALE
  bool import_mode = false;              // nothing expires or is evicted by itself

  // Monitoring
  bool hide_user_data_from_log = true;
  std::int64_t slowlog_log_slower_than = 10'000;  // microseconds; negative: never
  std::int64_t slowlog_max_len = 128;
  std::int64_t request_log_larger_than = 1 << 20;  // commandlog-...; bytes; negative: never
  std::int64_t request_log_max_len = 128;
  std::int64_t reply_log_larger_than = 1 << 20;
  std::int64_t reply_log_max_len = 128;
  std::int64_t latency_monitor_threshold = 0;  // milliseconds; 0: off
  bool latency_tracking = true;
  std::vector<double> latency_percentiles = {50, 99, 99.9};  // that INFO latencystats shows

  // Where it came from: for CONFIG REWRITE and INFO. Empty: no file.
  std::string file;

  // Directives of Valkey and Redis that have no effect here, as they were given: shown by CONFIG
  // GET, and written back.
  std::vector<std::pair<std::string, std::string>> inert;
};

// Sets a directive from the words that follow its name. `at_start` allows those that cannot be
// changed while the server runs. A directive of Valkey or Redis that has no effect here is kept as
// it is; see is_inert(). A refused value leaves the old one.
Status set_directive(Config& config, std::string_view name, std::span<const std::string> values,
                     bool at_start);

// What CONFIG GET shows: nothing if there is no such directive. Of inert ones, Valkey's default
// unless something was given.
std::optional<std::string> directive_text(const Config& config, std::string_view name);

// All that CONFIG GET knows, aliases included, in the order of the alphabet.
std::vector<std::string_view> directive_names();

// Whether the directive has an effect in Valkey or Redis only, and its value is just kept.
bool is_inert(std::string_view name);

// Whether an inert directive with this value would make Valkey safer: for access or for data. False
// for its default value.
bool changes_safety(std::string_view name, std::string_view value);

// Why the value of an inert directive is refused, or empty: it asks for encryption.
std::string_view refusal_of_inert(std::string_view name, std::string_view value);

// One line that names inert directives, and one for each whose value changes_safety().
std::vector<std::string> inert_warnings(
    std::span<const std::pair<std::string, std::string>> directives);

// Reads a file in Valkey's syntax, and those that it includes. Inert directives are named in
// `warnings`, see inert_warnings(). With `strict` one that changes_safety() is an error.
Status load_config_file(Config& config, const std::string& path, std::vector<std::string>& warnings,
                        bool strict);

// The words of `mayfly serve [file] [--directive value ...]`, without the program's own. A file
// comes first and is read first, so that words win over it.
Status load_config_words(Config& config, std::span<const std::string> words,
                         std::vector<std::string>& warnings, bool strict);

// Writes the settings in effect into their file: comments and order stay, lines whose value differs
// are changed, and new ones are appended. The file is replaced atomically. `writes_all`: also those
// that have their default.
Status rewrite_config(const Config& config, bool writes_all = false);

}  // namespace mayfly
