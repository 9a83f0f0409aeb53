// SPDX-License-Identifier: Apache-2.0
// The directives of Valkey 9 and Redis 7 that have no effect here, with the values that CONFIG GET
// shows for them, and those that are refused since ignoring them would be unsafe. `safety`: with
// another value Valkey would share keys among servers, save at the end or restrict access.
// `encrypts`: with another value Valkey would encrypt, so that a server here would send plain text.

#include "server/config/config_table.h"

namespace mayfly {
namespace {

// clang-format off
constexpr InertDirective kInert[] = {
    // Replication.
    {"repl-disable-tcp-nodelay", "", Form::boolean, "no"},
    {"repl-diskless-load", "", Form::text, "disabled"},
    {"repl-mptcp", "", Form::boolean, "no", mark::fixed},
    {"repl-rdb-channel", "", Form::boolean, "no", mark::hidden},
    {"replica-full-sync-buffer-limit", "", Form::memory, "0", mark::hidden},
    {"replica-ignore-disk-write-errors", "", Form::boolean, "no"},
    {"replica-ignore-maxmemory", "slave-ignore-maxmemory", Form::boolean, "yes"},
    {"replica-lazy-flush", "slave-lazy-flush", Form::boolean, "yes"},
    {"dual-channel-replication-enabled", "", Form::boolean, "no"},
    {"close-on-replica-write", "", Form::boolean, "yes", mark::hidden},
    {"propagation-error-behavior", "", Form::text, "ignore", mark::safety},

    // Cluster.
    {"cluster-allow-pubsubshard-when-down", "", Form::boolean, "yes"},
    {"cluster-allow-replica-migration", "", Form::boolean, "yes"},
    {"cluster-announce-bus-port", "", Form::number, "0"},
    {"cluster-announce-client-ipv4", "", Form::text, ""},
    {"cluster-announce-client-ipv6", "", Form::text, ""},
    {"cluster-announce-client-port", "", Form::number, "0"},
    {"cluster-announce-client-tls-port", "", Form::number, "0"},
    {"cluster-announce-human-nodename", "", Form::text, ""},
    {"cluster-announce-tls-port", "", Form::number, "0"},
    {"cluster-blacklist-ttl", "", Form::number, "60"},
    {"cluster-compatibility-sample-ratio", "", Form::number, "0", mark::hidden},
    {"cluster-config-file", "", Form::text, "nodes.conf", mark::fixed},
    {"cluster-config-save-behavior", "", Form::text, "sync"},
    {"cluster-databases", "", Form::number, "1", mark::fixed},
    {"cluster-link-sendbuf-limit", "", Form::memory, "0"},
    {"cluster-manual-failover-timeout", "", Form::number, "5000"},
    {"cluster-migration-barrier", "", Form::number, "1"},
    {"cluster-node-timeout", "", Form::number, "15000"},
    {"cluster-ping-interval", "", Form::number, "1000", mark::hidden},
    {"cluster-port", "", Form::number, "0", mark::fixed},
    {"cluster-preferred-endpoint-type", "", Form::text, "ip"},
    {"cluster-replica-no-failover", "cluster-slave-no-failover", Form::boolean, "no"},
    {"cluster-replica-validity-factor", "cluster-slave-validity-factor", Form::number, "10"},
    {"cluster-slot-migration-log-max-len", "", Form::number, "1000"},
    {"cluster-slot-stats-enabled", "", Form::boolean, "no"},
    {"slot-migration-max-failover-repl-bytes", "", Form::signed_memory, "0"},

    // Persistence.
    {"aof-disable-auto-gc", "", Form::boolean, "no", mark::hidden},
    {"aof-rewrite-incremental-fsync", "", Form::boolean, "yes"},
    {"aof-timestamp-enabled", "", Form::boolean, "no"},
    {"rdb-del-sync-files", "", Form::boolean, "no"},
    {"sanitize-dump-payload", "", Form::text, "no", mark::hidden},
    {"loading-process-events-interval-bytes", "", Form::memory, "2097152", mark::hidden},

    // Encodings.
    {"list-max-ziplist-entries", "", Form::number, "512", mark::hidden},
    {"list-max-ziplist-value", "", Form::number, "64", mark::hidden},

    // Memory.
    {"active-defrag-cycle-max", "", Form::number, "25"},
    {"active-defrag-cycle-min", "", Form::number, "1"},
    {"active-defrag-cycle-us", "", Form::number, "500"},
    {"active-defrag-ignore-bytes", "", Form::memory, "104857600"},
    {"active-defrag-max-scan-fields", "", Form::number, "1000"},
    {"active-defrag-threshold-lower", "", Form::number, "10"},
    {"active-defrag-threshold-upper", "", Form::number, "100"},
    {"activedefrag", "", Form::boolean, "no"},
    {"activerehashing", "", Form::boolean, "yes"},
    {"dynamic-hz", "", Form::boolean, "yes", mark::hidden},
    {"jemalloc-bg-thread", "", Form::boolean, "yes"},
    {"lazyfree-lazy-eviction", "", Form::boolean, "yes"},
    {"lazyfree-lazy-user-del", "", Form::boolean, "yes"},
    {"lazyfree-lazy-user-flush", "", Form::boolean, "yes"},
    {"lfu-decay-time", "", Form::number, "1"},
    {"lfu-log-factor", "", Form::number, "10"},
    {"maxmemory-eviction-tenacity", "", Form::number, "10"},

    // Threads and the process.
    {"aof-rewrite-cpulist", "aof_rewrite_cpulist", Form::text, "", mark::fixed},
    {"bgsave-cpulist", "bgsave_cpulist", Form::text, "", mark::fixed},
    {"bio-cpulist", "bio_cpulist", Form::text, "", mark::fixed},
    {"server-cpulist", "server_cpulist", Form::text, "", mark::fixed},
    {"always-show-logo", "", Form::boolean, "no", mark::fixed},
    {"crash-memcheck-enabled", "", Form::boolean, "yes"},
    {"debug-context", "", Form::text, "", mark::hidden},
    {"disable-thp", "", Form::boolean, "yes", mark::fixed},
    {"enable-debug-assert", "", Form::boolean, "no", mark::fixed | mark::hidden},
    {"events-per-io-thread", "", Form::number, "2", mark::hidden},
    {"hash-seed", "", Form::text, "", mark::fixed},
    {"ignore-warnings", "", Form::text, ""},
    {"io-threads", "", Form::number, "1"},
    {"io-threads-do-reads", "", Form::boolean, "no", mark::hidden | mark::fixed},
    {"locale-collate", "", Form::text, ""},
    {"max-new-connections-per-cycle", "", Form::number, "10"},
    {"max-new-tls-connections-per-cycle", "", Form::number, "1"},
    {"min-io-threads-avoid-copy-reply", "", Form::number, "7", mark::hidden},
    {"min-string-size-avoid-copy-reply", "", Form::number, "16384", mark::hidden},
    {"min-string-size-avoid-copy-reply-threaded", "", Form::number, "65536", mark::hidden},
    {"mptcp", "", Form::boolean, "no", mark::fixed},
    {"oom-score-adj", "", Form::text, "no"},
    {"oom-score-adj-values", "", Form::oom_scores, "0 200 800"},
    {"prefetch-batch-max-size", "", Form::number, "16"},
    {"proc-title-template", "", Form::text, "{title} {listen-addr} {server-mode}"},
    {"rdma-bind", "", Form::words, ""},
    {"rdma-completion-vector", "", Form::number, "-1", mark::fixed},
    {"rdma-port", "", Form::number, "0"},
    {"rdma-rx-size", "", Form::memory, "1048576", mark::fixed},
    {"set-proc-title", "", Form::boolean, "yes", mark::fixed},
    {"socket-mark-id", "", Form::number, "0", mark::fixed},
    {"bind-source-addr", "", Form::text, ""},
    {"supervised", "", Form::text, "no", mark::fixed},
    {"unixsocketgroup", "", Form::text, "", mark::fixed | mark::safety},
    {"use-exit-on-panic", "", Form::boolean, "no", mark::hidden},
    {"watchdog-period", "", Form::number, "0", mark::hidden},

    // Logs.
    {"log-format", "", Form::text, "legacy"},
    {"log-timestamp-format", "", Form::text, "legacy"},
    {"syslog-enabled", "", Form::boolean, "no", mark::fixed},
    {"syslog-facility", "", Form::text, "local0", mark::fixed},
    {"syslog-ident", "", Form::text, "mayfly", mark::fixed},

    // Users, scripts, modules.
    {"acl-pubsub-default", "", Form::text, "resetchannels"},
    {"acllog-max-len", "", Form::number, "128"},
    {"enable-module-command", "", Form::text, "no", mark::fixed},
    {"extended-redis-compatibility", "", Form::boolean, "no"},
    {"lua-replicate-commands", "", Form::boolean, "yes", mark::hidden},

    // TLS.
    {"tls-auth-clients", "", Form::text, "yes"},
    {"tls-auth-clients-user", "", Form::text, "off"},
    {"tls-auto-reload-interval", "", Form::number, "0"},
    {"tls-ca-cert-dir", "", Form::text, ""},
    {"tls-ca-cert-file", "", Form::text, ""},
    {"tls-cert-file", "", Form::text, ""},
    {"tls-ciphers", "", Form::text, ""},
    {"tls-ciphersuites", "", Form::text, ""},
    {"tls-client-cert-file", "", Form::text, ""},
    {"tls-client-key-file", "", Form::text, ""},
    {"tls-client-key-file-pass", "", Form::text, "", mark::secret},
    {"tls-cluster", "", Form::boolean, "no", mark::safety | mark::encrypts},
    {"tls-dh-params-file", "", Form::text, ""},
    {"tls-key-file", "", Form::text, ""},
    {"tls-key-file-pass", "", Form::text, "", mark::secret},
    {"tls-port", "", Form::number, "0", mark::safety | mark::encrypts},
    {"tls-prefer-server-ciphers", "", Form::boolean, "no"},
    {"tls-protocols", "", Form::text, ""},
    {"tls-replication", "", Form::boolean, "no", mark::safety | mark::encrypts},
    {"tls-session-cache-size", "", Form::number, "20480"},
    {"tls-session-cache-timeout", "", Form::number, "300"},
    {"tls-session-caching", "", Form::boolean, "yes"},
};
// clang-format on

constexpr RefusedDirective kRefused[] = {
    {"loadmodule", "modules cannot be loaded here"},
    {"user",
     "there are no users yet, and without this line every client could run every command; give the "
     "default user a password by requirepass"},
    {"aclfile",
     "there are no users yet, and without this file every client could run every command; give "
     "the default user a password by requirepass"},
    {"rename-command",
     "commands cannot be renamed or taken away here, and without this line "
     "they could be called"},
};

}  // namespace

std::span<const InertDirective> inert_directives() { return kInert; }

std::span<const RefusedDirective> refused_directives() { return kRefused; }

}  // namespace mayfly
