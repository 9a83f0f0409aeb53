// SPDX-License-Identifier: Apache-2.0
// Clients as CLIENT LIST describes and CLIENT KILL chooses them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/server.h"

namespace mayfly {

// Whether a text may be a client's name, or a library's: one that breaks no line of the list.
bool is_plain_word(std::string_view text);

// One line, without its end.
std::string describe(Client& client, Server& server);

// "normal", "pubsub"; replicas come later.
std::string_view type_of(const Client& client);

// Which clients are meant; what is not set does not matter.
struct ClientFilter {
  std::vector<std::uint64_t> ids;
  std::optional<std::string> type;
  std::optional<std::string> address;
  std::optional<std::string> local_address;
  std::optional<std::string> user;
  std::optional<std::string> name;
  std::optional<std::int64_t> age_seconds_min;
  std::optional<std::uint64_t> but_not;
};

bool matches(const ClientFilter& filter, Client& client, Time now);

// Reads "TYPE pubsub ADDR ..." from word `i` on. An error reply and nothing if something is wrong.
std::optional<ClientFilter> parse_client_filter(ClientCall& call, std::size_t i);

}  // namespace mayfly
