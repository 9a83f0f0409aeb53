// SPDX-License-Identifier: Apache-2.0
// Keeping commands that took long or were large, cut to a bounded length and without passwords.

#include "server/monitoring/command_log.h"

#include <fmt/format.h>

#include "commands/words.h"
#include "server/config/config.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr std::size_t kWordsMax = 32;
constexpr std::size_t kWordBytesMax = 128;

std::string cut(std::string_view word) {
  if (word.size() <= kWordBytesMax) return std::string(word);
  return fmt::format("{}... ({} more bytes)", word.substr(0, kWordBytesMax),
                     word.size() - kWordBytesMax);
}

// Whether word `i` is a password, or may be one.
bool is_secret(Words words, std::size_t i) {
  if (equals(words[0], "auth")) return i > 0;
  if (equals(words[0], "hello")) return i > 2 && equals(words[i - 2], "auth");
  if (words.size() < 2 || i < 3) return false;
  if (equals(words[0], "acl")) return equals(words[1], "setuser");
  return equals(words[0], "config") && equals(words[1], "set") && i % 2 == 1 &&
         (marks_of(words[i - 1]) & mark::secret) != 0;
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
                          std::string(command.client_name)};
  const Words words = command.words;
  const std::size_t kept = words.size() > kWordsMax ? kWordsMax - 1 : words.size();
  for (std::size_t i = 0; i < kept; ++i) {
    entry.words.push_back(is_secret(words, i) ? "(redacted)" : cut(words[i]));
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

}  // namespace mayfly
