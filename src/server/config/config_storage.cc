// SPDX-License-Identifier: Apache-2.0
// The directives about data on disk, and about replicas and primaries.

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr std::string_view kSyncs[] = {"always", "everysec", "no"};
constexpr std::string_view kVersionChecks[] = {"strict", "relaxed"};

Status bad_name(std::string_view directive) {
  return bad_value(std::string(directive) + " can't be a path, just a filename");
}

template <std::string Config::*field>
Status set_file_name(Config& config, Values values, bool, std::string_view directive) {
  auto word = only_word(values);
  if (!word) return word.error();
  if (word->empty() || word->find('/') != std::string::npos) return bad_name(directive);
  config.*field = std::move(*word);
  return Done{};
}

Status set_dbfilename(Config& config, Values values, bool at_start) {
  return set_file_name<&Config::dbfilename>(config, values, at_start, "dbfilename");
}

Status set_appendfilename(Config& config, Values values, bool at_start) {
  return set_file_name<&Config::appendfilename>(config, values, at_start, "appendfilename");
}

Status set_appenddirname(Config& config, Values values, bool at_start) {
  return set_file_name<&Config::appenddirname>(config, values, at_start, "appenddirname");
}

// Lines of a file add up, after the first one has replaced the default; CONFIG SET replaces all.
Status set_save(Config& config, Values values, bool at_start) {
  const auto rules = read_save(values);
  if (!rules) return rules.error();
  if (!at_start || config.save_is_default || rules->empty()) config.save.clear();
  config.save.insert(config.save.end(), rules->begin(), rules->end());
  config.save_is_default = false;
  return Done{};
}

std::string show_rules(const Config& config) { return show_save(config.save); }

struct EndFlag {
  std::string_view name;
  bool EndFlags::*flag;
};
constexpr EndFlag kEndFlags[] = {{"save", &EndFlags::saves},
                                 {"nosave", &EndFlags::saves_not},
                                 {"now", &EndFlags::is_now},
                                 {"force", &EndFlags::is_forced}};

// default, or some of save, nosave, now, force
template <EndFlags Config::*field>
Status set_end_flags(Config& config, Values values, bool) {
  const std::vector<std::string> words = split_words(values);
  EndFlags flags;
  bool is_wrong = words.empty();
  for (const std::string& word : words) {
    const auto found =
        std::ranges::find_if(kEndFlags, [&](const EndFlag& one) { return equals(word, one.name); });
    if (found != std::end(kEndFlags)) {
      flags.*(found->flag) = true;
    } else {
      is_wrong = is_wrong || !equals(word, "default");
    }
  }
  if (is_wrong || (flags.saves && flags.saves_not)) {
    return bad_value(
        "argument(s) must be one of the following: default, save, nosave, now, force (and not both "
        "save and nosave)");
  }
  config.*field = flags;
  return Done{};
}

template <EndFlags Config::*field>
std::string show_end_flags(const Config& config) {
  std::string text;
  for (const EndFlag& one : kEndFlags) {
    if (!(config.*field.*(one.flag))) continue;
    text += text.empty() ? "" : " ";
    text += one.name;
  }
  return text.empty() ? "default" : text;
}

template <EndFlags Config::*field>
constexpr Field kEnd{set_end_flags<field>, show_end_flags<field>};

constexpr Field kDbfilename{set_dbfilename, show_text<&Config::dbfilename>};
constexpr Field kAppendfilename{set_appendfilename, show_text<&Config::appendfilename>};
constexpr Field kAppenddirname{set_appenddirname, show_text<&Config::appenddirname>};
constexpr Field kSave{set_save, show_rules};

// clang-format off
constexpr Directive kPersistenceDirectives[] = {
    {"dbfilename",     "", kDbfilename,                            mark::is_protected},
    {"save",           "", kSave,                                  mark::several},
    {"drop-unsupported", "", boolean<&Config::drop_unsupported>},
    {"rdbcompression", "", boolean<&Config::rdbcompression>},
    {"rdbchecksum",    "", boolean<&Config::rdbchecksum>,          mark::fixed},
    {"rdb-version-check",           "", choice<&Config::rdb_version_check, kVersionChecks>},
    {"rdb-save-incremental-fsync",  "", boolean<&Config::rdb_save_incremental_fsync>},
    {"stop-writes-on-bgsave-error", "", boolean<&Config::stop_writes_on_bgsave_error>},
    {"appendonly",     "", boolean<&Config::appendonly>,           mark::loaded},
    {"appendfsync",    "", choice<&Config::appendfsync, kSyncs>},
    {"appendfilename", "", kAppendfilename,                        mark::fixed},
    {"appenddirname",  "", kAppenddirname,                         mark::fixed},
    {"auto-aof-rewrite-percentage", "",
     number<&Config::auto_aof_rewrite_percentage, 0, kIntMax>},
    {"auto-aof-rewrite-min-size",   "", memory<&Config::auto_aof_rewrite_min_size>},
    {"aof-load-truncated",          "", boolean<&Config::aof_load_truncated>},
    {"aof-load-failed-commands",    "", boolean<&Config::aof_load_failed_commands>},
    {"aof-use-rdb-preamble",        "", boolean<&Config::aof_use_rdb_preamble>},
    {"no-appendfsync-on-rewrite",   "", boolean<&Config::no_appendfsync_on_rewrite>},
    {"key-load-delay",     "", number<&Config::key_load_delay, INT32_MIN, kIntMax>, mark::hidden},
    {"rdb-key-save-delay", "", number<&Config::rdb_key_save_delay, INT32_MIN, kIntMax>,
     mark::hidden},
    {"shutdown-on-sigint",  "", kEnd<&Config::shutdown_on_sigint>,  mark::several},
    {"shutdown-on-sigterm", "", kEnd<&Config::shutdown_on_sigterm>, mark::several},
};
// clang-format on


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
    {"primaryuser", "masteruser", text<&Config::primaryuser>, mark::secret},
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
    {"repl-backlog-size",     "", memory<&Config::repl_backlog_size, 1>},
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

std::span<const Directive> persistence_directives() { return kPersistenceDirectives; }

std::span<const Directive> replication_directives() { return kReplicationDirectives; }

}  // namespace mayfly
