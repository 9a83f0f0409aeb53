// SPDX-License-Identifier: Apache-2.0
// COMMANDLOG: its three logs, and what is put into them.

#include "commands/words.h"
#include "server/admin/help.h"
#include "server/core/server.h"
#include "server/monitoring/monitoring_handlers.h"

namespace mayfly {
namespace {

std::size_t digits_of(std::size_t number) {
  std::size_t digits = 1;
  for (; number > 9; number /= 10) ++digits;
  return digits;
}

// How many bytes the request has as an array of bulks.
std::int64_t request_bytes(Words words) {
  std::size_t bytes = 1 + digits_of(words.size()) + 2;
  for (const std::string_view word : words) bytes += 1 + digits_of(word.size()) + 4 + word.size();
  return static_cast<std::int64_t>(bytes);
}

// The log that word `i` names; an error reply and null if it names none.
Slowlog* log_argument(Call& call, std::size_t i) {
  Server& server = client_call(call).server;
  if (call.is(i, "slow")) return &server.command_log(LogKind::slow);
  if (call.is(i, "large-request")) return &server.command_log(LogKind::large_request);
  if (call.is(i, "large-reply")) return &server.command_log(LogKind::large_reply);
  call.fail("ERR type should be one of the following: slow, large-request, large-reply");
  return nullptr;
}

}  // namespace

void Server::log_command(const Client& client, Words words, std::int64_t micros,
                         std::size_t reply_bytes) {
  const auto log = [&](LogKind kind, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (least < 0 || most == 0) return;
    Slowlog& entries = command_log(kind);
    if (value >= least) {
      entries.add(words, value, now_, client.link().address(), client.name,
                  static_cast<std::size_t>(most));
    }
    entries.trim(static_cast<std::size_t>(most));
  };
  log(LogKind::slow, micros, config_.slowlog_log_slower_than, config_.slowlog_max_len);
  log(LogKind::large_request, request_bytes(words), config_.request_log_larger_than,
      config_.request_log_max_len);
  log(LogKind::large_reply, static_cast<std::int64_t>(reply_bytes), config_.reply_log_larger_than,
      config_.reply_log_max_len);
}

void reply_log(Reply& reply, const Slowlog& log, std::int64_t count) {
  const auto& entries = log.entries();
  const std::size_t shown =
      count < 0 ? entries.size() : std::min(entries.size(), static_cast<std::size_t>(count));
  reply.array(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const SlowEntry& entry = entries[i];
    reply.array(6);
    reply.integer(entry.id);
    reply.integer(std::chrono::floor<std::chrono::seconds>(entry.at).time_since_epoch().count());
    reply.integer(entry.micros);
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
  const Slowlog* const log = log_argument(call, 3);
  if (log != nullptr) reply_log(call.reply(), *log, *count);
}

// COMMANDLOG LEN type
void commandlog_len(Call& call) {
  const Slowlog* const log = log_argument(call, 2);
  if (log != nullptr) call.reply().integer(static_cast<std::int64_t>(log->entries().size()));
}

// COMMANDLOG RESET type
void commandlog_reset(Call& call) {
  Slowlog* const log = log_argument(call, 2);
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
      "    Forgets all entries of a type.",
  };
  reply_help(call, "COMMANDLOG", kLines);
}

}  // namespace mayfly
