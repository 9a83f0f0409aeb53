// SPDX-License-Identifier: Apache-2.0
// PeerLinks: connections to other nodes of the cluster, for pulses, canvasses and messages. They
// are made when first needed, and again when they break. Nothing waits for them: a request to a
// node that cannot be reached fails.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mayfly/time.h"
#include "resp/reply_parser.h"
#include "server/core/server_host.h"

namespace mayfly {

struct PeerAddress {
  std::string host;
  int port = 0;

  bool operator==(const PeerAddress&) const = default;
};

class PeerLinks {
 public:
  // Null: there will be no reply.
  using OnReply = std::function<void(const ReplyValue* reply)>;

  explicit PeerLinks(const ServerContext& context);
  ~PeerLinks();

  // Sends a request to a node. If it is at another address now, the old connection is closed.
  void send(const std::string& node, const PeerAddress& address,
            const std::vector<std::string>& words, OnReply replied);

  // Requests that have been sent to it and not answered.
  std::size_t waiting(const std::string& node) const;
  std::size_t count() const { return peers_.size(); }
  std::vector<std::string> nodes() const;

  // Closes connections whose oldest request has waited for so long.
  void close_stuck(Time now, Millis longest);

  // Closes the connections to nodes for which `is_known` is false.
  void forget(const std::function<bool(const std::string&)>& is_known);

  void close_all();

 private:
  class Peer;

  const ServerContext context_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;
  std::uint64_t numbers_ = 0;  // of connections made
};

}  // namespace mayfly
