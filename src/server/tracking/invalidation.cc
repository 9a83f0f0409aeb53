// SPDX-License-Identifier: Apache-2.0
#include "server/tracking/invalidation.h"

#include "resp/reply.h"
#include "server/core/client.h"
#include "server/core/clients.h"

namespace mayfly {
namespace {

constexpr std::string_view kInvalidations = "__redis__:invalidate";

// To a client whose messages go to another one, which is gone.
void tell_broken(Clients& clients, Client& client) {
  client.tracking->is_broken = true;
  if (client.protocol() < 3 || client.link().closing()) return;
  Reply reply(client.messages(), 3);
  reply.push(2);
  reply.bulk("tracking-redir-broken");
  reply.integer(static_cast<std::int64_t>(client.tracking->redirect));
  clients.check_output(client);
}

}  // namespace

Invalidation Invalidation::of_key(std::string_view key) {
  std::string keys;
  Reply reply(keys, 3);
  reply.array(1);
  reply.bulk(key);
  return Invalidation(std::move(keys));
}

void Invalidation::send(Clients& clients, Client& client) {
  Client* to = &client;
  const std::uint64_t redirect = client.tracking->redirect;
  if (redirect != 0) {
    to = clients.find(redirect);
    if (to == nullptr || to->link().closing() || to->is_attached_replica()) {
      return tell_broken(clients, client);
    }
  }
  if (to->link().closing()) return;
  if (to->protocol() > 2) {
    to->messages() += push();
  } else if (redirect != 0 && to->is_subscriber()) {
    to->messages() += message();
  } else {
    return;  // RESP2 has no messages beside replies
  }
  clients.check_output(*to);
}

const std::string& Invalidation::push() {
  if (!push_.empty()) return push_;
  Reply reply(push_, 3);
  reply.push(2);
  reply.bulk("invalidate");
  keys_.empty() ? reply.null() : reply.raw(keys_);
  return push_;
}

const std::string& Invalidation::message() {
  if (!message_.empty()) return message_;
  Reply reply(message_, 2);
  reply.array(3);
  reply.bulk("message");
  reply.bulk(kInvalidations);
  keys_.empty() ? reply.null() : reply.raw(keys_);
  return message_;
}

}  // namespace mayfly
