// SPDX-License-Identifier: Apache-2.0
// What MONITOR shows.

#include <fmt/format.h>

#include "server/core/requests.h"
#include "server/monitoring/secrets.h"

namespace mayfly {
namespace {

// A word as MONITOR shows it.
void append_quoted(std::string& line, std::string_view word) {
  line += '"';
  for (const char c : word) {
    switch (c) {
      case '\\':
      case '"':
        line += {'\\', c};
        break;
      case '\n':
        line += "\\n";
        break;
      case '\r':
        line += "\\r";
        break;
      case '\t':
        line += "\\t";
        break;
      case '\a':
        line += "\\a";
        break;
      case '\b':
        line += "\\b";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          line += c;
        } else {
          line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
  }
  line += '"';
}

}  // namespace

void Requests::feed_monitors(const Client& client, Words words) {
  const std::int64_t ms = parts_.now.time_since_epoch().count();
  std::string line = fmt::format("+{}.{:06} [{} {}]", ms / 1000, ms % 1000 * 1000,
                                 client.database(), client.link().address());
  for (std::size_t i = 0; i < words.size(); ++i) {
    line += ' ';
    append_quoted(line, is_secret(words, i) ? kRedacted : words[i]);
  }
  line += "\r\n";
  for (Client* const monitor : clients_.monitors()) {
    monitor->messages() += line;
    clients_.check_output(*monitor);
  }
}

}  // namespace mayfly
