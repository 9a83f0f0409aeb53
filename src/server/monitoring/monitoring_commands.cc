// SPDX-License-Identifier: Apache-2.0
// SLOWLOG, and the rows of COMMANDLOG, LATENCY and MEMORY.

#include "server/admin/help.h"
#include "server/core/server.h"
#include "server/monitoring/monitoring_handlers.h"

namespace mayfly {
namespace {

// SLOWLOG GET [count]
void slowlog_get(Call& call) {
  constexpr std::int64_t kDefault = 10;
  if (call.count() > 3) return call.fail_arity();
  std::int64_t count = kDefault;
  if (call.count() == 3) {
    const std::optional<std::int64_t> given = log_count_argument(call, 2);
    if (!given) return;
    count = *given;
  }
  reply_log(call.reply(), client_call(call).server.slowlog(), count);
}

// SLOWLOG LEN
void slowlog_len(Call& call) {
  call.reply().integer(
      static_cast<std::int64_t>(client_call(call).server.slowlog().entries().size()));
}

// SLOWLOG RESET
void slowlog_reset(Call& call) {
  client_call(call).server.slowlog().reset();
  call.reply().ok();
}

void slowlog_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "GET [<count>]",
      "    Returns the latest entries (10 unless told otherwise, all if -1), each with",
      "    id, time, microseconds, the words of the command, and the client's address and name.",
      "LEN",
      "    Returns how many entries there are.",
      "RESET",
      "    Forgets all entries.",
  };
  reply_help(call, "SLOWLOG", kLines);
}

constexpr std::uint32_t kAdmin = flag::admin | flag::loading | flag::stale;
constexpr std::uint32_t kLatency = kAdmin | flag::noscript;
constexpr std::uint32_t kHelp = flag::loading | flag::stale;
constexpr KeyRange kKey{2, 2, 1, access::ro};

// clang-format off
constexpr Command kSlowlog[] = {
    {"get",   slowlog_get,   -2, kAdmin, {}, "server", "2.2.12",
     "[count:int]",
     "Returns the latest commands that took long.", {}, "slowlog"},
    {"len",   slowlog_len,    2, kAdmin, {}, "server", "2.2.12",
     "", "Returns how many slow commands are kept.", {}, "slowlog"},
    {"reset", slowlog_reset,  2, kAdmin, {}, "server", "2.2.12",
     "", "Forgets the slow commands.", {}, "slowlog"},
    {"help",  slowlog_help,   2, kHelp,  {}, "server", "6.2.0",
     "", "Tells how SLOWLOG is used.", {}, "slowlog"},
};

constexpr Command kCommandLog[] = {
    {"get",   commandlog_get,   4, kAdmin, {}, "server", "8.1.0",
     "count:int type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Returns the latest commands that took long, or were large.", {}, "commandlog"},
    {"len",   commandlog_len,   3, kAdmin, {}, "server", "8.1.0",
     "type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Returns how many such commands are kept.", {}, "commandlog"},
    {"reset", commandlog_reset, 3, kAdmin, {}, "server", "8.1.0",
     "type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Forgets such commands.", {}, "commandlog"},
    {"help",  commandlog_help,  2, kHelp,  {}, "server", "8.1.0",
     "", "Tells how COMMANDLOG is used.", {}, "commandlog"},
};

constexpr Command kLatencies[] = {
    {"latest",    latency_latest,     2, kLatency, {}, "server", "2.8.13",
     "", "Returns the latest sample of each event.", {}, "latency"},
    {"history",   latency_history,    3, kLatency, {}, "server", "2.8.13",
     "event",
     "Returns the samples of an event.", {}, "latency"},
    {"reset",     latency_reset,     -2, kLatency, {}, "server", "2.8.13",
     "[event...]",
     "Forgets samples.", {}, "latency"},
    {"doctor",    latency_doctor,     2, kLatency, {}, "server", "2.8.13",
     "", "Tells what took long, and what can be done about it.", {}, "latency"},
    {"graph",     latency_graph,      3, kLatency, {}, "server", "2.8.13",
     "event",
     "Draws the samples of an event.", {}, "latency"},
    {"histogram", latency_histogram, -2, kLatency, {}, "server", "7.0.0",
     "[command...]",
     "Returns how often commands took how long.", {}, "latency"},
    {"help",      latency_help,       2, kHelp,    {}, "server", "2.8.13",
     "", "Tells how LATENCY is used.", {}, "latency"},
};

constexpr Command kMemory[] = {
    {"usage",        memory_usage,        -3, flag::readonly, kKey, "server", "4.0.0",
     "key [SAMPLES count:int]",
     "Returns how many bytes a key and its value take.", {}, "memory"},
    {"stats",        memory_stats,         2, 0, {}, "server", "4.0.0",
     "", "Returns where memory goes.", {}, "memory"},
    {"doctor",       memory_doctor,        2, 0, {}, "server", "4.0.0",
     "", "Tells whether something seems to be wrong with memory.", {}, "memory"},
    {"malloc-stats", memory_malloc_stats,  2, 0, {}, "server", "4.0.0",
     "", "Returns what the allocator has to say.", {}, "memory"},
    {"purge",        memory_purge,         2, 0, {}, "server", "4.0.0",
     "", "Gives empty pages back to the system.", {}, "memory"},
    {"help",         memory_help,          2, kHelp, {}, "server", "4.0.0",
     "", "Tells how MEMORY is used.", {}, "memory"},
};

constexpr Command kCommands[] = {
    {"slowlog", nullptr, -2, 0, {}, "server", "2.2.12",
     "", "Shows which commands took long.", kSlowlog},
    {"commandlog", nullptr, -2, 0, {}, "server", "8.1.0",
     "", "Shows which commands took long, or had large requests or replies.", kCommandLog},
    {"latency", nullptr, -2, 0, {}, "server", "2.8.13",
     "", "Shows what took long, and when.", kLatencies},
    {"memory",  nullptr, -2, 0, {}, "server", "4.0.0",
     "", "Shows where memory goes.", kMemory},
};
// clang-format on

}  // namespace

std::span<const Command> monitoring_commands() { return kCommands; }

}  // namespace mayfly
