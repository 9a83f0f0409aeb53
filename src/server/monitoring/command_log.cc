// SPDX-License-Identifier: Apache-2.0
// SLOWLOG and COMMANDLOG: keeping commands that took long or were large, cut to a bounded length
// and without passwords, and showing them.

#include "server/monitoring/command_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "commands/words.h"
#include "server/config/config.h"
#include "server/config/config_table.h"
#include "server/core/server_call.h"
#include "server/monitoring/secrets.h"

namespace mayfly {
namespace {

constexpr std::size_t kWordsMax = 32;
constexpr std::size_t kWordBytesMax = 128;

std::string cut(std::string_view word) {
  if (word.size() <= kWordBytesMax) return std::string(word);
  return fmt::format("{}... ({} more bytes)", word.substr(0, kWordBytesMax),
                     word.size() - kWordBytesMax);
}

std::size_t digits_of(std::size_t number) {
  std::size_t digits = 1;
  for (; number > 9; number /= 10) ++digits;
  return digits;
}

// The bytes of the request as an array of bulks.
std::int64_t request_bytes(Words words) {
  std::size_t bytes = 1 + digits_of(words.size()) + 2;
  for (const std::string_view word : words) bytes += 1 + digits_of(word.size()) + 4 + word.size();
  return static_cast<std::int64_t>(bytes);
}

// No less than request_bytes(), and quickly computed.
std::int64_t request_bytes_at_most(Words words) {
  constexpr std::size_t kHeadMax = 32;
  std::size_t bytes = kHeadMax;
  for (const std::string_view word : words) bytes += word.size() + kHeadMax;
  return static_cast<std::int64_t>(bytes);
}

bool reaches(std::int64_t value, std::int64_t least) { return least >= 0 && value >= least; }

}  // namespace

void CommandLogs::record(const Config& config, const LoggedCommand& command) {
  if (reaches(command.micros, config.slowlog_log_slower_than)) {
    add(LogKind::slow, command.micros, config.slowlog_max_len, command);
  }
  if (reaches(request_bytes_at_most(command.words), config.request_log_larger_than)) {
    const std::int64_t bytes = request_bytes(command.words);
    if (bytes >= config.request_log_larger_than) {
      add(LogKind::large_request, bytes, config.request_log_max_len, command);
    }
  }
  const auto reply_bytes = static_cast<std::int64_t>(command.reply_bytes);
  if (reaches(reply_bytes, config.reply_log_larger_than)) {
    add(LogKind::large_reply, reply_bytes, config.reply_log_max_len, command);
  }
}

void CommandLogs::add(LogKind kind, std::int64_t value, std::int64_t most,
                      const LoggedCommand& command) {
  if (most == 0) return;
  CommandLog& log = (*this)[kind];
  CommandLog::Entry entry{log.next_id_++,
                          command.at,
                          value,
                          {},
                          std::string(command.client_address),
                          cut(command.client_name)};
  const Words words = command.words;
  const std::size_t kept = words.size() > kWordsMax ? kWordsMax - 1 : words.size();
  for (std::size_t i = 0; i < kept; ++i) {
    entry.words.push_back(is_secret(words, i) ? std::string(kRedacted) : cut(words[i]));
  }
  if (kept < words.size()) {
    entry.words.push_back(fmt::format("... ({} more arguments)", words.size() - kept));
  }
  log.entries_.push_front(std::move(entry));
  log.trim(static_cast<std::size_t>(most));
}

void CommandLogs::trim(const Config& config) {
  (*this)[LogKind::slow].trim(static_cast<std::size_t>(config.slowlog_max_len));
  (*this)[LogKind::large_request].trim(static_cast<std::size_t>(config.request_log_max_len));
  (*this)[LogKind::large_reply].trim(static_cast<std::size_t>(config.reply_log_max_len));
}

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

void commandlog_get(Call& call) {
  const std::optional<std::int64_t> count = log_count_argument(call, 2);
  if (!count) return;
  const CommandLog* const log = log_argument(call, 3);
  if (log != nullptr) reply_log(call.reply(), *log, *count);
}

void commandlog_len(Call& call) {
  const CommandLog* const log = log_argument(call, 2);
  if (log != nullptr) call.reply().integer(static_cast<std::int64_t>(log->entries().size()));
}

void commandlog_reset(Call& call) {
  CommandLog* const log = log_argument(call, 2);
  if (log == nullptr) return;
  log->reset();
  call.reply().ok();
}

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

void slowlog_len(Call& call) {
  call.reply().integer(
      static_cast<std::int64_t>(parts_of(call).command_logs[LogKind::slow].entries().size()));
}

void slowlog_reset(Call& call) {
  parts_of(call).command_logs[LogKind::slow].reset();
  call.reply().ok();
}

constexpr std::uint64_t kLogAdmin = flag::admin | flag::loading | flag::stale;
constexpr std::uint64_t kLogHelp = flag::loading | flag::stale;

// clang-format off
constexpr Command kSlowlogRows[] = {
    {"get", slowlog_get, -2, kLogAdmin, {}, "server", "2.2.12", "[count:int]",
     "Returns the latest commands that took long.", {}, "slowlog"},
    {"len", slowlog_len, 2, kLogAdmin, {}, "server", "2.2.12", "",
     "Returns how many slow commands are kept.", {}, "slowlog"},
    {"reset", slowlog_reset, 2, kLogAdmin, {}, "server", "2.2.12", "", "Removes the slow commands.",
     {}, "slowlog"},
    {"help", reply_help, 2, kLogHelp, {}, "server", "6.2.0", "", "Prints this help.", {},
     "slowlog"},
};

constexpr Command kCommandLogRows[] = {
    {"get", commandlog_get, 4, kLogAdmin, {}, "server", "8.1.0",
     "count:int type:(SLOW | LARGE-REQUEST | LARGE-REPLY)",
     "Returns the latest commands that took long, or were large.", {}, "commandlog"},
    {"len", commandlog_len, 3, kLogAdmin, {}, "server", "8.1.0",
     "type:(SLOW | LARGE-REQUEST | LARGE-REPLY)", "Returns how many such commands are kept.", {},
     "commandlog"},
    {"reset", commandlog_reset, 3, kLogAdmin, {}, "server", "8.1.0",
     "type:(SLOW | LARGE-REQUEST | LARGE-REPLY)", "Removes such commands.", {}, "commandlog"},
    {"help", reply_help, 2, kLogHelp, {}, "server", "8.1.0", "", "Prints this help.", {},
     "commandlog"},
};

constexpr Command kCommandLogCommands[] = {
    {"slowlog", nullptr, -2, 0, {}, "server", "2.2.12", "", "Shows which commands took long.",
     kSlowlogRows},
    {"commandlog", nullptr, -2, 0, {}, "server", "8.1.0", "",
     "Shows which commands took long, or had large requests or replies.", kCommandLogRows},
};
// clang-format on

}  // namespace

std::span<const Command> command_log_commands() { return kCommandLogCommands; }

}  // namespace mayfly
