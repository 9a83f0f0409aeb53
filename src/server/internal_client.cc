// SPDX-License-Identifier: Apache-2.0
// Running commands for nobody.

#include "server/internal_client.h"

#include <fmt/format.h>

#include "server/command_times.h"
#include "server/server.h"

namespace mayfly {
namespace {

constexpr std::size_t kKeptBytes = 64 * 1024;  // of a reply that nobody reads

}  // namespace

InternalClient::InternalClient(Server& server)
    : server_(server), client_(server, link_, 0, server.wall().now()) {
  client_.set_authenticated(true);
}

Status InternalClient::apply(int database, Words words) {
  const CommandTable& commands = server_.commands();
  const Command* const found = commands.find(words[0]);
  const Command* const command = found == nullptr ? nullptr : commands.resolve(*found, words);
  if (command == nullptr) {
    return Error{Code::unsupported, fmt::format("unknown command '{:.128}'", words[0])};
  }
  if (!fits(*command, words.size())) {
    return Error{Code::corrupt, fmt::format("{} words are too many or too few for the command '{}'",
                                            words.size(), full_name(*command))};
  }
  if ((command->flags & (flag::write | flag::may_replicate)) == 0) {
    return Error{Code::corrupt,
                 fmt::format("the command '{}' changes no data", full_name(*command))};
  }
  if (database < 0 || database >= server_.keyspace().count()) {
    return Error{Code::invalid, fmt::format("there is no database {}: `databases` is {}", database,
                                            server_.keyspace().count())};
  }

  client_.select(database);
  server_.keyspace().set_policy(Policy::show);
  std::string& out = link_.output();
  out.clear();
  if (out.capacity() > kKeptBytes) out.shrink_to_fit();
  Reply reply(out, 2);
  ClientCall call(server_, client_, *command, words, reply);
  command->handler(call);
  if (!out.starts_with('-')) return Done{};
  return Error{Code::corrupt, fmt::format("the command '{}' failed: {}", full_name(*command),
                                          out.substr(1, out.find('\r') - 1))};
}

}  // namespace mayfly
