// SPDX-License-Identifier: Apache-2.0
// DEBUG: what test suites need. It is one command with words of its own, since Valkey has no
// subcommands here either.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "commands/words.h"
#include "resp/glob.h"
#include "resp/numbers.h"
#include "server/admin/help.h"
#include "server/core/server.h"
#include "server/monitoring/debug_handlers.h"

namespace mayfly {
namespace {

constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

// DEBUG SET-ACTIVE-EXPIRE 0|1
void set_active_expire(Call& call) {
  const auto sweeps = call.integer(2);
  if (!sweeps) return;
  client_call(call).server.set_sweeping(*sweeps != 0);
  call.reply().ok();
}

// DEBUG SET-SKIP-CHECKSUM-VALIDATION 0|1: of files that are loaded, and of what is restored.
void set_skip_checksum_validation(Call& call) {
  const auto skips = call.integer(2);
  if (!skips) return;
  client_call(call).server.config().skips_checksums = *skips != 0;
  call.reply().ok();
}

// DEBUG SLEEP seconds: nobody is served meanwhile.
void sleep_now(Call& call) {
  constexpr double kLongest = 3600;
  const double seconds = std::clamp(parse_double(call.word(2)).value_or(0), 0.0, kLongest);
  const auto whole = static_cast<std::time_t>(seconds);
  const auto rest = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  const std::timespec time{whole, rest};
  ::nanosleep(&time, nullptr);
  call.reply().ok();
}

// DEBUG STRINGMATCH-LEN pattern text
void match(Call& call) { call.reply().integer(glob_match(call.word(2), call.word(3)) ? 1 : 0); }

// DEBUG ERROR text
void say_error(Call& call) { call.fail(call.word(2)); }

// DEBUG LOG text
void write_log(Call& call) {
  client_call(call).server.log().write(Level::warning, fmt::format("DEBUG LOG: {}", call.word(2)));
  call.reply().ok();
}

// What has nothing to act upon here.
void do_nothing(Call& call) { call.reply().ok(); }

void help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "CHANGE-REPL-ID",
      "    Does nothing: a history changes its name by itself.",
      "DICT-RESIZING <0|1>",
      "    Does nothing: tables grow and shrink in small steps.",
      "DIGEST",
      "    Returns 40 digits that stand for all data, deadlines included.",
      "DIGEST-VALUE <key> [<key> ...]",
      "    Returns the same for the values of keys.",
      "ERROR <text>",
      "    Replies with this error.",
      "HTSTATS <database> [FULL]",
      "    Tells how many keys a database stores, and deadlines.",
      "HTSTATS-KEY <key> [FULL]",
      "    Tells the same of a hash that is kept as a table.",
      "LISTPACK <key>",
      "    Tells how large a packed hash is.",
      "LOADAOF",
      "    Replaces all data by what the append-only file says.",
      "LOG <text>",
      "    Writes a line to the log.",
      "OBJECT <key>",
      "    Tells how a key is kept.",
      "POPULATE <count> [<prefix>] [<size>]",
      "    Makes strings named key:0, key:1 and so on.",
      "PROTOCOL <type>",
      "    Replies with a value of the type: string, integer, double, bignum, null, array, set,",
      "    map, attrib, push, verbatim, true or false.",
      "QUICKLIST-PACKED-THRESHOLD <size>",
      "    Does nothing: there are no lists yet.",
      "RELOAD [NOSAVE] [NOFLUSH]",
      "    Saves all data as an RDB file, and replaces them by what is in it. NOSAVE takes the "
      "file",
      "    that is there; NOFLUSH adds what is in it to what is in memory.",
      "SET-ACTIVE-EXPIRE <0|1>",
      "    Stops removing what is due before somebody asks for it, or begins again.",
      "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
      "    Loads files and restores values whose checksum is wrong, or refuses them again.",
      "SLEEP <seconds>",
      "    Serves nobody for so long.",
      "STRINGMATCH-LEN <pattern> <text>",
      "    Tells whether the pattern fits the text.",
  };
  reply_help(call, "DEBUG", kLines);
}

struct Subcommand {
  std::string_view name;
  std::size_t least;  // words, DEBUG and the name included
  std::size_t most;
  void (*run)(Call&);
};

// clang-format off
constexpr Subcommand kSubcommands[] = {
    {"set-active-expire",          3, 3,          set_active_expire},
    {"set-skip-checksum-validation", 3, 3,        set_skip_checksum_validation},
    {"sleep",                      3, 3,          sleep_now},
    {"object",                     3, 4,          debug_object},
    {"digest",                     2, 2,          debug_digest},
    {"digest-value",               2, kAnyNumber, debug_digest_value},
    {"stringmatch-len",            4, 4,          match},
    {"htstats",                    3, 4,          debug_htstats},
    {"htstats-key",                3, 4,          debug_htstats_key},
    {"listpack",                   3, 3,          debug_listpack},
    {"populate",                   3, 5,          debug_populate},
    {"protocol",                   3, 3,          debug_protocol},
    {"error",                      3, 3,          say_error},
    {"log",                        3, 3,          write_log},
    {"change-repl-id",             2, 2,          do_nothing},
    {"quicklist-packed-threshold", 3, 3,          do_nothing},
    {"dict-resizing",              3, 3,          do_nothing},
    {"reload",                     2, kAnyNumber, debug_reload},
    {"loadaof",                    2, 2,          debug_loadaof},
    {"help",                       2, 2,          help},
};
// clang-format on

bool is_allowed(ClientCall& call) {
  const std::string& permission = call.server.config().enable_debug_command;
  return permission == "yes" || (permission == "local" && call.client.link().is_loopback());
}

// DEBUG subcommand [word ...]
void debug(Call& call) {
  if (!is_allowed(client_call(call))) {
    return call.fail(
        "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", "
        "you can run it from a local connection, otherwise you need to set this option in the "
        "configuration file, and then restart the server.");
  }
  const auto found = std::ranges::find_if(kSubcommands, [&](const Subcommand& row) {
    return equals(call.word(1), row.name) && call.count() >= row.least && call.count() <= row.most;
  });
  if (found != std::end(kSubcommands)) return found->run(call);
  call.fail(
      fmt::format("ERR unknown subcommand or wrong number of arguments for '{:.128}'. Try "
                  "DEBUG HELP.",
                  call.word(1)));
}

constexpr Command kCommands[] = {
    {"debug",
     debug,
     -2,
     flag::admin | flag::noscript | flag::loading | flag::stale,
     {},
     "server",
     "1.0.0",
     "subcommand [arg...]",
     "Looks inside, for tests; only if enable-debug-command allows it."},
};

}  // namespace

std::span<const Command> debug_commands() { return kCommands; }

}  // namespace mayfly
