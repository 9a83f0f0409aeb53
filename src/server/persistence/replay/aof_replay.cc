// SPDX-License-Identifier: Apache-2.0
// Running commands without a client.

#include "server/persistence/replay/aof_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "commands/words.h"
#include "server/admin/missing_types.h"
#include "server/core/server_call.h"

namespace mayfly {
namespace {

constexpr std::size_t kReplyBytesKept = 64 * 1024;  // of an unread reply
constexpr std::uint64_t kFailuresLogged = 10;

std::size_t skipped_hash(int database, std::string_view key) {
  return std::hash<std::string_view>()(key) ^
         static_cast<std::size_t>(database) * 0x9E3779B97F4A7C15u;
}

}  // namespace

AofReplay::AofReplay(const ServerParts& parts, Host& events)
    : parts_(parts),
      events_(events),
      client_(parts.requests, link_, 0, parts.clock.now(), RequestLimits{}) {
  client_.set_authenticated(true);
  client_.is_replay = true;
}

Status AofReplay::apply(int database, Words words) {
  const CommandTable& commands = parts_.commands;
  const Command* const found = commands.find(words[0]);
  const Command* const command = found == nullptr ? nullptr : commands.resolve(*found, words);
  const std::string_view type = command == nullptr ? missing_type(words[0]) : "";
  if (!type.empty() && words.size() > 1) {
    skip(database, type, words[1]);
    return Done{};
  }
  if (command == nullptr) {
    return Error{Code::unsupported, fmt::format("unknown command '{:.128}'", words[0])};
  }
  constexpr std::uint64_t kChanges = flag::write | flag::may_replicate;
  const bool keeps_scripts =
      command->parent == "script" && (command->flags & flag::from_primary) != 0;
  if ((command->flags & kChanges) == 0 && !keeps_scripts) {
    ++unchanging_;
    return Done{};
  }
  if (!fits(*command, words.size())) {
    return Error{Code::corrupt, fmt::format("{} words are too many or too few for the command '{}'",
                                            words.size(), full_name(*command))};
  }
  if ((command->flags & flag::reaches_out) != 0) {
    return fail(*command, "ERR it is not accepted from an append-only file");
  }
  if (database < 0 || database >= parts_.keyspace.count()) {
    return Error{Code::invalid, fmt::format("there is no database {}: `databases` is {}", database,
                                            parts_.keyspace.count())};
  }
  return run(database, *command, words);
}

Status AofReplay::run(int database, const Command& command, Words words) {
  client_.select(database);
  const ExecContext context{.now = parts_.now, .policy = Policy::show};
  std::string& out = link_.output();
  out.clear();
  if (out.capacity() > kReplyBytesKept) out.shrink_to_fit();
  Reply reply(out, 2);
  ServerCall call(events_, parts_, client_, context, command, words, reply);
  command.handler(call);
  if (!out.starts_with('-')) return Done{};
  const bool renames = command.name == "rename" || command.name == "renamenx";
  if (renames && is_skipped(database, words[1])) {
    skip(database, "a renamed key", words[2]);
    return Done{};
  }
  return fail(command, std::string_view(out).substr(1, out.find('\r') - 1));
}

// Valkey ignores such an error. The command failed in the same way when it was written, as a script
// of an older server that failed at its end.
Status AofReplay::fail(const Command& command, std::string_view why) {
  if (!parts_.config.aof_load_failed_commands) {
    return Error{Code::corrupt, fmt::format("the command '{}' failed: {} (aof-load-failed-commands "
                                            "yes leaves it out)",
                                            full_name(command), why)};
  }
  if (++failed_ <= kFailuresLogged) {
    parts_.log.warning("A command of the append-only file failed, and is left out: '{}': {:.256}",
                       full_name(command), why);
  }
  return Done{};
}

bool AofReplay::is_skipped(int database, std::string_view key) const {
  const std::size_t hash = skipped_hash(database, key);
  return std::ranges::any_of(skipped_, [&](const auto& one) { return one.second.contains(hash); });
}

void AofReplay::skip(int database, std::string_view type, std::string_view key) {
  const std::size_t hash = skipped_hash(database, key);
  auto found = skipped_.find(type);
  if (found == skipped_.end()) found = skipped_.try_emplace(std::string(type)).first;
  found->second.insert(hash);
}

std::map<std::string, std::uint64_t> AofReplay::skipped() const {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [type, keys] : skipped_) counts.emplace(type, keys.size());
  return counts;
}

}  // namespace mayfly
