// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_server_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace mayfly {
namespace {

// Who is made a replica loses what it had to what its primary has.
constexpr std::array<std::string_view, 5> kWipers = {"flushall", "flushdb", "swapdb", "replicaof",
                                                     "slaveof"};
constexpr std::array<std::string_view, 3> kRemovals = {"expired_keys", "expired_fields",
                                                       "evicted_keys"};

// The number that a text begins with; 0 if it does not.
std::uint64_t leading_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

}  // namespace

ServerMark ServerMark::identify(RespClient& client) {
  ServerMark mark;
  const Result<ReplyValue> server = client.call("INFO", "server");
  if (server) mark.run_id = info_value(server->text, "run_id");
  const Result<ReplyValue> commands = client.call("INFO", "commandstats");
  if (!commands) return mark;
  for (const std::string_view name : kWipers) {
    const std::string_view counts = info_value(commands->text, fmt::format("cmdstat_{}", name));
    constexpr std::string_view kCalls = "calls=";
    if (!counts.starts_with(kCalls)) continue;
    mark.wipes += leading_number(counts.substr(kCalls.size()));
  }
  return mark;
}

Status ServerMark::count(RespClient& client) {
  // Sent together, so that hardly a key expires in between.
  client.add("DBSIZE");
  client.add("INFO", "stats");
  if (const Status status = client.send(); !status) return status;
  const Result<ReplyValue> size = client.read();
  if (!size) return size.error();
  const Result<ReplyValue> stats = client.read();
  if (!stats) return stats.error();
  // If it may not be asked for one of them, its run id has to do.
  keys = static_cast<std::uint64_t>(std::max<std::int64_t>(size->integer, 0));
  removed = 0;
  for (const std::string_view name : kRemovals) {
    removed += leading_number(info_value(stats->text, name));
  }
  return Done{};
}

std::string ServerMark::text() const {
  return fmt::format("{} {} {} {}", run_id.empty() ? "-" : run_id, wipes, keys, removed);
}

ServerMark ServerMark::parse(std::string_view text) {
  ServerMark mark;
  mark.run_id = take_word(text);
  if (mark.run_id == "-") mark.run_id.clear();
  mark.wipes = leading_number(take_word(text));
  mark.keys = leading_number(take_word(text));
  mark.removed = leading_number(take_word(text));
  return mark;
}

std::string ServerMark::change_since(const ServerMark& before) const {
  if (run_id.empty() || before.run_id.empty()) {
    return "does not tell its run_id (INFO server), and may have been restarted";
  }
  if (run_id != before.run_id) return "has been restarted since the interruption";
  if (wipes == before.wipes) return "";
  return "may have been emptied (FLUSHALL, FLUSHDB, SWAPDB or REPLICAOF) since the copy began";
}

std::string ServerMark::loss_since(const ServerMark& before) const {
  if (std::string change = change_since(before); !change.empty()) return change;
  const std::uint64_t removed_since = removed - std::min(removed, before.removed);
  if (keys + removed_since >= before.keys) return "";
  return fmt::format("had {} keys, and has {} now", before.keys, keys);
}

}  // namespace mayfly
