// SPDX-License-Identifier: Apache-2.0
// Words of `mayfly serve` are directives, as valkey-server takes them; so it reads them itself.

#include "cli/serve_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "server/config.h"
#include "server/process.h"

namespace mayfly {
namespace {

constexpr const char* kHelp =
    "Every directive of a Valkey or Redis configuration file can be given as an option:\n"
    "  mayfly serve                                     port 6379, this machine only\n"
    "  mayfly serve --port 7000 --maxmemory 100mb --maxmemory-policy allkeys-lru\n"
    "  mayfly serve /etc/valkey/valkey.conf --port 7000\n"
    "  mayfly serve --notify-keyspace-events KEA --requirepass secret\n"
    "  mayfly serve --dir data --appendonly yes         keep every write, also in a crash\n"
    "  mayfly serve --port 7001 --dir copy --replicaof 127.0.0.1 6379\n"
    "Words of its own:\n"
    "  --strict      refuse settings that have no effect here and would change safety (TLS,\n"
    "                cluster); otherwise they are warnings\n"
    "  --drop-unsupported\n"
    "                leave out keys of types that cannot be held here, instead of refusing their\n"
    "                file; a copy of the file is kept before it is replaced\n"
    "  --any-port    take the next free port if the first one is in use\n"
    "Talk to it with any client:  redis-cli -p 6379 HSETEX user:1 EX 60 FIELDS 1 token abc\n"
    "It ends with Ctrl-C, SIGTERM or the command SHUTDOWN, and saves all data in dump.rdb then,\n"
    "which the next start loads. Its folder (--dir, or where it is started) belongs to it alone: "
    "a\n"
    "second server needs another one. Exit code 1: it could not start, or not save.";

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

Status serve(std::vector<std::string> words) {
  const bool strict = take(words, "--strict");
  const bool any_port = take(words, "--any-port");

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
