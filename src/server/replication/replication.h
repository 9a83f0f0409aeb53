// SPDX-License-Identifier: Apache-2.0
// Replication: the role of the server, and the parts of both roles.
//
//   primary    its writes go to the log (replication_stream.h), replicas follow it (replicas.h)
//   replica    what comes from its primary (primary_link.h) is applied, and goes to the log
//
// Only the primary decides what expires: a replica hides what is due, and removes it when told.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "server/core/reclaimer.h"
#include "server/persistence/storage_context.h"
#include "server/replication/cluster_role.h"
#include "server/replication/failover.h"
#include "server/replication/replicas.h"
#include "server/replication/replication_stream.h"
#include "server/replication/role/last_role.h"
#include "server/replication/waiters.h"

namespace mayfly {

class AofWriter;
class BlockedClients;
class Clients;
class KeyEvents;
class Pauses;
class PrimaryLink;

class Replication {
 public:
  Replication(const StorageContext& context, const Pauses& pauses, Clients& clients,
              BlockedClients& blocked, KeyEvents& events, LocalExpiries& local_expiries,
              AofWriter& aof);
  ~Replication();

  bool is_replica() const { return context_.stream.is_replica(); }
  ReplicationStream& stream() { return context_.stream; }
  const ReplicationStream& stream() const { return context_.stream; }

  void follow(const std::string& host, int port);
  void follow_nobody();  // becomes a primary

  // A primary again after detach(), which goes on with its stream.
  void resume();

  // A replica without a primary: nothing is applied, and nothing acknowledged.
  void detach();

  // In a cluster, who decides about the role. Null outside of one.
  ClusterRole* cluster() const { return cluster_; }
  void set_cluster(ClusterRole* cluster);

  Replicas& replicas() { return replicas_; }
  const Replicas& replicas() const { return replicas_; }
  Waiters& waiters() { return waiters_; }
  Failover& failover() { return failover_; }
  LastRole& last_role() { return last_role_; }
  const LocalExpiries& local_expiries() const { return local_expiries_; }
  PrimaryLink* primary() { return primary_.get(); }  // null: a primary, or detached
  const PrimaryLink* primary() const { return primary_.get(); }

  // Whether clients may write. The message of the error is the reply ("READONLY ...").
  Status check_writable(const Clock& clock) const;

  // Whether this is a replica without a primary that must not serve old data.
  bool is_stale() const;

  // Takes id and offset of the data that was loaded at the start: a replica can go on from there,
  // and so can the replicas of a primary that have the same data.
  void restore(const std::string& id, std::uint64_t offset, int database);

  void before_sleep(Time now);

 private:
  void become_replica();
  std::size_t good_replicas(Time now) const;
  bool lacks_replicas(Time now) const;  // so writes are refused
  void tell_lack_of_replicas(Time now);

  const StorageContext context_;
  const Pauses& pauses_;
  Clients& clients_;
  BlockedClients& blocked_;
  KeyEvents& events_;
  LocalExpiries& local_expiries_;
  AofWriter& aof_;
  Replicas replicas_;
  Waiters waiters_;
  Failover failover_;
  LastRole last_role_;
  std::unique_ptr<PrimaryLink> primary_;
  std::uint64_t links_ = 0;  // made so far
  ClusterRole* cluster_ = nullptr;
  bool is_lack_told_ = false;
};

}  // namespace mayfly
