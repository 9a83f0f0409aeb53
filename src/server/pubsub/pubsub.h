// SPDX-License-Identifier: Apache-2.0
// PubSub: subscriptions to channels and patterns, and delivering messages.
//
// A name is stored once, here; a client has views of the names of its subscriptions.

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

class Client;

class PubSub {
 public:
  enum class Kind { channel, pattern, shard };
  using Listeners = std::vector<Client*>;
  using Channels = std::map<std::string, Listeners, std::less<>>;

  // These change the client's own set, too, and return whether that was a change.
  bool subscribe(Client& client, Kind kind, std::string_view channel);
  bool unsubscribe(Client& client, Kind kind, std::string_view channel);
  void unsubscribe_all(Client& client);  // without a message

  // Unsubscribes everybody, with a message: its slot has moved.
  void end_shard_channel(std::string_view channel);

  // Sends a message; returns the number of receivers. A client that is subscribed to the channel
  // and to patterns that match gets it several times.
  std::size_t publish(std::string_view channel, std::string_view message);
  std::size_t publish_shard(std::string_view channel, std::string_view message);

  const Channels& channels() const { return channels_; }
  const Channels& patterns() const { return patterns_; }
  const Channels& shard_channels() const { return shard_channels_; }
  bool has_listeners() const { return !channels_.empty() || !patterns_.empty(); }

 private:
  Channels& of(Kind kind);

  Channels channels_;
  Channels patterns_;
  Channels shard_channels_;
};

}  // namespace mayfly
