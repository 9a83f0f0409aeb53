// SPDX-License-Identifier: Apache-2.0
// Waiting for replicas.

#include "server/replication/waiters.h"

#include <algorithm>

#include "server/config/config.h"
#include "server/core/client.h"
#include "server/persistence/aof_writer.h"
#include "server/replication/cluster_role.h"
#include "server/replication/replicas.h"

namespace mayfly {

bool Waiters::is_met(const Wait& wait) const {
  const auto wanted = static_cast<std::size_t>(wait.replicas);
  if (!wait.is_aof) return acked(wait) >= wanted;
  return (wait.local == 0 || is_safe_here(wait)) && acked_aof(wait) >= wanted;
}

std::size_t Waiters::acked(const Wait& wait) const {
  const auto wanted = static_cast<std::size_t>(wait.replicas);
  return cluster_ != nullptr ? cluster_->acked(wait.offset, wanted) : replicas_.acked(wait.offset);
}

// In a cluster, as with WAIT: a replica outside of the in-sync set does not count alone.
std::size_t Waiters::acked_aof(const Wait& wait) const {
  const std::size_t on_disk = replicas_.acked_aof(wait.offset);
  return cluster_ != nullptr ? std::min(on_disk, acked(wait)) : on_disk;
}

// Nothing is safe while no append-only file is in force.
bool Waiters::is_safe_here(const Wait& wait) const {
  const std::uint64_t synced = aof_.synced_offset();
  return synced > 0 && synced >= wait.aof_offset;
}

// The append-only file was switched off meanwhile.
bool Waiters::has_lost_its_file(const Wait& wait) const {
  return wait.is_aof && wait.local > 0 && !config_.appendonly;
}

void Waiters::reply_to(const Wait& wait, Reply& reply) const {
  if (!wait.is_aof) {
    return reply.integer(static_cast<std::int64_t>(acked(wait)));
  }
  if (has_lost_its_file(wait)) {
    return reply.error(
        "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
  }
  reply.array(2);
  reply.integer(config_.appendonly && is_safe_here(wait) ? 1 : 0);
  reply.integer(static_cast<std::int64_t>(acked_aof(wait)));
}

void Waiters::add(Client& client, const Wait& wait, bool may_block) {
  if (!may_block || is_met(wait)) {
    Reply reply(client.output(), client.protocol());
    return reply_to(wait, reply);
  }
  waits_.emplace_back(&client, wait);
  blocked_.add(client, *this, wait.until);
  replicas_.ask_for_acks();
}

void Waiters::forget(Client& client) {
  std::erase_if(waits_, [&](const auto& entry) { return entry.first == &client; });
}

void Waiters::reply_at_end(Client& client, Reply& reply) {
  const auto found =
      std::ranges::find(waits_, &client, [](const auto& entry) { return entry.first; });
  reply_to(found->second, reply);
}

void Waiters::check() {
  std::vector<Client*> done;
  for (const auto& [client, wait] : waits_) {
    if (is_met(wait) || has_lost_its_file(wait)) done.push_back(client);
  }
  for (Client* const client : done) blocked_.end(*client);
}

}  // namespace mayfly
