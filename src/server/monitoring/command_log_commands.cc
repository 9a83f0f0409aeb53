// SPDX-License-Identifier: Apache-2.0
// SLOWLOG and COMMANDLOG.

#include <algorithm>
#include <chrono>
#include <optional>

#include "server/core/server_call.h"
#include "server/monitoring/command_log.h"

namespace mayfly {
namespace {

// The log that word `i` names; an error reply and null if it names none.
CommandLog* log_argument(Call& call, std::size_t i) {
  CommandLogs& logs = parts_of(call).command_logs;
  if (call.is(i, "slow")) return &logs[LogKind::slow];
  if (call.is(i, "large-request")) return &logs[LogKind::large_request];
  if (call.is(i, "large-reply")) return &logs[LogKind::large_reply];
  call.fail("ERR type should be one of the following: slow, large-request, large-reply");
  return nullptr;
}

void reply_log(Reply& reply, const CommandLog& log, std::int64_t count) {
  const auto& entries = log.entries();
  const std::size_t shown =
      count < 0 ? entries.size() : std::min(entries.size(), static_cast<std::size_t>(count));
  reply.array(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const CommandLog::Entry& entry = entries[i];
    reply.array(6);
    reply.integer(entry.id);
    reply.integer(std::chrono::floor<std::chrono::seconds>(entry.at).time_since_epoch().count());
    reply.integer(entry.value);
    reply.array(entry.words.size());
    for (const std::string& word : entry.words) reply.bulk(word);
    reply.bulk(entry.client_address);
    reply.bulk(entry.client_name);
  }
}

std::optional<std::int64_t> log_count_argument(Call& call, std::size_t i) {
  return call.integer(i, -1, INT64_MAX, "ERR count should be greater than or equal to -1");
}

// COMMANDLOG GET count type
void commandlog_get(Call& call) {
  const std::optional<std::int64_t> count = log_count_argument(call, 2);
  if (!count) return;
  const CommandLog* const log = log_argument(call, 3);
  if (log != nullptr) reply_log(call.reply(), *log, *count);
}

// COMMANDLOG LEN type
void commandlog_len(Call& call) {
  const CommandLog* const log = log_argument(call, 2);
  if (log != nullptr) call.reply().integer(static_cast<std::int64_t>(log->entries().size()));
}

// COMMANDLOG RESET type
void commandlog_reset(Call& call) {
  CommandLog* const log = log_argument(call, 2);
  if (log == nullptr) return;
  log->reset();
  call.reply().ok();
}

void commandlog_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "GET <count> <type>",
      "    Returns the latest entries of a type, all if the count is -1, each with id, time,",
      "    microseconds (slow) or bytes (large-request, large-reply), the words of the command,",
      "    and the client's address and name.",
      "LEN <type>",
      "    Returns how many entries of a type there are.",
      "RESET <type>",
      "    Removes all entries of a type.",
  };
  reply_help(call, "COMMANDLOG", kLines);
}

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
  reply_log(call.reply(), parts_of(call).command_logs[LogKind::slow], count);
}

// SLOWLOG LEN
void slowlog_len(Call& call) {
  call.reply().integer(
      static_cast<std::int64_t>(parts_of(call).command_logs[LogKind::slow].entries().size()));
}

// SLOWLOG RESET
void slowlog_reset(Call& call) {
  parts_of(call).command_logs[LogKind::slow].reset();
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

constexpr std::uint32_t kLogAdmin = flag::admin | flag::loading | flag::stale;
constexpr std::uint32_t kLogHelp = flag::loading | flag::stale;

// clang-format off
constexpr Command kSlowlogRows[] = {
    {"get",   slowlog_get,   -2, kLogAdmin, {}, "server", "2.2.12",
     "[count:int]",
     "Returns the latest commands that took long.", {}, "slowlog"},
    {"len",   slowlog_len,    2, kLogAdmin, {}, "server", "2.2.12",
     "", "Returns how many slow commands are kept.", {}, "slowlog"},
    {"reset", slowlog_reset,  2, kLogAdmin, {}, "server", "2.2.12",
     "", "Forgets the slow commands.", {}, "slowlog"},
    {"help",  slowlog_help,   2, kLogHelp,  {}, "server", "6.2.0",
     "", "Tells how SLOWLOG is used.", {}, "slowlog"},
};

constexpr Command kCommandLogRows[] = {
    {"get",   commandlog_get,   4, kLogAdmin, {}, "server", "8.1.0",
     "count:int type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Returns the latest commands that took long, or were large.", {}, "commandlog"},
    {"len",   commandlog_len,   3, kLogAdmin, {}, "server", "8.1.0",
     "type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Returns how many such commands are kept.", {}, "commandlog"},
    {"reset", commandlog_reset, 3, kLogAdmin, {}, "server", "8.1.0",
     "type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Forgets such commands.", {}, "commandlog"},
    {"help",  commandlog_help,  2, kLogHelp,  {}, "server", "8.1.0",
     "", "Tells how COMMANDLOG is used.", {}, "commandlog"},
};

constexpr Command kCommandLogCommands[] = {
    {"slowlog", nullptr, -2, 0, {}, "server", "2.2.12",
     "", "Shows which commands took long.", kSlowlogRows},
    {"commandlog", nullptr, -2, 0, {}, "server", "8.1.0",
     "", "Shows which commands took long, or had large requests or replies.", kCommandLogRows},
};
// clang-format on

}  // namespace

std::span<const Command> command_log_commands() { return kCommandLogCommands; }

}  // namespace mayfly
