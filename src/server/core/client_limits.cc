// SPDX-License-Identifier: Apache-2.0
// Limits of clients: those that send too much, do not read their output, or take too much memory
// are closed.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/admin/client_list.h"
#include "server/core/clients.h"
#include "server/monitoring/memory.h"
#include "server/replication/replication_stream.h"

namespace mayfly {

void Clients::check_input(Client& client, std::size_t waiting) {
  if (client.limits.is_stranger) strangers_.count_memory(client, waiting);
  if (waiting <= config_.client_query_buffer_limit) return;
  ++stats_.query_limit_disconnections;
  log_.warning("Closing client {}: its request of {} bytes exceeds client-query-buffer-limit",
               client.link().address(), waiting);
  client.link().close_now("request exceeds client-query-buffer-limit");
}

std::uint64_t Clients::waiting_for(const Client& client) const {
  const std::uint64_t output = client.link().pending();
  if (!client.is_attached_replica() || client.replica->phase <= ReplicaPhase::waiting) {
    return output;
  }
  return output + stream_.log().end() - client.replica->cursor;
}

void Clients::enforce_output_limit(Client& client) {
  if (client.limits.is_stranger) return strangers_.check_output(client);
  count_memory(client);
  OutputLimit limit = client.is_subscriber() ? config_.output_pubsub : config_.output_normal;
  if (client.is_attached_replica()) limit = replica_limit();
  const std::uint64_t waiting = waiting_for(client);
  stats_.output_waiting_max = std::max(stats_.output_waiting_max, waiting);
  bool is_over = limit.hard_bytes > 0 && waiting > limit.hard_bytes;
  Time& since = client.limits.above_soft_limit;
  if (limit.soft_bytes > 0 && waiting > limit.soft_bytes) {
    if (since == Time::min()) since = now_;
    is_over = is_over || is_due(since + std::chrono::seconds(limit.soft_seconds), now_);
  } else {
    since = Time::min();
  }
  if (!is_over || client.link().closing()) return;
  ++stats_.output_limit_disconnections;
  log_.warning("Closing client {}: it does not read, and {} bytes wait for it",
               client.link().address(), waiting);
  client.limits.drops_output = true;
  client.link().close_now("output exceeds client-output-buffer-limit");
}

// A limit below the backlog would save nothing: those bytes are kept anyway.
OutputLimit Clients::replica_limit() const {
  OutputLimit limit = config_.output_replica;
  for (std::uint64_t* const bytes : {&limit.hard_bytes, &limit.soft_bytes}) {
    if (*bytes > 0) *bytes = std::max(*bytes, config_.repl_backlog_size);
  }
  return limit;
}

std::size_t Clients::memory_limit() const {
  constexpr std::size_t kLeast = 128 * 1024;  // with less no client could send anything
  const std::int64_t given = config_.maxmemory_clients;
  if (given == 0 || (given < 0 && config_.maxmemory == 0)) return 0;
  const std::uint64_t bytes = given > 0
                                  ? static_cast<std::uint64_t>(given)
                                  : config_.maxmemory / 100 * static_cast<std::uint64_t>(-given);
  return std::max<std::size_t>(bytes, kLeast);
}

void Clients::count_memory(Client& client) {
  std::size_t& counted = client.limits.counted_memory;
  if (config_.maxmemory_clients == 0 && counted == 0) return;
  const bool counts = config_.maxmemory_clients != 0 && !client.is_primary && !client.is_import &&
                      !client.is_attached_replica();
  memory_ -= counted;
  counted = counts ? memory_of(client) : 0;
  memory_ += counted;
}

void Clients::evict() {
  const std::size_t limit = memory_limit();
  if (limit == 0 || memory_ < limit) return;
  std::vector<Client*> candidates;
  for (const auto& [id, client] : all_) {
    count_memory(*client);  // some has been sent meanwhile
    if (client->limits.counted_memory > 0 && !client->options.no_evict) {
      candidates.push_back(client);
    }
  }
  std::ranges::sort(candidates, [](const Client* a, const Client* b) {
    return a->limits.counted_memory > b->limits.counted_memory;
  });
  for (Client* const client : candidates) {
    if (memory_ < limit) return;
    memory_ -= std::exchange(client->limits.counted_memory, 0);
    if (client->link().closing()) continue;
    ++stats_.evicted_clients;
    log_.notice("Evicting client: {}", describe(*client, now_));
    client->limits.drops_output = true;
    client->link().close_now("clients take more memory than maxmemory-clients");
  }
}

}  // namespace mayfly
