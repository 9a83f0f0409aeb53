// SPDX-License-Identifier: Apache-2.0
// Waiters: clients in WAIT or WAITAOF, until enough replicas have what they wrote.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mayfly/time.h"
#include "server/blocking/blocked_clients.h"

namespace mayfly {

class AofWriter;
class Client;
class ClusterRole;
class Replicas;
struct Config;

// What a client waits for.
struct Wait {
  std::uint64_t offset = 0;      // of the log: what it has written ends here
  std::uint64_t aof_offset = 0;  // likewise, of our append-only file
  std::int64_t replicas = 0;
  std::int64_t local = 0;  // 1: our own disk, too
  bool is_aof = false;
  Time until = kNever;
};

class Waiters final : public WaitReason {
 public:
  Waiters(const Config& config, Replicas& replicas, const AofWriter& aof, BlockedClients& blocked)
      : config_(config), replicas_(replicas), aof_(aof), blocked_(blocked) {}

  // Replies at once if there is nothing to wait for.
  void add(Client& client, const Wait& wait, bool may_block);

  void set_cluster(const ClusterRole* cluster) { cluster_ = cluster; }

  // Replies to clients whose condition is met.
  void check();

  // ---- WaitReason ----
  void reply_at_end(Client& client, Reply& reply) override;
  void forget(Client& client) override;

 private:
  bool is_met(const Wait& wait) const;
  bool is_safe_here(const Wait& wait) const;
  bool has_lost_its_file(const Wait& wait) const;
  void reply_to(const Wait& wait, Reply& reply) const;
  std::size_t acked(const Wait& wait) const;
  std::size_t acked_aof(const Wait& wait) const;

  const Config& config_;
  Replicas& replicas_;
  const AofWriter& aof_;
  BlockedClients& blocked_;
  const ClusterRole* cluster_ = nullptr;
  std::vector<std::pair<Client*, Wait>> waits_;
};

}  // namespace mayfly
