// SPDX-License-Identifier: Apache-2.0
// DEBUG, for test suites. It is one command with words of its own, as Valkey has no subcommands
// here either.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "commands/words.h"
#include "resp/glob.h"
#include "resp/numbers.h"
#include "server/core/reclaimer.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/monitoring/debug_keys.h"
#include "server/persistence/persistence.h"

namespace mayfly {
namespace {

constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

void set_active_expire(Call& call) {
  const auto sweeps = call.integer(2);
  if (!sweeps) return;
  parts_of(call).reclaimer.set_sweeping(*sweeps != 0);
  call.reply().ok();
}

// DEBUG SET-SKIP-CHECKSUM-VALIDATION 0|1: of files that are loaded, and of what is restored.
void set_skip_checksum_validation(Call& call) {
  const auto skips = call.integer(2);
  if (!skips) return;
  parts_of(call).config.skips_checksums = *skips != 0;
  call.reply().ok();
}

// DEBUG PAUSE-CRON 0|1
void pause_periodic(Call& call) {
  const auto pauses = call.integer(2);
  if (!pauses) return;
  parts_of(call).config.pauses_periodic = *pauses != 0;
  call.reply().ok();
}

// DEBUG CLIENT-ENFORCE-REPLY-LIST 0|1: clients that have never logged in get no output.
void enforce_reply_list(Call& call) {
  const auto enforces = call.integer(2);
  if (!enforces) return;
  parts_of(call).config.enforces_reply_list = *enforces != 0;
  call.reply().ok();
}

// DEBUG SET-DISABLE-DENY-SCRIPTS 0|1
void set_disable_deny_scripts(Call& call) {
  const auto allows = call.integer(2);
  if (!allows) return;
  parts_of(call).config.allows_noscript = *allows != 0;
  call.reply().ok();
}

// DEBUG SLEEP seconds: no client is served meanwhile.
void sleep_now(Call& call) {
  constexpr double kLongest = 3600;
  const double seconds = std::clamp(parse_double(call.word(2)).value_or(0), 0.0, kLongest);
  const auto whole = static_cast<std::time_t>(seconds);
  const auto rest = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  const std::timespec time{whole, rest};
  ::nanosleep(&time, nullptr);
  call.reply().ok();
}

void match_glob(Call& call) {
  call.reply().integer(glob_match(call.word(2), call.word(3)) ? 1 : 0);
}

void say_error(Call& call) { call.fail(call.word(2)); }

void write_log(Call& call) {
  parts_of(call).log.warning("DEBUG LOG: {}", call.word(2));
  call.reply().ok();
}

// CONFIG REWRITE that writes all directives, also those that have their default.
void rewrite_all_config(Call& call) {
  const Status status = rewrite_config(parts_of(call).config, true);
  if (!status) return call.fail(fmt::format("ERR {}", status.error().message));
  call.reply().ok();
}

// Settings of Valkey that do not exist here.
void do_nothing(Call& call) { call.reply().ok(); }

// ---- Data ----

// DEBUG POPULATE count [prefix] [size]: keys that are there stay as they are.
void debug_populate(Call& call) {
  constexpr std::int64_t kSizeMax = std::int64_t{512} << 20;
  const auto count = call.integer(2, 0, INT64_MAX, "ERR value is out of range, must be positive");
  if (!count) return;
  std::size_t size = 0;
  if (call.count() == 5) {
    const auto given = call.integer(4, 0, kSizeMax, "ERR value is out of range, must be positive");
    if (!given) return;
    size = static_cast<std::size_t>(*given);
  }
  const std::string_view prefix = call.count() > 3 ? call.word(3) : "key";
  for (std::int64_t i = 0; i < *count; ++i) {
    const std::string key = fmt::format("{}:{}", prefix, i);
    if (call.find(key) != kNoSlot) continue;
    std::string value = fmt::format("value:{}", i);
    if (size > 0) value.resize(size);
    call.put_string(key, value);
    call.changed(key);
  }
  call.reply().ok();
}

// ---- From memory to disk and back ----

void reply_status(Call& call, const Status& status) {
  if (status) return call.reply().ok();
  call.fail(fmt::format("ERR {}", status.error().message));
}

// A file would have a part of the transaction.
bool fails_in_transaction(Call& call) {
  if (!parts_of(call).requests.is_in_transaction()) return false;
  call.fail("ERR DEBUG RELOAD and DEBUG LOADAOF are not allowed in a transaction");
  return true;
}

void debug_reload(Call& call) {
  ReloadPlan plan;
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (call.is(i, "nosave")) {
      plan.saves = false;
    } else if (call.is(i, "noflush")) {
      plan.flushes = false;
    } else if (call.is(i, "merge")) {
      plan.merges = true;
    } else {
      return call.fail("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
    }
  }
  if (fails_in_transaction(call)) return;
  const Status status = parts_of(call).persistence.reload(plan);
  if (status) return call.reply().ok();
  call.fail("ERR Error trying to load the RDB dump: " + status.error().message);
}

void debug_loadaof(Call& call) {
  if (fails_in_transaction(call)) return;
  reply_status(call, parts_of(call).persistence.load_aof());
}

// ---- DEBUG PROTOCOL: a reply of each type, for the tests of clients ----

void reply_numbers(Reply& reply) {
  for (int i = 0; i < 3; ++i) reply.integer(i);
}

void protocol_map(Reply& reply) {
  reply.map(3);
  for (int i = 0; i < 3; ++i) {
    reply.integer(i);
    reply.boolean(i == 1);
  }
}

// An attribute stands before the reply it is about. RESP2 has none.
void protocol_attribute(Reply& reply) {
  if (reply.protocol() == 3) {
    reply.raw("|1\r\n");
    reply.bulk("key-popularity");
    reply.array(2);
    reply.bulk("key:123");
    reply.integer(90);
  }
  reply.bulk("Some real reply following the attribute");
}

void protocol_push(Reply& reply) {
  if (reply.protocol() == 2) return reply.error("ERR RESP2 is not supported by this command");
  reply.push(2);
  reply.bulk("server-cpu-usage");
  reply.integer(42);
  reply.bulk("Some real reply following the push reply");
}

struct ProtocolType {
  std::string_view name;
  void (*reply)(Reply&);
};

// clang-format off
constexpr ProtocolType kProtocolTypes[] = {
    {"string", [](Reply& reply) { reply.bulk("Hello World"); }},
    {"integer", [](Reply& reply) { reply.integer(12'345); }},
    {"double", [](Reply& reply) { reply.number(3.141); }},
    {"bignum", [](Reply& reply) { reply.big_number("1234567999999999999999999999999999999"); }},
    {"null", [](Reply& reply) { reply.null(); }},
    {"array", [](Reply& reply) { reply.array(3); reply_numbers(reply); }},
    {"set", [](Reply& reply) { reply.set(3); reply_numbers(reply); }},
    {"map", protocol_map},
    {"attrib", protocol_attribute},
    {"push", protocol_push},
    {"verbatim", [](Reply& reply) { reply.verbatim("txt", "This is a verbatim\nstring"); }},
    {"true", [](Reply& reply) { reply.boolean(true); }},
    {"false", [](Reply& reply) { reply.boolean(false); }},
};
// clang-format on

void debug_protocol(Call& call) {
  const auto found = std::ranges::find_if(
      kProtocolTypes, [&](const ProtocolType& type) { return equals(call.word(2), type.name); });
  if (found != std::end(kProtocolTypes)) return found->reply(call.reply());
  call.fail(
      "ERR Wrong protocol type name. Please use one of the following: "
      "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
}

// ---- The table ----

struct DebugSubcommand {
  std::string_view name;
  std::size_t least;  // words, DEBUG and the name included
  std::size_t most;
  void (*run)(Call&);
  std::string_view arguments;
  std::string_view summary;
};

void debug_help(Call& call);

// clang-format off
constexpr DebugSubcommand kDebugSubcommands[] = {
    {"change-repl-id", 2, 2, do_nothing, "", "Does nothing."},
    {"client-enforce-reply-list", 3, 3, enforce_reply_list, "<0|1>",
     "Closes clients that have never logged in when anything waits for them, or above 16 KiB."},
    {"config-rewrite-force-all", 2, 2, rewrite_all_config, "",
     "Writes all settings into the configuration file."},
    {"dict-resizing", 3, 3,
     do_nothing, "<0|1>", "Does nothing: tables always grow in small steps."},
    {"digest", 2, 2, debug_digest, "", "Returns a digest of all data, deadlines included."},
    {"digest-value", 2, kAnyNumber, debug_digest_value, "<key> ...",
     "Returns digests of the values of keys."},
    {"error", 3, 3, say_error, "<text>", "Replies with this error."},
    {"htstats", 3, 4, debug_htstats, "<database> [FULL]",
     "Returns how many keys and deadlines a database stores."},
    {"htstats-key", 3, 4, debug_htstats_key, "<key> [FULL]",
     "Returns the same of a hash that is kept as a table."},
    {"listpack", 3, 3, debug_listpack, "<key>", "Returns the size of a packed hash or list."},
    {"loadaof", 2, 2, debug_loadaof, "", "Replaces all data by that of the append-only file."},
    {"log", 3, 3, write_log, "<text>", "Writes a line to the log."},
    {"object", 3, 4, debug_object, "<key>", "Returns how a key is kept."},
    {"pause-cron", 3, 3, pause_periodic, "<0|1>", "Pauses periodic tasks, or goes on with them."},
    {"populate", 3, 5, debug_populate, "<count> [<prefix>] [<size>]",
     "Adds strings named key:0, key:1 and so on."},
    {"protocol", 3, 3, debug_protocol, "<type>",
     "Replies with a value of the type: string, integer, double, bignum, null, array, set, map, "
     "attrib, push, verbatim, true or false."},
    {"quicklist", 3, 4, debug_quicklist, "<key> [<0|1>]", "Returns the size of a chunked list."},
    {"quicklist-packed-threshold", 3, 3, do_nothing, "<size>", "Does nothing."},
    {"reload", 2, kAnyNumber, debug_reload, "[NOSAVE] [NOFLUSH] [MERGE]",
     "Saves all data in an RDB file and loads it again. NOSAVE loads the file that exists; NOFLUSH "
     "adds its keys to the data in memory; MERGE replaces those that exist."},
    {"set-active-expire", 3, 3, set_active_expire, "<0|1>",
     "Turns the removal of expired keys in the background off or on."},
    {"set-disable-deny-scripts", 3, 3, set_disable_deny_scripts, "<0|1>",
     "Lets scripts call all commands, or refuses those that scripts must not call."},
    {"set-skip-checksum-validation", 3, 3, set_skip_checksum_validation, "<0|1>",
     "Loads files and restores values with wrong checksums, or refuses them."},
    {"sleep", 3, 3, sleep_now, "<seconds>", "Blocks the server for this time."},
    {"stringmatch-len", 4, 4, match_glob, "<pattern> <text>",
     "Returns whether the pattern matches the text."},
    {"help", 2, 2, debug_help, "", "Prints this help."},
};
// clang-format on

void debug_help(Call& call) {
  std::vector<HelpEntry> entries;
  for (const DebugSubcommand& row : kDebugSubcommands) {
    entries.push_back({row.name, std::string(row.arguments), row.summary});
  }
  reply_help(call, "debug", entries);
}

bool is_allowed(ServerCall& call) {
  const std::string& permission = call.server.config.enable_debug_command;
  return permission == "yes" || (permission == "local" && call.client.link().is_loopback());
}

void debug(Call& call) {
  if (!is_allowed(server_call(call))) {
    return call.fail(
        "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", "
        "you can run it from a local connection, otherwise you need to set this option in the "
        "configuration file, and then restart the server.");
  }
  const auto found = std::ranges::find_if(kDebugSubcommands, [&](const DebugSubcommand& row) {
    return equals(call.word(1), row.name) && call.count() >= row.least && call.count() <= row.most;
  });
  if (found != std::end(kDebugSubcommands)) return found->run(call);
  call.fail(
      fmt::format("ERR unknown subcommand or wrong number of arguments for '{:.128}'. Try "
                  "DEBUG HELP.",
                  call.word(1)));
}

// clang-format off
constexpr Command kDebugCommands[] = {
    {"debug", debug, -2, flag::admin | flag::noscript | flag::loading | flag::stale, {}, "server",
     "1.0.0", "subcommand [arg...]",
     "Inspects and changes internals, for tests; see enable-debug-command."},
};
// clang-format on

}  // namespace

std::span<const Command> debug_commands() { return kDebugCommands; }

}  // namespace mayfly
