// SPDX-License-Identifier: Apache-2.0
// The directives that do something here: the rows, and the fields of an unusual kind.

#include "server/config/config_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "commands/events.h"
#include "commands/words.h"
#include "keyspace/eviction.h"
#include "keyspace/key_node.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kMegabyte = 1'048'576;

constexpr std::string_view kLevels[] = {"debug", "verbose", "notice", "warning", "nothing"};
constexpr std::string_view kPermissions[] = {"no", "yes", "local"};

Status set_permissions(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto number = read_octal(*word, 0777);
  if (!number) return number.error();
  config.unixsocketperm = *number;
  return Done{};
}

std::string show_permissions(const Config& config) {
  std::string digits;
  for (std::int64_t left = config.unixsocketperm; left > 0; left /= 8) {
    digits.insert(digits.begin(), static_cast<char>('0' + left % 8));
  }
  return digits.empty() ? "0" : digits;
}

Status set_dir(Config& config, Values values, bool) {
  auto word = only_word(values);
  if (!word) return word.error();
  std::error_code error;
  const std::filesystem::path path = std::filesystem::path(config.start_directory) / *word;
  if (!std::filesystem::is_directory(path, error)) {
    return bad_value(error ? error.message() : "Not a directory");
  }
  config.dir = path.string();
  return Done{};
}

std::string show_dir(const Config& config) {
  std::error_code error;
  const auto path =
      std::filesystem::canonical(std::filesystem::path(config.start_directory) / config.dir, error);
  return error ? config.dir : path.string();
}

// Bytes, or a percentage of maxmemory.
Status set_client_memory(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  if (word->ends_with('%')) {
    const auto percent = read_number(word->substr(0, word->size() - 1), 0, kLongMax);
    if (!percent) return bad_value("argument must be a memory or percent value");
    if (*percent > 100) return bad_value("percentage argument must be less or equal to 100");
    config.maxmemory_clients = -*percent;
    return Done{};
  }
  const auto bytes = read_memory(*word, 0);
  if (!bytes || *bytes > static_cast<std::uint64_t>(kLongMax)) {
    return bad_value("argument must be a memory or percent value");
  }
  config.maxmemory_clients = static_cast<std::int64_t>(*bytes);
  return Done{};
}

std::string show_client_memory(const Config& config) {
  if (config.maxmemory_clients >= 0) return std::to_string(config.maxmemory_clients);
  return std::to_string(-config.maxmemory_clients) + "%";
}

Status set_policy(Config& config, Values values, bool) {
  static constexpr std::string_view kPolicies[] = {
      "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
      "allkeys-lru",  "allkeys-lfu",  "allkeys-random",  "noeviction"};
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto chosen = read_choice(*word, kPolicies);
  if (!chosen) return chosen.error();
  config.maxmemory_policy = parse_eviction(*chosen).value_or(Eviction::none);
  return Done{};
}

std::string show_policy(const Config& config) {
  return std::string(name_of(config.maxmemory_policy));
}

Status set_output_limits(Config& config, Values values, bool) {
  return read_output_limits(config, values);
}

