// SPDX-License-Identifier: Apache-2.0
#include "server/blocking/blocked_clients.h"

#include <cassert>

#include "commands/command.h"
#include "server/core/client.h"
#include "server/core/requests.h"

namespace mayfly {

void BlockedClients::add(Client& client, WaitReason& reason, Time until, std::size_t bytes) {
  assert(!client.blocked);
  client.blocked = Blocked{.reason = &reason, .until = until, .bytes = bytes};
  client.link().pause_reading();
  client.link().watch_for_close();
  clients_.emplace(client.id(), &client);
  if (until != kNever) timeouts_.emplace(until, client.id());
}

void BlockedClients::forget(Client& client) {
  if (!client.blocked) return;
  client.blocked->reason->forget(client);
  timeouts_.erase({client.blocked->until, client.id()});
  clients_.erase(client.id());
  client.blocked.reset();
}

void BlockedClients::remove(Client& client) {
  forget(client);
  client.link().resume_reading();
}

void BlockedClients::end(Client& client) {
  requests_.answer(client,
                   [&](Reply& reply) { client.blocked->reason->reply_at_end(client, reply); });
  remove(client);
}

void BlockedClients::fail(Client& client, std::string_view error) {
  requests_.answer(client, [&](Reply& reply) { reply.error(error); });
  remove(client);
}

void BlockedClients::end_overdue(Time now) {
  while (!timeouts_.empty() && is_due(timeouts_.begin()->first, now)) {
    end(*clients_.at(timeouts_.begin()->second));
  }
}

bool BlockedClients::unblock(Client& client, bool with_error) {
  if (!client.blocked) return false;
  if (with_error) {
    fail(client, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else {
    end(client);
  }
  return true;
}

void BlockedClients::fail_all(std::string_view redirect) {
  std::vector<Client*> failed;
  for (const auto& [id, client] : clients_) {
    if (!client->blocked->reason->is_about_cluster()) failed.push_back(client);
  }
  for (Client* const one : failed) {
    Client& client = *one;
    const bool waits_for_keys = (client.info.last->flags & (flag::write | flag::readonly)) != 0;
    if (!redirect.empty() && client.options.can_redirect && waits_for_keys) {
      fail(client, redirect);
      continue;
    }
    fail(client,
         "UNBLOCKED force unblock from blocking operation, instance state changed "
         "(master -> replica?)");
    client.close_after_reply();
  }
}

}  // namespace mayfly
