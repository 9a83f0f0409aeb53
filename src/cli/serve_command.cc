// SPDX-License-Identifier: Apache-2.0
// `mayfly serve`: starts a server. Its arguments are directives, as valkey-server takes them.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "cli/commands.h"
#include "cli/web_files.h"
#include "server/config/config.h"
#include "server/core/process.h"
#include "tools/terminal/terminal.h"

#ifdef MAYFLY_HAS_ETCD
#include "etcd/etcd_register.h"
#endif

namespace mayfly {
namespace {

constexpr const char* kServeHelp =
    "  mayfly serve [FILE] [--DIRECTIVE VALUE ...]\n"
    "\n"
    "FILE is a Valkey or Redis configuration file: one directive and its value per line.\n"
    "Every directive can also be given as an option, which overrides the file:\n"
    "  port 7000            in a file is    --port 7000            as an option\n"
    "  maxmemory 100mb                      --maxmemory 100mb\n"
    "\n"
    "Connections\n"
    "  --port N                   port to listen on (default 6379)\n"
    "  --bind ADDRESS ...         addresses to listen on (default 127.0.0.1 ::1, local only)\n"
    "  --requirepass PASSWORD     clients must authenticate with AUTH PASSWORD\n"
    "  --requirepass-file FILE    the same; the password is the first line of FILE (or set\n"
    "                             MAYFLY_PASSWORD in the environment)\n"
    "  --any-port                 use the next free port if the port is in use\n"
    "  --http-port N              serve metrics, health checks and the web console (default: off)\n"
    "  --http-bind ADDRESS ...    addresses for that (default 127.0.0.1 ::1, local only)\n"
    "Data on disk\n"
    "  --dir FOLDER               directory of the data files (default: current directory)\n"
    "  --save 'SECONDS CHANGES'   when to write dump.rdb automatically; '' for never\n"
    "  --appendonly yes           log every write; see --appendfsync (default no)\n"
    "  --appendfsync always       sync each write before the reply (default everysec)\n"
    "Memory\n"
    "  --maxmemory SIZE           limit for data: 100mb, 2gb (default: no limit)\n"
    "  --maxmemory-policy NAME    what to evict at the limit: allkeys-lru, volatile-ttl\n"
    "                             (default noeviction)\n"
    "Expiry\n"
    "  --notify-keyspace-events Ex    publish an event when a key or a member expires; ExT names\n"
    "                             the members, too\n"
    "  --expiry-log yes           write what expires to the stream __expired__ (default no);\n"
    "                             see --expiry-log-values, -max-entries, -max-bytes\n"
    "  --ttl-policy 'PREFIX max 1d ...'    rule about TTLs of keys: default TTL, max TTL,\n"
    "                             required yes, jitter PERCENT\n"
    "Cluster\n"
    "  --cluster-enabled yes      be a node of a cluster; its records are in etcd\n"
    "  --cluster-etcd URL ...     where etcd is (default http://127.0.0.1:2379)\n"
    "  --cluster-name NAME        name of the cluster in etcd (default main)\n"
    "  --cluster-replies in-sync  replies leave when no failover can lose what they tell of\n"
    "                             (default at-once)\n"
    "More\n"
    "  --replicaof HOST PORT      replicate that server\n"
    "  --drop-unsupported         when loading a file, skip keys of unsupported types instead of\n"
    "                             refusing the file; a copy of the file is kept\n"
    "  --strict                   refuse directives that have no effect here but change safety\n"
    "                             (TLS); otherwise they are warnings\n"
    "\n"
    "Examples:\n"
    "  mayfly serve                                     port 6379, local only\n"
    "  mayfly serve --port 7000 --maxmemory 100mb --maxmemory-policy allkeys-lru\n"
    "  mayfly serve /etc/valkey/valkey.conf --port 7000\n"
    "  mayfly serve --dir data --appendonly yes         log every write to disk\n"
    "  mayfly serve --port 7001 --dir copy --replicaof 127.0.0.1 6379\n"
    "  redis-cli -p 6379 HSETEX user:1 EX 60 FIELDS 1 token abc\n"
    "Ctrl-C, SIGTERM or the command SHUTDOWN stops the server. It then saves all data to\n"
    "dump.rdb, which it loads at the next start. Each server needs its own --dir.\n"
    "Exit code 1: the server could not start, or could not save.";

// Removes a flag of our own from the list.
bool take_flag(std::vector<std::string>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return false;
  words.erase(found);
  return true;
}

// Removes an option of our own and its value; nothing if it is not there.
Result<std::optional<std::string>> take_option(std::vector<std::string>& words,
                                               std::string_view name) {
  const auto found = std::ranges::find(words, name);
  if (found == words.end()) return std::optional<std::string>();
  if (found + 1 == words.end() || (found + 1)->starts_with("--")) {
    return Error{Code::invalid, fmt::format("{} needs a value: the name of a file", name)};
  }
  std::optional<std::string> value = *(found + 1);
  words.erase(found, found + 2);
  return value;
}

// Neither shows in the list of processes, as --requirepass does for a moment.
Status set_password(Config& config, const std::optional<std::string>& path) {
  if (path) {
    std::ifstream file(*path);
    std::string line;
    if (!std::getline(file, line)) {
      return Error{Code::io,
                   fmt::format("cannot read the password file '{}': {} (--requirepass-file "
                               "names a file whose first line is the password)",
                               *path, file.is_open() ? "it is empty" : std::strerror(errno))};
    }
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) {
      return Error{Code::invalid,
                   fmt::format("the first line of the password file '{}' is empty (it "
                               "must be the password)",
                               *path)};
    }
    config.requirepass = line;
  }
  const char* const variable = std::getenv("MAYFLY_PASSWORD");
  if (variable != nullptr && config.requirepass.empty()) config.requirepass = variable;
  return Done{};
}

void greet(const ServerProcess& process, bool is_quiet) {
  if (is_quiet || process.port() == 0) return;
  if (!is_terminal(STDOUT_FILENO)) {  // a log: hints are for people
    fmt::print("Mayfly is listening on port {}\n", process.port());
    std::fflush(stdout);
    return;
  }
  fmt::print(
      "Mayfly is listening on port {}. Try:\n  redis-cli -p {} HSETEX user:1 EX 60 FIELDS 1 token "
      "abc\n  redis-cli -p {} HTTL user:1 FIELDS 1 token\n",
      process.port(), process.port(), process.port());
  if (const std::string url = process.http_url(); !url.empty()) {
    fmt::print("Console and metrics: {}\n", url);
  }
  fmt::print("Press Ctrl-C to stop.\n");
  std::fflush(stdout);
}

// Refuses a first argument that was not meant to be a configuration file.
Status check_first_word(const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with("--")) return Done{};
  const std::string& word = words[0];
  if (word.starts_with('-') && word.size() > 1) {
    return Error{Code::invalid, fmt::format("'{}' is not an option of 'mayfly serve' (directives "
                                            "start with two dashes: --port 7000)",
                                            word)};
  }
  const bool is_number = word.find_first_not_of("0123456789") == word.npos;
  std::error_code ignored;
  if (!is_number || std::filesystem::exists(word, ignored)) return Done{};
  return Error{Code::invalid, fmt::format("'{}' is not a configuration file; did you mean '--port "
                                          "{}'?",
                                          word, word)};
}

