// SPDX-License-Identifier: Apache-2.0
// Requests that are refused: unknown commands, wrong numbers of words, what is not allowed now, and
// bytes that break the protocol. All errors are counted here.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "commands/words.h"
#include "persist/rdb/rdb_parser.h"
#include "server/admin/missing_types.h"
#include "server/cluster/cluster.h"
#include "server/core/requests.h"
#include "server/tracking/tracking.h"

namespace mayfly {
namespace {

std::string unknown_command(Words words) {
  constexpr std::size_t kMost = 128;
  std::string arguments;
  for (std::size_t i = 1; i < words.size() && arguments.size() < kMost; ++i) {
    arguments += fmt::format("'{:.{}}' ", words[i], kMost - arguments.size());
  }
  return fmt::format("ERR unknown command '{:.{}}', with args beginning with: {}", words[0], kMost,
                     arguments);
}

std::string unknown_subcommand(const Command& command, Words words) {
  std::string name(command.name);
  for (char& c : name) c = static_cast<char>(std::toupper(c));
  return fmt::format("ERR unknown subcommand '{:.128}'. Try {} HELP.", words[1], name);
}

// Codes that are ours even if a script's reply has them.
bool is_own_code(std::string_view code) {
  constexpr std::array<std::string_view, 9> kCodes = {
      "ERR",        "NOSCRIPT", "WRONGTYPE",  "OOM",        "READONLY",
      "NOREPLICAS", "MISCONF",  "MASTERDOWN", "UNKILLABLE",
  };
  return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace

// A reply would come into the middle of the data or the stream, and be taken for a part of them.
// Only acknowledgements have none. Another SYNC or PSYNC is ignored, as Valkey does.
bool Requests::handle_of_replica(Client& client, Words words) {
  if (words.size() >= 3 && equals(words[0], "replconf") && equals(words[1], "ack")) return false;
  if (equals(words[0], "sync") || equals(words[0], "psync")) return true;
  parts_.log.warning("Closing replica {}: it sent '{}', and a reply would damage the stream",
                     client.link().address(), printable(words[0]));
  client.link().close_now("a request of a replica that has a reply");
  return true;
}

void Requests::refuse_unknown(Client& client, const Command* found, const Command* command,
                              Words words) {
  const bool is_open = command != nullptr && (command->flags & flag::no_auth) != 0;  // AUTH, HELLO
  if (!client.is_authenticated() && !is_open) {
    return refuse(client, command, words, "NOAUTH Authentication required.");
  }
  if (found == nullptr) {
    const std::string error = unknown_command(words) + missing_type_note(words[0]);
    return refuse(client, nullptr, words, error);
  }
  if (command == nullptr) return refuse(client, nullptr, words, unknown_subcommand(*found, words));
  ++stats_.by_command[command].rejected;
  refuse(client, command, words,
         fmt::format("ERR wrong number of arguments for '{}' command", full_name(*command)));
}

// An EXEC that is refused ends its transaction. Any other command breaks the one it belongs to.
void Requests::refuse(Client& client, const Command* command, Words words, std::string_view error) {
  std::string text(error);
  // The client knows what to do by the first word.
  const bool is_redirected = text.starts_with("MOVED ") || text.starts_with("CLUSTERDOWN ") ||
                             text.starts_with("TRYAGAIN ") || text.starts_with("CROSSSLOT ") ||
                             text.starts_with("REDIRECT ");
  if (is_redirected && command != nullptr && (command->flags & flag::runs_queue) != 0) {
    leave_multi(client);
  } else if (command != nullptr && (command->flags & flag::runs_queue) != 0) {
    if (text.starts_with("ERR ")) text.erase(0, 4);
    text.insert(0, "EXECABORT Transaction discarded because of: ");
    leave_multi(client);
  } else if (client.transaction.is_open) {
    client.transaction.is_broken = true;
  }
  if (client.tracking) parts_.tracking.request_ended(client, command);
  count_error(text);
  record_peer_error(client, words, text);
  ReplyMode& mode = client.options.reply_mode;
  if (mode == ReplyMode::on) Reply(client.output(), client.protocol()).error(text);
  clients_.check_output(client);
  if (mode == ReplyMode::skip) mode = ReplyMode::on;
}

void Requests::refuse_protocol(Client& client, std::string_view error) {
  count_error("ERR");
  if (client.is_primary) {  // it does not read replies, and would take one for a request
    record_peer_error(client, {}, error);
    return client.link().close_now("its stream breaks the protocol");
  }
  parts_.log.verbose("{} from client {}", error, client.link().address());
  if (client.is_attached_replica()) return client.link().close_now("it breaks the protocol");
  Reply(client.output(), client.protocol()).error(fmt::format("ERR {}", error));
  client.close_after_reply();
}

void Requests::count_error(std::string_view error, bool is_own) {
  ++stats_.errors;
  const std::string_view code = error.substr(0, error.find_first_of(" \r"));
  const auto found = stats_.by_error.find(code);
  if (found != stats_.by_error.end()) {
    ++found->second;
  } else if (constexpr std::size_t kCodes = 128;
             is_own || is_own_code(code) || stats_.by_error.size() < kCodes) {
    stats_.by_error.emplace(code, 1);
  } else {
    ++stats_.by_error["ERRORSTATS_OVERFLOW"];
  }
}

void Requests::record_peer_error(const Client& client, Words words, std::string_view error) {
  if (client.is_import) parts_.cluster.moves().import_failed(client, error);
  if (!client.is_primary && !client.is_attached_replica()) return;
  ++stats_.unexpected_errors;
  peer_errors_.add(parts_.log, parts_.clock.now(),
                   {client.is_primary ? "primary" : "replica", client.link().address(),
                    words.empty() ? std::string_view() : words[0], error});
}

}  // namespace mayfly
