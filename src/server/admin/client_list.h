// SPDX-License-Identifier: Apache-2.0
// Clients as CLIENT LIST describes and CLIENT KILL chooses them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/server_call.h"

namespace mayfly {

// Whether a text may be a client's name, or a library's: one that breaks no line of the list.
bool is_plain_word(std::string_view text);

// One line, without its end.
std::string describe(const Client& client, Time now);

// "normal", "pubsub", "replica", "master".
std::string_view type_of(const Client& client);

// Memory that the server holds for the client: its state, input, output and transaction, and the
// names that it watches, subscribes to, tracks or waits for. A shared name counts for each client.
std::size_t memory_of(const Client& client);

// By what clients are chosen. Of each kind there is one condition, the last that was given.
enum class ClientKey {
  id,
  type,
  address,
  local_address,
  ip,
  user,
  flags,
  name,
  lib_name,
  lib_version,
  database,
  capa,
  idle,
  age,
};

struct ClientCondition {
  ClientKey key;
  bool is_negated = false;  // NOT-...: those that it does not fit
  std::string text;
  std::int64_t number = 0;         // of database, idle and age
  std::vector<std::uint64_t> ids;  // of id
};

// Clients that match all conditions.
struct ClientFilter {
  std::vector<ClientCondition> conditions;
  std::optional<bool> skips_self;  // SKIPME
};

bool matches(const ClientFilter& filter, const Client& client, Time now);

// Reads "TYPE pubsub ADDR ..." from word `i` on. Nothing after an error reply.
std::optional<ClientFilter> parse_client_filter(ServerCall& call, std::size_t i);

}  // namespace mayfly
