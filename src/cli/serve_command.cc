// SPDX-License-Identifier: Apache-2.0
// Words of `mayfly serve` are directives, as valkey-server takes them; so it reads them itself.

#include "cli/serve_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "server/config/config.h"
#include "server/core/process.h"

namespace mayfly {
namespace {

constexpr const char* kHelp =
    "  mayfly serve [FILE] [--DIRECTIVE VALUE ...]\n"
    "\n"
    "FILE is a configuration file of Valkey or Redis: a directive and its value on each line.\n"
    "Every directive can also be given as an option, which counts more than the file:\n"
    "  port 7000            in a file is    --port 7000            here\n"
    "  maxmemory 100mb                      --maxmemory 100mb\n"
    "\n"
    "Connections\n"
    "  --port N                   where to listen (6379)\n"
    "  --bind ADDRESS ...         on which addresses (127.0.0.1 ::1, this machine only)\n"
    "  --requirepass PASSWORD     clients must say AUTH PASSWORD first\n"
    "  --any-port                 take the next free port if that one is in use\n"
    "Data on disk\n"
    "  --dir FOLDER               where the files are (this folder)\n"
    "  --save 'SECONDS CHANGES'   when dump.rdb is written by itself; '' for never\n"
    "  --appendonly yes           keep every write, also in a crash (no)\n"
    "  --appendfsync always       sync each write before it is answered (everysec)\n"
    "Memory\n"
    "  --maxmemory SIZE           how much data may take: 100mb, 2gb (no limit)\n"
    "  --maxmemory-policy NAME    what goes when it is full: allkeys-lru, volatile-ttl "
    "(noeviction)\n"
    "More\n"
    "  --replicaof HOST PORT      be a replica of that server\n"
    "  --notify-keyspace-events Ex    tell subscribers what expires\n"
    "  --drop-unsupported         leave out keys of types that cannot be held here, instead of\n"
    "                             refusing their file; a copy of the file is kept\n"
    "  --strict                   refuse settings that have no effect here and would change\n"
    "                             safety (TLS, cluster); otherwise they are warnings\n"
    "\n"
    "Examples:\n"
    "  mayfly serve                                     port 6379, this machine only\n"
    "  mayfly serve --port 7000 --maxmemory 100mb --maxmemory-policy allkeys-lru\n"
    "  mayfly serve /etc/valkey/valkey.conf --port 7000\n"
    "  mayfly serve --dir data --appendonly yes         keep every write, also in a crash\n"
    "  mayfly serve --port 7001 --dir copy --replicaof 127.0.0.1 6379\n"
    "  redis-cli -p 6379 HSETEX user:1 EX 60 FIELDS 1 token abc\n"
    "It ends with Ctrl-C, SIGTERM or the command SHUTDOWN, and saves all data in dump.rdb then,\n"
    "which the next start loads. Its folder belongs to it alone: a second server needs another\n"
    "--dir. Exit code 1: it could not start, or not save.";

// Takes a word of our own out of the list.
bool take(std::vector<std::string>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return false;
  words.erase(found);
  return true;
}

void greet(const ServerProcess& process, bool is_quiet) {
  if (is_quiet || process.port() == 0) return;
  fmt::print(
      "Mayfly serves on port {}. Try:\n  redis-cli -p {} HSETEX user:1 EX 60 FIELDS 1 token "
      "abc\n  redis-cli -p {} HTTL user:1 FIELDS 1 token\nCtrl-C ends it.\n",
      process.port(), process.port(), process.port());
  std::fflush(stdout);
}

// A first word that was not meant to be the name of a configuration file.
Status check_first_word(const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with("--")) return Done{};
  const std::string& word = words[0];
  if (word.starts_with('-') && word.size() > 1) {
    return Error{Code::invalid, fmt::format("'{}' is not an option of 'mayfly serve': directives "
                                            "have two dashes, as in --port 7000",
                                            word)};
  }
  const bool is_number = word.find_first_not_of("0123456789") == word.npos;
  std::error_code ignored;
  if (!is_number || std::filesystem::exists(word, ignored)) return Done{};
  return Error{Code::invalid, fmt::format("'{}' is not a configuration file; did you mean '--port "
                                          "{}'?",
                                          word, word)};
}

Status serve(std::vector<std::string> words) {
  const bool strict = take(words, "--strict");
  const bool any_port = take(words, "--any-port");
  if (Status status = check_first_word(words); !status) return status;

  Config config;
  std::vector<std::string> warnings;
  if (Status status = load_config_words(config, words, warnings, strict); !status) return status;
  const bool is_quiet = config.daemonize || config.loglevel == "nothing";
  ServerProcess process(std::move(config), "mayfly");
  for (const std::string& warning : warnings) process.log().write(Level::warning, warning);
  if (Status status = process.listen(any_port); !status) return status;
  if (Status status = process.take_directory(); !status) return status;
  process.on_ready([&] { greet(process, is_quiet); });
  Status ended = process.run();
  std::clearerr(stdout);  // a log that the disk had no room for does not make its end a failure
  return ended;
}

}  // namespace

void add_serve_command(Program& program) {
  const CliCommand app =
      program.add("serve", "Start a server that speaks the Valkey protocol", kHelp);
  app.prefix_command();
  program.on(app, [app] { return exit_of(serve(app.remaining())); });
}

}  // namespace mayfly
