// SPDX-License-Identifier: Apache-2.0
// Keeping the commands that took long, cut to a bearable length and without passwords.

#include "server/monitoring/command_log.h"

#include <fmt/format.h>

#include "commands/words.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr std::size_t kWordsMax = 32;
constexpr std::size_t kBytesMax = 128;

std::string cut(std::string_view word) {
  if (word.size() <= kBytesMax) return std::string(word);
  return fmt::format("{}... ({} more bytes)", word.substr(0, kBytesMax), word.size() - kBytesMax);
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

}  // namespace

void Slowlog::add(Words words, std::int64_t micros, Time at, std::string_view address,
                  std::string_view name, std::size_t most) {
  SlowEntry entry{next_id_++, at, micros, {}, std::string(address), std::string(name)};
  const std::size_t kept = words.size() > kWordsMax ? kWordsMax - 1 : words.size();
  for (std::size_t i = 0; i < kept; ++i) {
    entry.words.push_back(is_secret(words, i) ? "(redacted)" : cut(words[i]));
  }
  if (kept < words.size()) {
    entry.words.push_back(fmt::format("... ({} more arguments)", words.size() - kept));
  }
  entries_.push_front(std::move(entry));
  trim(most);
}

}  // namespace mayfly
