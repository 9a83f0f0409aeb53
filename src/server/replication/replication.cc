// SPDX-License-Identifier: Apache-2.0
// Changing the role of the server.

#include "server/replication/replication.h"

#include <algorithm>

#include "server/blocking/blocked_clients.h"
#include "server/core/pauses.h"
#include "server/replication/primary_link.h"

namespace mayfly {

Replication::Replication(const StorageContext& context, const Pauses& pauses, Clients& clients,
                         BlockedClients& blocked, KeyEvents& events, LocalExpiries& local_expiries,
                         AofWriter& aof)
    : context_(context),
      pauses_(pauses),
      clients_(clients),
      blocked_(blocked),
      events_(events),
      local_expiries_(local_expiries),
      aof_(aof),
      replicas_(context, failover_),
      waiters_(context.config, replicas_, aof, blocked),
      failover_(context, *this, replicas_, context.stream, clients),
      last_role_(context) {}

Replication::~Replication() = default;

void Replication::follow(const std::string& host, int port) {
  const bool takes_over = failover_.state() == Failover::State::in_progress;
  primary_ = nullptr;  // the old one first: it closes its connection
  primary_ = std::make_unique<PrimaryLink>(
      PrimaryContext{context_, *this, clients_, events_, local_expiries_, aof_}, host, port,
      ++links_, takes_over);
  become_replica();
  if (cluster_ == nullptr) {
    context_.config.replicaof_host = host;
    context_.config.replicaof_port = port;
  }
  // Replicas learn that the replication id may change; most can go on. The one that is to take over
  // keeps its link until it has: without one it might not even answer a PING.
  if (!takes_over) replicas_.disconnect_all("this server follows another one");
  context_.log.notice("Following the primary {}:{} now", host, port);
}

void Replication::become_replica() {
  context_.stream.set_replica(true);
  context_.stream.set_selected(std::max(context_.stream.selected(), 0));
  blocked_.fail_all(primary_ == nullptr ? std::string() : redirect_text(*primary_));
}

void Replication::detach() {
  if (is_replica() && primary_ == nullptr) return;
  primary_ = nullptr;
  become_replica();
  replicas_.disconnect_all("this server follows nobody");
}

void Replication::resume() {
  if (!is_replica()) return;
  primary_ = nullptr;
  context_.stream.set_replica(false);
  context_.stream.set_selected(-1);
}

void Replication::set_cluster(ClusterRole* cluster) {
  cluster_ = cluster;
  replicas_.set_cluster(cluster);
  waiters_.set_cluster(cluster);
}

void Replication::follow_nobody() {
  if (!is_replica()) return;
  primary_ = nullptr;
  context_.config.replicaof_host.clear();
  context_.config.replicaof_port = 0;
  ReplicationStream& stream = context_.stream;
  stream.set_replica(false);
  stream.start_new_id();
  local_expiries_.clear();
  stream.open();
  stream.set_selected(-1);
  replicas_.disconnect_all("this server is a primary now");
  context_.log.notice("This server is a primary now; the replication id {} ends at offset {}",
                      stream.ids().former, stream.ids().former_end);
}

bool Replication::is_stale() const {
  const bool is_up = primary_ != nullptr && primary_->is_up();
  return is_replica() && !is_up && !context_.config.replica_serve_stale_data;
}

Status Replication::check_writable(const Clock& clock) const {
  const Config& config = context_.config;
  if (is_replica()) {
    if (!config.replica_read_only) return Done{};
    return Error{Code::denied, "READONLY You can't write against a read only replica."};
  }
  if (lacks_replicas(clock.now())) {
    return Error{Code::denied, "NOREPLICAS Not enough good replicas to write."};
  }
  return Done{};
}

std::size_t Replication::good_replicas(Time now) const {
  return cluster_ != nullptr ? cluster_->in_sync() : replicas_.good(now);
}

bool Replication::lacks_replicas(Time now) const {
  const Config& config = context_.config;
  return config.min_replicas_to_write > 0 && config.min_replicas_max_lag > 0 &&
         good_replicas(now) < static_cast<std::size_t>(config.min_replicas_to_write);
}

void Replication::tell_lack_of_replicas(Time now) {
  const bool lacks = !is_replica() && lacks_replicas(now);
  if (lacks == is_lack_told_) return;
  is_lack_told_ = lacks;
  if (!lacks) return context_.log.notice("There are enough good replicas: writes are accepted");
  context_.log.warning(
      "Writes are refused (NOREPLICAS): min-replicas-to-write is {}, and {} replicas are connected "
      "and up to date (look at the replicas, or lower it)",
      context_.config.min_replicas_to_write, good_replicas(now));
}

void Replication::restore(const std::string& id, std::uint64_t offset, int database) {
  if (!is_replica()) {
    if (context_.config.cluster_enabled) return;  // there the record of the shard decides
    context_.stream.resume(id, offset);
    replicas_.expect(context_.clock.now());
    context_.log.notice(
        "The data is that of the replication stream {} up to offset {}: replicas that have as much "
        "go on from there",
        id, offset);
    return;
  }
  context_.stream.adopt(id, offset);
  context_.stream.set_selected(database);
}

void Replication::before_sleep(Time now) {
  if (primary_) primary_->before_sleep(now);
  failover_.before_sleep(now);
  replicas_.before_sleep(now);
  tell_lack_of_replicas(now);
  if (is_replica() && !pauses_.any()) local_expiries_.sweep(now);
}

}  // namespace mayfly