Status set_events(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto events = parse_events(*word);
  if (!events) return bad_value("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
  config.notify_keyspace_events = *events;
  return Done{};
}

std::string show_events(const Config& config) {
  return format_events(config.notify_keyspace_events);
}

Status set_percentiles(Config& config, Values values, bool) {
  std::vector<double> percentiles;
  for (const std::string& word : split_words(values)) {
    const std::optional<double> number = parse_double(word);
    if (!number) return bad_value("Invalid latency-tracking-info-percentiles parameters");
    if (!(*number >= 0 && *number <= 100)) {
      return bad_value(
          "latency-tracking-info-percentiles parameters should be between 0.0 and 100.0");
    }
    percentiles.push_back(*number);
  }
  config.latency_percentiles = std::move(percentiles);
  return Done{};
}

std::string show_percentiles(const Config& config) {
  return fmt::format("{}", fmt::join(config.latency_percentiles, " "));
}

constexpr Field kPercentiles{set_percentiles, show_percentiles};
constexpr Field kPerm{set_permissions, show_permissions};
constexpr Field kDir{set_dir, show_dir};
constexpr Field kClientMemory{set_client_memory, show_client_memory};
constexpr Field kPolicy{set_policy, show_policy};
constexpr Field kOutputLimits{set_output_limits, show_output_limits};
constexpr Field kTtlPolicy{read_ttl_policy, show_ttl_policy};
constexpr Field kEvents{set_events, show_events};

// clang-format off
constexpr Directive kDirectives[] = {
    // Network
    {"bind",           "", words<&Config::bind>,                          mark::several},
    {"port",           "", number<&Config::port, 0, 65'535>},
    {"unixsocket",     "", text<&Config::unixsocket>,                     mark::fixed},
    {"unixsocketperm", "", kPerm,                                         mark::fixed},
    {"tcp-backlog",    "", number<&Config::tcp_backlog, 0, kIntMax>,      mark::fixed},
    {"tcp-keepalive",  "", number<&Config::tcp_keepalive, 0, kIntMax>},
    {"timeout",        "", number<&Config::timeout, 0, kIntMax>},
    {"auth-timeout",   "", number<&Config::auth_timeout, 0, kIntMax>},
    {"protected-mode", "", boolean<&Config::protected_mode>},
    {"maxclients",     "", number<&Config::maxclients, 1, 4'294'967'295>},

    // General
    {"databases",      "", number<&Config::databases, 1, kIntMax>,        mark::fixed},
    {"requirepass",    "", text<&Config::requirepass>,                    mark::secret},
    {"dir",            "", kDir,                          mark::is_protected | mark::loaded},
    {"pidfile",        "", text<&Config::pidfile>,                        mark::fixed},
    {"logfile",        "", text<&Config::logfile>,                        mark::fixed},
    {"loglevel",       "", choice<&Config::loglevel, kLevels>},
    {"daemonize",      "", boolean<&Config::daemonize>,                   mark::fixed},
    {"crash-log-enabled", "", boolean<&Config::crash_log_enabled>},
    {"enable-debug-command",     "", choice<&Config::enable_debug_command, kPermissions>,
     mark::fixed},
    {"availability-zone",        "", text<&Config::availability_zone>},
    {"enable-protected-configs", "", choice<&Config::enable_protected_configs, kPermissions>,
     mark::fixed},

    // Limits
    {"maxmemory",         "", memory<&Config::maxmemory, 0, UINT64_MAX>},
    {"maxmemory-policy",  "", kPolicy},
    {"maxmemory-samples", "", number<&Config::maxmemory_samples, 1, 64>},
    {"maxmemory-clients", "", kClientMemory},
    {"client-query-buffer-limit", "", memory<&Config::client_query_buffer_limit, kMegabyte>},
    {"proto-max-bulk-len",        "",
     memory<&Config::proto_max_bulk_len, kMegabyte, kNodeBytesMax>},
    {"lua-memory-limit",          "", memory<&Config::lua_memory_limit, kMegabyte>},
    {"client-output-buffer-limit", "", kOutputLimits,                     mark::several},

    // Data
    {"hash-max-listpack-entries", "hash-max-ziplist-entries",
     number<&Config::hash_max_listpack_entries, 0, kLongMax>},
    {"hash-max-listpack-value",   "hash-max-ziplist-value",
     number<&Config::hash_max_listpack_value, 0, kLongMax>},
    {"set-max-intset-entries", "", number<&Config::set_max_intset_entries, 0, kLongMax>},
    {"set-max-listpack-entries", "", number<&Config::set_max_listpack_entries, 0, kLongMax>},
    {"set-max-listpack-value", "", number<&Config::set_max_listpack_value, 0, kLongMax>},
    {"zset-max-listpack-entries", "zset-max-ziplist-entries",
     number<&Config::zset_max_listpack_entries, 0, kLongMax>},
    {"zset-max-listpack-value", "zset-max-ziplist-value",
     number<&Config::zset_max_listpack_value, 0, kLongMax>},
    {"list-max-listpack-size", "list-max-ziplist-size",
     number<&Config::list_max_listpack_size, kIntMin, kIntMax>},
    {"list-compress-depth", "", number<&Config::list_compress_depth, 0, kIntMax>},
    {"stream-node-max-bytes", "", memory<&Config::stream_node_max_bytes>},
    {"stream-node-max-entries", "", number<&Config::stream_node_max_entries, 0, kLongMax>},
    {"hll-sparse-max-bytes", "", memory<&Config::hll_sparse_max_bytes>},
    {"notify-keyspace-events",    "", kEvents},

    // Expiry
    {"hz",                        "", number<&Config::hz, 1, 500>},
    {"active-expire-effort",      "", number<&Config::active_expire_effort, 1, 10>},
    {"ttl-policy",                "", kTtlPolicy, mark::several},
    {"stale-lease-ms",            "", number<&Config::stale_lease_ms, 1, 86'400'000>},
    {"expire-slice-microseconds", "", number<&Config::expire_slice_us, 50, 100'000>},
    {"expiry-log",                "", boolean<&Config::expiry_log>},
    {"expiry-log-max-entries",    "", number<&Config::expiry_log_max_entries, 0, kLongMax>},
    {"expiry-log-max-bytes",      "", memory<&Config::expiry_log_max_bytes>},
    {"expiry-log-values",         "", boolean<&Config::expiry_log_values>},
    {"lazyfree-lazy-expire",      "", boolean<&Config::lazyfree_lazy_expire>},
    {"lazyfree-lazy-server-del",  "", boolean<&Config::lazyfree_lazy_server_del>},
    {"import-mode",               "", boolean<&Config::import_mode>},
    {"tracking-table-max-keys",   "", number<&Config::tracking_table_max_keys, 0, kLongMax>},
    {"busy-reply-threshold", "lua-time-limit",
     number<&Config::busy_reply_threshold, 0, kLongMax>},
    {"lua-enable-insecure-api", "lua-enable-deprecated-api",
     boolean<&Config::lua_enable_insecure_api>},

    // Monitoring
    {"hide-user-data-from-log",   "", boolean<&Config::hide_user_data_from_log>},
    {"slowlog-log-slower-than",   "commandlog-execution-slower-than",
     number<&Config::slowlog_log_slower_than, -1, kLongMax>},
    {"slowlog-max-len",           "commandlog-slow-execution-max-len",
     number<&Config::slowlog_max_len, 0, kLongMax>},
    {"commandlog-request-larger-than",   "",
     number<&Config::request_log_larger_than, -1, kLongMax>},
    {"commandlog-large-request-max-len", "", number<&Config::request_log_max_len, 0, kLongMax>},
    {"commandlog-reply-larger-than",     "", number<&Config::reply_log_larger_than, -1, kLongMax>},
    {"commandlog-large-reply-max-len",   "", number<&Config::reply_log_max_len, 0, kLongMax>},
    {"latency-monitor-threshold", "", number<&Config::latency_monitor_threshold, 0, kLongMax>},
    {"latency-tracking-info-percentiles", "", kPercentiles,               mark::several},
    {"latency-tracking",          "", boolean<&Config::latency_tracking>},
};
// clang-format on

// Of directives and inert ones alike.
template <class Row>
const Row* find_row(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) {
    return equals(name, row.name) || (!row.alias.empty() && equals(name, row.alias));
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Directive> directives() {
  static const std::vector<Directive> all = [] {
    std::vector<Directive> rows(std::begin(kDirectives), std::end(kDirectives));
    for (const auto more : {persistence_directives(), replication_directives(), http_directives(),
                            cluster_directives()}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return all;
}

const Directive* find_directive(std::string_view name) { return find_row(directives(), name); }

const InertDirective* find_inert(std::string_view name) {
  return find_row(inert_directives(), name);
}

unsigned marks_of(std::string_view name) {
  if (const Directive* const found = find_directive(name)) return found->marks;
  const InertDirective* const inert = find_inert(name);
  return inert == nullptr ? 0 : inert->marks;
}

}  // namespace mayfly
