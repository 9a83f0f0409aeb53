// SPDX-License-Identifier: Apache-2.0
// ClusterChanges: changes of the records that people ask for by commands, such as CLUSTER MEET and
// CLUSTER ADDSLOTS. Each is one transaction of the register. The client waits for its outcome.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cluster/plan/cluster_view.h"
#include "cluster/register.h"
#include "server/blocking/blocked_clients.h"
#include "server/core/server_call.h"

namespace mayfly {

class Cluster;

class ClusterChanges final : public WaitReason {
 public:
  explicit ClusterChanges(const ServerParts& parts) : parts_(parts) {}

  // Makes the transaction from the records as they are. It is made again if it is refused. Nothing:
  // there is nothing to change. Code::busy: something is missing that may come, such as the record
  // of a node that starts; it is made again for ten seconds, then it is the error.
  using Make = std::function<Result<std::optional<RegisterCommit>>(const ClusterView& view)>;

  // Commits, and replies OK or the error.
  void run(ServerCall& call, Make make);

  // Waits until `is_done`, asked in every turn, or for ten seconds: then it is the error.
  void wait(ServerCall& call, std::function<bool()> is_done, std::string error);

  // Reads all records anew, and runs `then` with them. Its status is the reply; that etcd has not
  // answered is an error.
  void after_read(ServerCall& call, std::function<Status()> then);

  void before_sleep();

  // ---- WaitReason ----
  void reply_at_end(Client& client, Reply& reply) override;
  void forget(Client& client) override { waiting_.erase(client.id()); }
  bool is_about_cluster() const override { return true; }

 private:
  struct Waiting {
    Make make;
    std::function<bool()> is_done;
    std::optional<Status> result;
    std::string error;          // if it takes too long
    bool is_for_later = false;  // something that it needs is missing
    int attempts = 0;
  };

  void commit(std::uint64_t client);
  void answered(std::uint64_t client, const RegisterCommit& commit, const CommitAnswer& answer);
  void end(std::uint64_t client, Status result);

  const ServerParts& parts_;
  std::map<std::uint64_t, Waiting> waiting_;  // by client
};

// ---- The transactions ----

// Takes a node into the cluster: MEET.
Result<std::optional<RegisterCommit>> join_node(const ClusterView& view, const std::string& id);

// Gives slots to the shard of a node, which may be a new one: ADDSLOTS. The node becomes its
// primary.
struct SlotsFor {
  NodeMemory primary;
  SlotSet slots;
  ClusterRecord config;        // if there is no cluster yet
  bool is_repetition = false;  // an earlier attempt, whose outcome was unknown, may have done it
};
Result<std::optional<RegisterCommit>> add_slots(const ClusterView& view, const SlotsFor& wanted,
                                                Time now);

// Makes a node a replica of the shard that another one leads: REPLICATE.
Result<std::optional<RegisterCommit>> join_shard(const ClusterView& view, const std::string& id,
                                                 const std::string& primary);

// Takes a node out of the cluster: FORGET, RESET. While its process lives it stays registered.
Result<std::optional<RegisterCommit>> forget_node(const ClusterView& view, const std::string& id);

}  // namespace mayfly
