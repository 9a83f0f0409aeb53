// SPDX-License-Identifier: Apache-2.0
#include "server/monitoring/secrets.h"

#include "commands/words.h"
#include "server/config/config_table.h"

namespace mayfly {
namespace {

// MIGRATE host port key database timeout ... AUTH password, AUTH2 user password, KEYS key ...
bool is_login_of_migrate(Words words, std::size_t i) {
  for (std::size_t at = 6; at < i; ++at) {
    if (equals(words[at], "keys")) return false;
    const std::size_t values = equals(words[at], "auth") ? 1 : equals(words[at], "auth2") ? 2 : 0;
    if (i <= at + values) return true;
    at += values;
  }
  return false;
}

// User names are not shown either.
bool is_secret_of_acl(Words words) {
  return equals(words[1], "setuser") || equals(words[1], "getuser") || equals(words[1], "deluser");
}

}  // namespace

bool is_secret(Words words, std::size_t i) {
  if (i == 0) return false;
  if (equals(words[0], "auth")) return true;
  if (equals(words[0], "hello")) {
    return i > 2 && (equals(words[i - 1], "auth") || equals(words[i - 2], "auth"));
  }
  if (equals(words[0], "migrate")) return is_login_of_migrate(words, i);
  if (i < 2) return false;
  if (equals(words[0], "acl")) return is_secret_of_acl(words);
  return equals(words[0], "config") && equals(words[1], "set") && i > 2 && i % 2 == 1 &&
         (marks_of(words[i - 1]) & mark::secret) != 0;
}

bool is_same_secret(std::string_view given, std::string_view right) {
  std::size_t differences = given.size() ^ right.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = right.empty() ? '\0' : right[i % right.size()];
    differences |= static_cast<unsigned char>(given[i] ^ other);
  }
  return differences == 0;
}

}  // namespace mayfly
