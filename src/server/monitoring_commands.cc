// SPDX-License-Identifier: Apache-2.0
// SLOWLOG, and the rows of LATENCY and MEMORY.

#include "server/help.h"
#include "server/monitoring_handlers.h"
#include "server/server.h"

namespace mayfly {
namespace {

void reply_entry(Reply& reply, const SlowEntry& entry) {
  reply.array(6);
  reply.integer(entry.id);
  reply.integer(std::chrono::floor<std::chrono::seconds>(entry.at).time_since_epoch().count());
  reply.integer(entry.micros);
  reply.array(entry.words.size());
  for (const std::string& word : entry.words) reply.bulk(word);
  reply.bulk(entry.client_address);
  reply.bulk(entry.client_name);
}

// SLOWLOG GET [count]
void slowlog_get(Call& call) {
  constexpr std::int64_t kDefault = 10;
  const auto& entries = client_call(call).server.slowlog().entries();
  if (call.count() > 3) return call.fail_arity();
  std::int64_t count = kDefault;
  if (call.count() == 3) {
    const auto given =
        call.integer(2, -1, INT64_MAX, "ERR count should be greater than or equal to -1");
    if (!given) return;
    count = *given;
  }
  const std::size_t shown =
      count < 0 ? entries.size() : std::min(entries.size(), static_cast<std::size_t>(count));
  call.reply().array(shown);
  for (std::size_t i = 0; i < shown; ++i) reply_entry(call.reply(), entries[i]);
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
    {"latency", nullptr, -2, 0, {}, "server", "2.8.13",
     "", "Shows what took long, and when.", kLatencies},
    {"memory",  nullptr, -2, 0, {}, "server", "4.0.0",
     "", "Shows where memory goes.", kMemory},
};
// clang-format on

}  // namespace

std::span<const Command> monitoring_commands() { return kCommands; }

}  // namespace mayfly
