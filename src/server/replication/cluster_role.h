// SPDX-License-Identifier: Apache-2.0
// ClusterRole: what replication asks the cluster, and tells it. The cluster decides who follows
// whom.

#pragma once

#include <cstdint>
#include <string>

#include "mayfly/time.h"

namespace mayfly {

struct ReplicaState;

class ClusterRole {
 public:
  virtual ~ClusterRole() = default;

  // How this server names itself to its primary: node id and incarnation, with a colon between.
  virtual std::string node_word() const = 0;

  // Whether a full synchronisation may replace the data. Not while this server may have to take
  // over with it.
  virtual bool may_drop_data() = 0;

  // A replica has applied the log up to replica.acked.
  virtual void acknowledged(const ReplicaState& replica) = 0;

  // Writes are paused until a replica has all of the log: nothing may be added to it.
  virtual bool is_handing_over() const = 0;

  // The process will end: it hands over, or leaves the in-sync set, within shutdown-timeout at
  // most. It has left when no other node needs it any more.
  virtual void leave() = 0;
  virtual bool has_left() const = 0;
  virtual void stay() = 0;  // it does not end after all

  // How many replicas could take over without losing a safe write.
  virtual std::size_t in_sync() const = 0;

  // How many replicas have the log up to there. `wanted` or more only if the write is safe: no
  // failover loses it.
  virtual std::size_t acked(std::uint64_t offset, std::size_t wanted) const = 0;
};

}  // namespace mayfly
