// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/cluster_refusals.h"

#include <fmt/format.h>

#include <cctype>

#include "commands/words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

Error refused(std::string reply) { return {Code::denied, std::move(reply)}; }

Status check_sort(Words words) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const bool is_by = equals(words[i], "by");
    if (!is_by && !equals(words[i], "get")) continue;
    return refused(
        fmt::format("ERR {} option of SORT denied in cluster mode", is_by ? "BY" : "GET"));
  }
  return Done{};
}

// Database 1 has slots that are being imported.
Status check_copy(Words words) {
  for (std::size_t i = 3; i + 1 < words.size(); ++i) {
    if (!equals(words[i], "db")) continue;
    ++i;
    if (parse_integer(words[i]).value_or(0) == 0) continue;  // what is no number: COPY says so
    return refused("ERR Copying to another database is not allowed in cluster mode");
  }
  return Done{};
}

}  // namespace

Status check_for_cluster(const Command& command, Words words) {
  if ((command.flags & flag::not_in_cluster) == 0) {
    return command.name == "copy" ? check_copy(words) : check_sort(words);
  }
  std::string name(command.name);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return refused(fmt::format("ERR {} is not allowed in cluster mode", name));
}

}  // namespace mayfly
