// SPDX-License-Identifier: Apache-2.0
// RespNodes: the nodes of a cluster, by the protocol. A connection to each is kept.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "tools/resp_client.h"

namespace mayfly {

// Sends all requests by a connection, and reads the replies. Texts are for people: escape_texts().
// A reply has at most 64 KB; tables of nodes and slots, and libraries, may have more.
Result<std::vector<ReplyValue>> ask_node(RespClient& client,
                                         const std::vector<ClusterNodes::Request>& requests,
                                         Millis patience);

class RespNodes final : public ClusterNodes {
 public:
  explicit RespNodes(std::string password) : password_(std::move(password)) {}

  Result<std::vector<ReplyValue>> call(const NodeAddress& node,
                                       const std::vector<Request>& requests,
                                       Millis patience) override;

 private:
  struct Link {
    std::mutex mutex;
    std::optional<RespClient> client;  // guarded by mutex
  };

  Link& link_to(const NodeAddress& node);
  const std::string password_;
  std::mutex mutex_;
  std::map<NodeAddress, std::unique_ptr<Link>> links_;  // guarded by mutex_
};

}  // namespace mayfly
