// SPDX-License-Identifier: Apache-2.0
// Subscriptions and messages, and the commands about them: SUBSCRIBE, PUBLISH, PUBSUB.

#include "server/pubsub/pubsub.h"

#include <algorithm>

#include "commands/scan_options.h"
#include "resp/glob.h"
#include "server/cluster/cluster.h"
#include "server/core/server_call.h"

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

// Memory of a subscription, if no other client has it: nodes of both trees, and the name.
std::size_t bytes_of(std::string_view channel) {
  constexpr std::size_t kLinks = 32;  // of a node of a tree
  return allocated_for(kLinks + sizeof(PubSub::Channels::value_type)) +
         allocated_for(kLinks + sizeof(std::string_view)) + allocated_for(sizeof(Client*)) +
         allocated_for_text(channel.size());
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
  auto& own = subscriptions(client, kind);
  if (own.contains(channel)) return false;
  Channels& channels = of(kind);
  auto found = channels.find(channel);
  if (found == channels.end()) found = channels.try_emplace(std::string(channel)).first;
  found->second.push_back(&client);
  own.insert(found->first);
  client.subscriptions.bytes += bytes_of(channel);
  return true;
}

bool PubSub::unsubscribe(Client& client, Kind kind, std::string_view channel) {
  auto& own = subscriptions(client, kind);
  const auto found = own.find(channel);
  if (found == own.end()) return false;
  const auto listeners = of(kind).find(channel);
  client.subscriptions.bytes -= bytes_of(channel);
  own.erase(found);  // a view of the name
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

void PubSub::end_shard_channel(std::string_view channel) {
  const auto found = shard_channels_.find(channel);
  if (found == shard_channels_.end()) return;
  const std::string name(channel);
  for (Client* const client : Listeners(found->second)) {
    unsubscribe(*client, Kind::shard, name);
    Reply reply(client->messages(), client->protocol());
    reply.push(3);
    reply.bulk("sunsubscribe");
    reply.bulk(name);
    reply.integer(static_cast<std::int64_t>(client->subscriptions.shard_channels.size()));
    client->check_output();
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

namespace {

using Kind = PubSub::Kind;

// How many subscriptions a confirmation of this kind counts.
std::size_t count_of(const Client& client, Kind kind) {
  if (kind == Kind::shard) return client.subscriptions.shard_channels.size();
  return client.subscriptions.channels.size() + client.subscriptions.patterns.size();
}

void confirm(ServerCall& call, std::string_view word, Kind kind,
             std::optional<std::string_view> channel) {
  // CLIENT REPLY OFF and SKIP stop replies; this is a message.
  std::string& out =
      call.client.options.reply_mode == ReplyMode::on ? call.reply().out() : call.client.messages();
  Reply reply(out, call.client.protocol());
  reply.push(3);
  reply.bulk(word);
  channel ? reply.bulk(*channel) : reply.null();
  reply.integer(static_cast<std::int64_t>(count_of(call.client, kind)));
}

void subscribe_to(Call& call, Kind kind, std::string_view word) {
  ServerCall& here = server_call(call);
  for (std::size_t i = 1; i < call.count(); ++i) {
    here.server.pubsub.subscribe(here.client, kind, call.word(i));
    confirm(here, word, kind, call.word(i));
  }
}

void unsubscribe_from(Call& call, Kind kind, std::string_view word) {
  ServerCall& here = server_call(call);
  std::vector<std::string> channels;
  for (std::size_t i = 1; i < call.count(); ++i) channels.emplace_back(call.word(i));
  if (call.count() == 1) {
    const auto& all = subscriptions(here.client, kind);
    for (const std::string_view name : all) channels.emplace_back(name);
    if (channels.empty()) return confirm(here, word, kind, std::nullopt);
  }
  for (const std::string& channel : channels) {
    here.server.pubsub.unsubscribe(here.client, kind, channel);
    confirm(here, word, kind, channel);
  }
}

void subscribe(Call& call) { subscribe_to(call, Kind::channel, "subscribe"); }
// Each message is compared with all patterns.
void psubscribe(Call& call) {
  for (std::size_t i = 1; i < call.count(); ++i) {
    if (fails_pattern(call, call.word(i))) return;
  }
  subscribe_to(call, Kind::pattern, "psubscribe");
}
void ssubscribe(Call& call) { subscribe_to(call, Kind::shard, "ssubscribe"); }
void unsubscribe(Call& call) { unsubscribe_from(call, Kind::channel, "unsubscribe"); }
void punsubscribe(Call& call) { unsubscribe_from(call, Kind::pattern, "punsubscribe"); }
void sunsubscribe(Call& call) { unsubscribe_from(call, Kind::shard, "sunsubscribe"); }

void publish_to(Call& call, bool shard) {
  ServerCall& here = server_call(call);
  PubSub& pubsub = here.server.pubsub;
  const std::size_t receivers = shard ? pubsub.publish_shard(call.word(1), call.word(2))
                                      : pubsub.publish(call.word(1), call.word(2));
  call.reply().integer(static_cast<std::int64_t>(receivers));
  if (!shard && here.server.cluster.is_enabled()) {
    if (!here.client.is_primary) here.server.cluster.publish(call.word(1), call.word(2));
    return;  // replicas are nodes as any other
  }
  if (call.wants_propagation()) {
    call.propagate_list(Propagated(call.words().begin(), call.words().end()));
  }
}

void publish(Call& call) { publish_to(call, false); }
void spublish(Call& call) { publish_to(call, true); }

void list_channels(Call& call, const PubSub::Channels& channels) {
  if (call.count() > 3) return call.fail_arity();
  const bool chooses = call.count() == 3;
  if (chooses && fails_pattern(call, call.word(2))) return;
  const GlobPattern pattern(chooses ? call.word(2) : "*");
  const std::size_t place = call.reply().defer();
  std::size_t count = 0;
  for (const auto& [channel, listeners] : channels) {
    if (!pattern.matches(channel)) continue;
    call.reply().bulk(channel);
    ++count;
  }
  call.reply().array_at(place, count);
}

void count_listeners(Call& call, const PubSub::Channels& channels) {
  call.reply().array((call.count() - 2) * 2);
  for (std::size_t i = 2; i < call.count(); ++i) {
    const auto found = channels.find(call.word(i));
    call.reply().bulk(call.word(i));
    call.reply().integer(found == channels.end() ? 0
                                                 : static_cast<std::int64_t>(found->second.size()));
  }
}

void pubsub_channels(Call& call) { list_channels(call, parts_of(call).pubsub.channels()); }
void pubsub_shardchannels(Call& call) {
  list_channels(call, parts_of(call).pubsub.shard_channels());
}
void pubsub_numsub(Call& call) { count_listeners(call, parts_of(call).pubsub.channels()); }
void pubsub_shardnumsub(Call& call) {
  count_listeners(call, parts_of(call).pubsub.shard_channels());
}
void pubsub_numpat(Call& call) {
  call.reply().integer(static_cast<std::int64_t>(parts_of(call).pubsub.patterns().size()));
}

constexpr std::uint64_t kListen =
    flag::pubsub | flag::noscript | flag::loading | flag::stale | flag::for_subscribers;
constexpr std::uint64_t kAsk = flag::pubsub | flag::loading | flag::stale;

// clang-format off
constexpr Command kPubsubRows[] = {
    {"channels", pubsub_channels, -2, kAsk, {}, "pubsub", "2.8.0", "[pattern:pattern]",
     "Lists channels that have subscribers.", {}, "pubsub"},
    {"numpat", pubsub_numpat, 2, kAsk, {}, "pubsub", "2.8.0", "",
     "Counts patterns that have subscribers.", {}, "pubsub"},
    {"numsub", pubsub_numsub, -2, kAsk, {}, "pubsub", "2.8.0", "[channel...]",
     "Counts the subscribers of channels.", {}, "pubsub"},
    {"shardchannels", pubsub_shardchannels, -2, kAsk, {}, "pubsub", "7.0.0", "[pattern:pattern]",
     "Lists shard channels.", {}, "pubsub"},
    {"shardnumsub", pubsub_shardnumsub, -2, kAsk, {}, "pubsub", "7.0.0", "[shardchannel...]",
     "Counts the subscribers of shard channels.", {}, "pubsub"},
    {"help", reply_help, 2, kAsk, {}, "pubsub", "6.2.0", "", "Prints this help.", {}, "pubsub"},
};

constexpr Command kPubsubCommands[] = {
    {"subscribe", subscribe, -2, kListen, {}, "pubsub", "2.0.0", "channel...",
     "Subscribes to channels."},
    {"unsubscribe", unsubscribe, -1, kListen, {}, "pubsub", "2.0.0", "[channel...]",
     "Unsubscribes from channels."},
    {"psubscribe", psubscribe, -2, kListen, {}, "pubsub", "2.0.0", "pattern:pattern...",
     "Subscribes to channels that match patterns."},
    {"punsubscribe", punsubscribe, -1, kListen, {}, "pubsub", "2.0.0", "[pattern:pattern...]",
     "Unsubscribes from patterns."},
    {"ssubscribe", ssubscribe, -2, kListen | flag::shard_channels, {}, "pubsub", "7.0.0",
     "shardchannel...", "Subscribes to shard channels."},
    {"sunsubscribe", sunsubscribe, -1, kListen, {}, "pubsub", "7.0.0", "[shardchannel...]",
     "Unsubscribes from shard channels."},
    {"publish", publish, 3, kAsk | flag::fast | flag::may_replicate, {}, "pubsub", "2.0.0",
     "channel message", "Sends a message to a channel."},
    {"spublish", spublish, 3, kAsk | flag::fast | flag::may_replicate | flag::shard_channels, {},
     "pubsub", "7.0.0", "shardchannel message", "Sends a message to a shard channel."},
    {"pubsub", nullptr, -2, kAsk, {}, "pubsub", "2.8.0", "",
     "Shows channels and their subscribers.", kPubsubRows},
};
// clang-format on

}  // namespace

std::span<const Command> pubsub_commands() { return kPubsubCommands; }

}  // namespace mayfly
