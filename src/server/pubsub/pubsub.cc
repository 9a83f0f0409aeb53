// SPDX-License-Identifier: Apache-2.0
// Subscriptions, found from both ends, and messages.

#include "server/pubsub/pubsub.h"

#include <algorithm>

#include "resp/glob.h"
#include "resp/reply.h"
#include "server/core/client.h"

namespace mayfly {
namespace {

Client::Subscriptions::Names& subscriptions(Client& client, PubSub::Kind kind) {
  switch (kind) {
    case PubSub::Kind::pattern:
      return client.subscriptions.patterns;
    case PubSub::Kind::shard:
      return client.subscriptions.shard_channels;
    default:
      return client.subscriptions.channels;
  }
}

void deliver(Client& client, std::string_view kind, std::string_view channel,
             std::string_view message) {
  Reply reply(client.messages(), client.protocol());
  reply.push(3);
  reply.bulk(kind);
  reply.bulk(channel);
  reply.bulk(message);
  client.check_output();
}

void deliver_pattern(Client& client, std::string_view pattern, std::string_view channel,
                     std::string_view message) {
  Reply reply(client.messages(), client.protocol());
  reply.push(4);
  reply.bulk("pmessage");
  reply.bulk(pattern);
  reply.bulk(channel);
  reply.bulk(message);
  client.check_output();
}

}  // namespace

PubSub::Channels& PubSub::of(Kind kind) {
  switch (kind) {
    case Kind::pattern:
      return patterns_;
    case Kind::shard:
      return shard_channels_;
    default:
      return channels_;
  }
}

bool PubSub::subscribe(Client& client, Kind kind, std::string_view channel) {
  if (!subscriptions(client, kind).emplace(channel).second) return false;
  of(kind)[std::string(channel)].push_back(&client);
  return true;
}

bool PubSub::unsubscribe(Client& client, Kind kind, std::string_view channel) {
  auto& own = subscriptions(client, kind);
  const auto found = own.find(channel);
  if (found == own.end()) return false;
  own.erase(found);
  const auto listeners = of(kind).find(channel);
  std::erase(listeners->second, &client);
  if (listeners->second.empty()) of(kind).erase(listeners);
  return true;
}

void PubSub::unsubscribe_all(Client& client) {
  for (const Kind kind : {Kind::channel, Kind::pattern, Kind::shard}) {
    while (!subscriptions(client, kind).empty()) {
      unsubscribe(client, kind, std::string(*subscriptions(client, kind).begin()));
    }
  }
}

std::size_t PubSub::publish(std::string_view channel, std::string_view message) {
  std::size_t receivers = 0;
  if (const auto found = channels_.find(channel); found != channels_.end()) {
    for (Client* const client : found->second) deliver(*client, "message", channel, message);
    receivers += found->second.size();
  }
  for (const auto& [pattern, listeners] : patterns_) {
    if (!glob_match(pattern, channel)) continue;
    for (Client* const client : listeners) deliver_pattern(*client, pattern, channel, message);
    receivers += listeners.size();
  }
  return receivers;
}

std::size_t PubSub::publish_shard(std::string_view channel, std::string_view message) {
  const auto found = shard_channels_.find(channel);
  if (found == shard_channels_.end()) return 0;
  for (Client* const client : found->second) deliver(*client, "smessage", channel, message);
  return found->second.size();
}

}  // namespace mayfly