#ifdef MAYFLY_HAS_ETCD
Result<std::unique_ptr<Register>> open_register(const Config& config, std::function<void()> wake) {
  return open_etcd_register({.endpoints = config.cluster_etcd,
                             .prefix = etcd_prefix(config.cluster_name),
                             .user = config.cluster_etcd_user,
                             .password = config.cluster_etcd_password,
                             .ca = config.cluster_etcd_ca,
                             .cert = config.cluster_etcd_cert,
                             .key = config.cluster_etcd_key},
                            std::move(wake));
}
#endif

Status serve(std::vector<std::string> words) {
  const bool strict = take_flag(words, "--strict");
  const bool any_port = take_flag(words, "--any-port");
  const Result<std::optional<std::string>> password_file = take_option(words, "--requirepass-file");
  if (!password_file) return password_file.error();
  if (Status status = check_first_word(words); !status) return status;

  Config config;
  std::vector<std::string> warnings;
  if (Status status = load_config_words(config, words, warnings, strict); !status) return status;
  if (Status status = set_password(config, *password_file); !status) return status;
  ::umask(077);  // files are for this user only
  const bool is_quiet = config.daemonize || config.loglevel == "nothing";
  ServerProcess process(std::move(config), "mayfly");
  process.set_web_files(embedded_web_files());
#ifdef MAYFLY_HAS_ETCD
  process.set_register(open_register);
#endif
  for (const std::string& warning : warnings) process.log().write(Level::warning, warning);
  if (Status status = process.listen(any_port); !status) return status;
  if (Status status = process.take_directory(); !status) return status;
  process.on_ready([&] { greet(process, is_quiet); });
  Status ended = process.run();
  std::clearerr(stdout);  // a full disk under the log is not a failure of the server
  return ended;
}

}  // namespace

void add_serve_command(Program& program) {
  const CliCommand app = program.add("serve", "Start a Redis-compatible server", kServeHelp);
  app.prefix_command();
  program.on(app, [app] { return exit_of(serve(app.remaining())); });
}

}  // namespace mayfly
